import { roughSize } from "../call/rough-size.ts";
import { BoundedMap } from "../internal/bounded.ts";
import { Emitter } from "../internal/emitter.ts";
import { logger, warnVisibly } from "../internal/log.ts";
import { truncate } from "../internal/text.ts";
import type { Identity, ResponseEnvelope } from "../operation/index.ts";
import type { MiddlewareCall, OperationRegistry, RegistryCallEvent } from "../registry/index.ts";
import { type CallRecord, findIn, type RecordFilter } from "./call-records.ts";
import type { HistoryConfig } from "./config.ts";
import { openRecordFile } from "./history-file.ts";
import { type RecordLimits, RecordLog } from "./record-log.ts";
import { redactMember, redactText } from "./redaction.ts";

const log = logger("hub");

/** Maximum number of records in memory without `limit`. */
const defaultLimit = 1_000;
const defaultKeep = "7d";
const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Maximum number of running calls about which something is known. The oldest are forgotten first. */
const maxRunning = 10_000;
/** Maximum length of the JSON of an input, output or details, in characters. */
const maxPayloadLength = 16_384;

type EndEvent = Extract<RegistryCallEvent, { kind: "succeeded" | "failed" }>;

/** What is known about a call while it runs. */
interface RunningCall {
  readonly started: RegistryCallEvent;
  nested: number;
  values: number;
  drift: number;
  /** Its validated input, if `payloads` matches. */
  input?: { readonly value: unknown };
}

/** Options of {@link openHistory}. */
export interface HistoryOptions {
  /** Ids of operations whose calls are not recorded. */
  readonly ignored?: readonly string[];
  /** Returns the name of the source of an operation. */
  readonly sourceOf?: (operationId: string) => string | undefined;
  /** What records have as `via` for calls of this process. @default "code" */
  readonly via?: string | undefined;
}

/**
 * Starts to record the calls of a registry. `file` of the configuration is an absolute path. Rejects with a `CallError` if
 * it cannot be used.
 */
export async function openHistory(
  registry: OperationRegistry,
  config: HistoryConfig = {},
  options: HistoryOptions = {},
): Promise<History> {
  const history = new History(registry, options);
  await history.configure(config);
  return history;
}

function toLimits({ limit = defaultLimit, keep = defaultKeep }: HistoryConfig): RecordLimits {
  return { limit, keepMs: Number.parseInt(keep, 10) * unitMs[keep.at(-1) as keyof typeof unitMs] };
}

/** Records the calls of a registry when they end, and knows those that are running. */
export class History {
  readonly #registry: OperationRegistry;
  readonly #options: HistoryOptions;
  readonly #ignored: ReadonlySet<string>;
  readonly #stop: () => void;
  #log = new RecordLog(toLimits({}));
  #file: string | undefined = undefined;
  #inUse: string | undefined = undefined;
  readonly #running = new BoundedMap<string, RunningCall>(maxRunning);
  #stopPayloads = () => {};
  #lastId = 0;
  readonly #changes = new Emitter<CallRecord>((error) => log.error("A listener failed: {error}", { error }));

  constructor(registry: OperationRegistry, options: HistoryOptions) {
    this.#registry = registry;
    this.#options = options;
    this.#ignored = new Set(options.ignored);
    this.#stop = registry.on("call", (event) => this.#onCall(event));
  }

  /** Calls the listener with each call that starts, as a running one, and with the record of each call that has ended. */
  onCall(listener: (record: CallRecord) => void): () => void {
    return this.#changes.on(listener);
  }

  /** Where calls that have ended are found and counted. */
  get records(): Pick<RecordLog, "find" | "payloadOf" | "count" | "isCompleteSince"> {
    return this.#log;
  }

