import { BoundedMap } from "../internal/bounded.ts";
import { roughSize } from "../internal/rough-size.ts";
import { isSecretName } from "../internal/secrets.ts";
import { quote, truncate } from "../internal/text.ts";
import { CallError } from "../operation/index.ts";
import type { MiddlewareCall, OperationRegistry, RegistryCallEvent } from "../registry/index.ts";
import { type CallRecord, type RecordFilter, type RecordLimits, RecordRing, type RecordStore } from "./call-records.ts";
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

/** What another configuration of the history needs, opened and not used yet. */
export interface PreparedHistory {
  /** Uses the configuration from now on. */
  apply(): Promise<void>;
  /** Releases what was opened. */
  cancel(): Promise<void>;
}

/**
 * Starts to record the calls of a registry, except those of the `ignored` operations. `file` is an absolute path. Rejects
 * with a `CallError` if the configuration is invalid or its file cannot be used.
 */
export async function openHistory(
  registry: OperationRegistry,
  config: HistoryConfig = {},
  ignored: readonly string[] = [],
): Promise<History> {
  return new History(registry, await openStore(config), config, ignored);
}

/** Opens the store of a configuration. */
function openStore({ file, ...config }: HistoryConfig): Promise<RecordStore> | RecordStore {
  const limits = toLimits(config);
  return file === undefined ? new RecordRing(limits) : openRecordFile(file, limits);
}

function toLimits({ limit = defaultLimit, keep = defaultKeep }: HistoryConfig): RecordLimits {
  const match = /^([1-9]\d{0,8})([smhd])$/.exec(keep);
  if (match !== null) return { limit, keepMs: Number(match[1]) * unitMs[match[2] as keyof typeof unitMs] };
  const message = `"keep" of "history" is ${quote(keep)}. Use a number and a unit, such as "7d", "12h" or "30m".`;
  throw new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: false });
}

/** Records the calls of a registry when they end. */
export class History {
  readonly #registry: OperationRegistry;
  readonly #ignored: ReadonlySet<string>;
  readonly #stop: () => void;
  #store: RecordStore;
  #config: HistoryConfig;
  /** Inputs of running calls for which `payloads` matches. */
  #inputs: BoundedMap<string, unknown> | undefined = undefined;
  #stopPayloads: (() => void) | undefined = undefined;
  #lastId: number;

  constructor(registry: OperationRegistry, store: RecordStore, config: HistoryConfig, ignored: readonly string[]) {
    this.#registry = registry;
    this.#ignored = new Set(ignored);
    this.#store = store;
    this.#config = config;
    this.#lastId = store.lastId;
    this.#stop = registry.on("call", (event) => this.#onCall(event));
    this.#keepPayloads(config.payloads);
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

  /** Opens what another configuration needs. Rejects, and changes nothing, if it is invalid or its file cannot be used. */
  async prepare(config: HistoryConfig = {}): Promise<PreparedHistory> {
    const limits = toLimits(config);
    const isSameStore = config.file === this.#config.file;
    const store = isSameStore ? undefined : await openStore(config);
    return {
      apply: async () => {
        const former = this.#store;
        this.#config = config;
        this.#keepPayloads(config.payloads);
        if (store === undefined) return former.setLimits(limits);
        this.#store = store;
        this.#lastId = Math.max(this.#lastId, store.lastId);
        await former.close();
      },
      cancel: async () => store?.close(),
    };
  }

  /** Stops recording, writes what is pending and releases the store. */
  async close(): Promise<void> {
    this.#stop();
    this.#keepPayloads();
    await this.#store.close();
  }

  /** Events do not contain the input. Middleware does, but it slows calls down, so only the matching operations have it. */
  #keepPayloads(payloads: readonly string[] = []): void {
    this.#stopPayloads?.();
    if (payloads.length === 0) {
      this.#inputs = undefined;
      this.#stopPayloads = undefined;
      return;
    }
    const inputs = new BoundedMap<string, unknown>(maxPendingInputs);
    const keepInput = (call: MiddlewareCall, next: () => Promise<unknown>) => {
      inputs.set(inputKey(call.context), call.input);
      return next();
    };
    this.#inputs = inputs;
    this.#stopPayloads = this.#registry.use(keepInput, { include: payloads });
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
