import { roughSize } from "../call/rough-size.ts";
import { BoundedMap } from "../internal/bounded.ts";
import { isSecretName } from "../internal/secrets.ts";
import { truncate } from "../internal/text.ts";
import type { MiddlewareCall, OperationRegistry, RegistryCallEvent } from "../registry/index.ts";
import { type CallRecord, type RecordFilter, type RecordLimits, RecordLog } from "./call-records.ts";
import type { HistoryConfig } from "./config.ts";
import { openRecordFile } from "./history-file.ts";

/** Maximum number of records in memory without `limit`. */
const defaultLimit = 1_000;
const defaultKeep = "7d";
const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Maximum number of running calls whose input is kept for their record. */
const maxPendingInputs = 10_000;
/** Maximum length of the JSON of an input, output or details, in characters. */
const maxPayloadLength = 16_384;

/**
 * Starts to record the calls of a registry, except those of the `ignored` operations. `file` is an absolute path. Rejects
 * with a `CallError` if its file cannot be used.
 */
export async function openHistory(
  registry: OperationRegistry,
  config: HistoryConfig = {},
  ignored: readonly string[] = [],
): Promise<History> {
  const history = new History(registry, ignored);
  await history.configure(config);
  return history;
}

function toLimits({ limit = defaultLimit, keep = defaultKeep }: HistoryConfig): RecordLimits {
  return { limit, keepMs: Number.parseInt(keep, 10) * unitMs[keep.at(-1) as keyof typeof unitMs] };
}

/** Records the calls of a registry when they end. */
export class History {
  readonly #registry: OperationRegistry;
  readonly #ignored: ReadonlySet<string>;
  readonly #stop: () => void;
  #log = new RecordLog(toLimits({}));
  #file: string | undefined = undefined;
  /** Inputs of running calls for which `payloads` matches. */
  readonly #inputs = new BoundedMap<string, unknown>(maxPendingInputs);
  #stopPayloads = () => {};
  #lastId = 0;

  constructor(registry: OperationRegistry, ignored: readonly string[]) {
    this.#registry = registry;
    this.#ignored = new Set(ignored);
    this.#stop = registry.on("call", (event) => this.#onCall(event));
  }

  /** Finds records, the newest first. */
  find(filter: RecordFilter): Promise<CallRecord[]> {
    return this.#log.find(filter);
  }

  /** Whether calls are stored: why they are not at present, and the number of those that could not be stored. */
  get state(): { lost: number; problem?: string } {
    const { lost, problem } = this.#log;
    return problem === undefined ? { lost } : { lost, problem };
  }

  /** Applies a configuration. Rejects, and changes nothing, if its file cannot be used. */
  async configure(config: HistoryConfig = {}): Promise<void> {
    const limits = toLimits(config);
    if (config.file === this.#file) this.#log.limits = limits;
    else {
      const file = config.file === undefined ? undefined : await openRecordFile(config.file);
      this.#log.close();
      this.#log = new RecordLog(limits, file);
      this.#file = config.file;
      this.#lastId = Math.max(this.#lastId, file?.lastId ?? 0);
    }
    this.#stopPayloads();
    // Events do not contain the input. Middleware does, but it slows calls down, so only the matching operations have it.
    this.#stopPayloads = this.#registry.use(this.#keepInput, { include: config.payloads ?? [] });
  }

  /** Stops recording, writes what is pending and closes the file. */
  async close(): Promise<void> {
    this.#stop();
    this.#stopPayloads();
    this.#log.close();
  }

  readonly #keepInput = ({ context, input }: MiddlewareCall, next: () => Promise<unknown>): Promise<unknown> => {
    this.#inputs.set(inputKey(context), input);
    return next();
  };

  #onCall(event: RegistryCallEvent): void {
    if ((event.kind !== "succeeded" && event.kind !== "failed") || this.#ignored.has(event.operationId)) return;
    const { requestId, parentRequestId, operationId, timestamp, duration } = event;
    this.#lastId += 1;
    this.#log.add({
      id: this.#lastId,
      requestId,
      parentRequestId,
      operationId,
      identity: event.identity?.id,
      startedAt: Math.round(timestamp - duration),
      duration: Math.round(duration * 1_000) / 1_000,
      code: event.kind === "failed" ? event.error.code : undefined,
      payload: this.#inputs.size === 0 ? undefined : this.#takePayload(event),
    });
  }

  /** Returns the payload of a call whose input was kept. A call that failed before its handler has none. */
  #takePayload(event: Extract<RegistryCallEvent, { kind: "succeeded" | "failed" }>): string | undefined {
    const key = inputKey(event);
    if (!this.#inputs.has(key)) return undefined;
    const parts = [`"input":${toSafeJSON(this.#inputs.get(key))}`];
    this.#inputs.delete(key);
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

const tooLarge = JSON.stringify(`(larger than ${maxPayloadLength} characters of JSON, and not recorded)`);

/** Returns the JSON of a value, with the values of secret names redacted. A value that is too large or not JSON is described. */
function toSafeJSON(value: unknown): string {
  // Bytes have long JSON, which takes time to create.
  if (roughSize(value, 2 * maxPayloadLength) > 2 * maxPayloadLength) return tooLarge;
  try {
    const text = JSON.stringify(value, (key, member: unknown) => {
      if (typeof member === "bigint") return String(member);
      return member !== null && member !== undefined && isSecretName(key) ? "[redacted]" : member;
    });
    if (text === undefined) return "null";
    return text.length <= maxPayloadLength ? text : tooLarge;
  } catch {
    return JSON.stringify("(not JSON)");
  }
}