  /** Finds running calls, the newest first. */
  findRunning(filter: RecordFilter): CallRecord[] {
    const running = Array.from(this.#running.values(), (call) => this.#toRecord(call.started, call, undefined));
    return findIn(running, filter);
  }

  /** Whether calls are stored: why they are not at present, and the number of those that could not be stored. */
  get state(): { lost: number; problem?: string } {
    const { lost, problem = this.#inUse } = this.#log;
    return problem === undefined ? { lost } : { lost, problem };
  }

  /** Applies a configuration. Rejects, and changes nothing, if its file cannot be used. */
  async configure(config: HistoryConfig = {}): Promise<void> {
    const limits = toLimits(config);
    if (config.file === this.#file && this.#inUse === undefined) this.#log.limits = limits;
    else {
      const file = config.file === undefined ? undefined : await openRecordFile(config.file);
      this.#log.close();
      this.#log = new RecordLog(limits, file);
      this.#file = config.file;
      this.#lastId = Math.max(this.#lastId, file?.lastId ?? 0);
      this.#inUse = config.file !== undefined && file === undefined ? reportInUse(config.file) : undefined;
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
    const running = this.#running.get(keyOf(context.requestId, context.identity));
    if (running !== undefined) running.input = { value: input };
    return next();
  };

  #onCall(event: RegistryCallEvent): void {
    if (event.kind === "progressed" || this.#ignored.has(event.operationId)) return;
    const key = keyOf(event.requestId, event.identity);
    if (event.kind === "started") {
      const started = { started: event, nested: 0, values: 0, drift: 0 };
      this.#running.set(key, started);
      if (this.#changes.hasListeners) this.#changes.emit(this.#toRecord(event, started, undefined));
      if (event.parentRequestId === undefined) return;
      const parent = this.#running.get(keyOf(event.parentRequestId, event.identity));
      if (parent !== undefined) parent.nested += 1;
      return;
    }
    const running = this.#running.get(key);
    if (event.kind === "yielded") {
      if (running === undefined) return;
      running.values += 1;
      running.drift += driftOf(event.envelope);
      return;
    }
    this.#running.delete(key);
    const record = this.#toRecord(event, running, event);
    this.#log.add(record);
    if (this.#changes.hasListeners) this.#changes.emit(record);
  }

  /** Creates the record of a call. `end` is missing while it runs. */
  #toRecord(event: RegistryCallEvent, running: RunningCall | undefined, end: EndEvent | undefined): CallRecord {
    const { requestId, parentRequestId, operationId, identity, timestamp, via } = event;
    const duration = end === undefined ? Date.now() - timestamp : end.duration;
    const envelope = end?.kind === "succeeded" ? end.envelope : undefined;
    const meta = envelope?.meta;
    return {
      id: end === undefined ? undefined : ++this.#lastId,
      requestId,
      parentRequestId,
      operationId,
      source: this.#options.sourceOf?.(operationId),
      identity: identity?.id,
      via: via ?? this.#options.via ?? "code",
      from: meta?.source === "http" ? `http ${meta.statusCode}` : meta?.source,
      startedAt: Math.round(end === undefined ? timestamp : timestamp - duration),
      duration: Math.round(duration * 1_000) / 1_000,
      status: end?.kind ?? "running",
      code: end?.kind === "failed" ? end.error.code : undefined,
      drift: (running?.drift ?? 0) + driftOf(envelope) || undefined,
      nested: running?.nested || undefined,
      values: running?.values || undefined,
      payload: running?.input === undefined ? undefined : toPayload(running.input.value, end),
    };
  }
}

function driftOf(envelope: ResponseEnvelope | undefined): number {
  const { drift, driftTotal } = envelope?.meta ?? {};
  return driftTotal ?? drift?.length ?? 0;
}

function reportInUse(file: string): string {
  const message =
    "Another hub uses the history file {file}, maybe by another path. Calls are kept in memory only. Stop that hub, or use another file.";
  warnVisibly(log, [{ message, properties: { file } }]);
  return message.replace("{file}", file);
}

/** Identifies a running call. Callers choose request ids, so one of them must not obtain the input of another. */
function keyOf(requestId: string, identity: Identity | undefined): string {
  return identity === undefined ? `-${requestId}` : `${identity.id.length} ${identity.id}${requestId}`;
}

/** Returns the payload of a call, as the JSON of a `CallPayload`. A call that failed before its handler has none. */
function toPayload(input: unknown, end: EndEvent | undefined): string {
  const parts = [`"input":${toSafeJSON(input)}`];
  if (end?.kind === "failed") {
    const { message, details } = end.error;
    const text = JSON.stringify(redactText(truncate(message, 1_000)));
    parts.push(`"error":{"message":${text}${details === undefined ? "" : `,"details":${toSafeJSON(details)}`}}`);
  } else if (end?.envelope !== undefined) parts.push(`"output":${toSafeJSON(end.envelope.data)}`);
  return `{${parts.join(",")}}`;
}

const tooLarge = JSON.stringify(`(larger than ${maxPayloadLength} characters of JSON, and not recorded)`);

/** Returns the JSON of a value, with secrets redacted. A value that is too large or not JSON is described. */
function toSafeJSON(value: unknown): string {
  // Bytes have long JSON, which takes time to create.
  if (roughSize(value, 2 * maxPayloadLength) > 2 * maxPayloadLength) return tooLarge;
  try {
    const text = JSON.stringify(value, redactMember);
    if (text === undefined) return "null";
    return text.length <= maxPayloadLength ? text : tooLarge;
  } catch {
    return JSON.stringify("(not JSON)");
  }
}
