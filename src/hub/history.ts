import { resolve } from "node:path";
import { BoundedMap } from "../internal/bounded.ts";
import { isSecretName } from "../internal/secrets.ts";
import { quote, truncate } from "../internal/text.ts";
import { CallError } from "../operation/index.ts";
import type { MiddlewareCall, OperationRegistry, RegistryCallEvent } from "../registry/index.ts";
import { type CallRecord, type RecordFilter, RecordRing, type RecordStore } from "./call-records.ts";
import type { HistoryConfig } from "./config.ts";
import { openRecordFile } from "./history-file.ts";

/** Options of {@link History}. */
export interface HistoryOptions extends Pick<HistoryConfig, "payloads"> {
  /** The calls of these operations are not recorded. */
  ignored?: readonly string[];
}

/** Maximum number of records in memory without `limit`. */
const defaultLimit = 1_000;
const defaultKeep = "7d";
const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Options of {@link openHistory}. */
export interface OpenHistoryOptions extends Pick<HistoryOptions, "ignored"> {
  /** The folder that a relative `file` starts from. @default the working directory of this process */
  folder?: string | undefined;
}

/** Starts to record the calls of a registry. Rejects with a `CallError` if the file cannot be used. */
export async function openHistory(
  registry: OperationRegistry,
  config: HistoryConfig = {},
  { folder = ".", ignored }: OpenHistoryOptions = {},
): Promise<History> {
  const { file, limit = defaultLimit, keep = defaultKeep, payloads } = config;
  const keepMs = parseKeep(keep);
  const store =
    file === undefined
      ? new RecordRing(limit, keepMs)
      : await openRecordFile({ file: resolve(folder, file), limit, keepMs });
  return new History(registry, store, { ...(payloads && { payloads }), ...(ignored && { ignored }) });
}

/** Parses a duration such as `7d`, in ms. Throws a `CallError` for another string. */
function parseKeep(keep: string): number {
  const match = /^([1-9]\d{0,8})([smhd])$/.exec(keep);
  if (match !== null) return Number(match[1]) * unitMs[match[2] as keyof typeof unitMs];
  const message = `"keep" of "history" is ${quote(keep)}. Use a number and a unit, such as "7d", "12h" or "30m".`;
  throw new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: false });
}

/** Maximum number of running calls whose input is kept for their record. */
const maxPendingInputs = 10_000;
/** Maximum length of the JSON of an input, output or details, in characters. */
const maxPayloadLength = 16_384;

/** Records the calls of a registry when they end. */
export class History {
  readonly #store: RecordStore;
  readonly #ignored: ReadonlySet<string>;
  readonly #stops: Array<() => void>;
  /** Inputs of running calls for which `payloads` matches. */
  readonly #inputs: BoundedMap<string, unknown> | undefined;
  #lastId: number;

  constructor(registry: OperationRegistry, store: RecordStore, { payloads = [], ignored = [] }: HistoryOptions = {}) {
    this.#store = store;
    this.#ignored = new Set(ignored);
    this.#lastId = store.lastId;
    this.#stops = [registry.on("call", (event) => this.#onCall(event))];
    if (payloads.length === 0) return;
    // Events do not contain the input. Middleware slows calls down, so only the matching operations have it.
    this.#inputs = new BoundedMap(maxPendingInputs);
    const keepInput = (call: MiddlewareCall, next: () => Promise<unknown>) => {
      this.#inputs!.set(inputKey(call.context), call.input);
      return next();
    };
    this.#stops.push(registry.use(keepInput, { include: payloads }));
  }

  /** Finds records, the newest first. */
  find(filter: RecordFilter): Promise<CallRecord[]> {
    return this.#store.find(filter);
  }

  /** Whether calls are stored: why they are not at present, and the number of those that could not be stored. */
  get state(): { lost: number; problem?: string } {
    const { lost, problem } = this.#store;
    return problem === undefined ? { lost } : { lost, problem };
  }

  /** Stops recording, writes what is pending and releases the store. */
  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    await this.#store.close();
  }

  #onCall(event: RegistryCallEvent): void {
    if ((event.kind !== "succeeded" && event.kind !== "failed") || this.#ignored.has(event.operationId)) return;
    const { requestId, parentRequestId, operationId, timestamp, duration } = event;
    this.#lastId += 1;
    this.#store.add({
      id: this.#lastId,
      requestId,
      parentRequestId,
      operationId,
      identity: event.identity?.id,
      startedAt: Math.round(timestamp - duration),
      duration,
      code: event.kind === "failed" ? event.error.code : undefined,
      payload: this.#inputs === undefined ? undefined : this.#takePayload(this.#inputs, event),
    });
  }

  /** Returns the payload of a call whose input was kept. A call that failed before its handler has none. */
  #takePayload(
    inputs: BoundedMap<string, unknown>,
    event: Extract<RegistryCallEvent, { kind: "succeeded" | "failed" }>,
  ): string | undefined {
    const key = inputKey(event);
    if (!inputs.has(key)) return undefined;
    const parts = [`"input":${toSafeJSON(inputs.get(key))}`];
    inputs.delete(key);
    if (event.kind === "failed") {
      const message = JSON.stringify(truncate(event.error.message, 1_000));
      const { details } = event.error;
      parts.push(`"error":{"message":${message}${details === undefined ? "" : `,"details":${toSafeJSON(details)}`}}`);
    } else if (event.envelope !== undefined) parts.push(`"output":${toSafeJSON(event.envelope.data)}`);
    return `{${parts.join(",")}}`;
  }
}

/** Identifies a running call. Callers choose request ids, so one of them must not obtain the input of another. */
function inputKey({ requestId, identity }: Pick<RegistryCallEvent, "requestId" | "identity">): string {
  return JSON.stringify([identity?.id, requestId]);
}

/** Returns the JSON of a value, with the values of secret names redacted. A value that is too large or not JSON is described. */
function toSafeJSON(value: unknown): string {
  try {
    const text = JSON.stringify(value, (key, member: unknown) => {
      if (typeof member === "bigint") return String(member);
      return member !== null && member !== undefined && isSecretName(key) ? "[redacted]" : member;
    });
    if (text === undefined) return "null";
    return text.length <= maxPayloadLength
      ? text
      : JSON.stringify(`(${text.length} characters of JSON are not recorded)`);
  } catch {
    return JSON.stringify("(not JSON)");
  }
}
