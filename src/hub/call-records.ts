import { logger, warnVisibly } from "../internal/log.ts";
import { toReason } from "../internal/text.ts";
import { startTimer, type Timer } from "../internal/timers.ts";
import type { RecordFile } from "./history-file.ts";

const log = logger("hub");

/** Time after which records are written, in ms. A process that is killed loses the records of at most this time. */
const writeDelayMs = 500;
/** Number of records that are written without waiting, and in one step. Smaller steps take more CPU time per record. */
const maxBatch = 2_500;
/** Number of records above the limit that are kept in memory until they are written. */
const maxBurst = 10_000;
/** Delay before writing is tried again after a failure, in ms. */
const retryDelayMs = 2_000;
/** Interval at which old records are removed, in ms. */
const pruneIntervalMs = 60_000;

/** A call that has ended. All records have the same properties in the same order, because one is created for each call. */
export interface CallRecord {
  /** Identifies the record; later ones are greater. */
  readonly id: number;
  /** Identifies the call. Callers may choose it, so several calls can have the same. */
  readonly requestId: string;
  /** The `requestId` of the call whose handler made this call. */
  readonly parentRequestId: string | undefined;
  /** Id of the operation. */
  readonly operationId: string;
  /** Id of the caller; missing for an anonymous one. */
  readonly identity: string | undefined;
  /** In milliseconds since the epoch. */
  readonly startedAt: number;
  /** In milliseconds. */
  readonly duration: number;
  /** Code of the error; missing if the call succeeded. */
  readonly code: string | undefined;
  /** JSON of a {@link CallPayload}, with secrets redacted; missing unless `payloads` matches. */
  readonly payload: string | undefined;
}

/** What a call received and returned. */
export interface CallPayload {
  /** The validated input. */
  input?: unknown;
  /** The data of the result; missing for subscriptions. */
  output?: unknown;
  /** Message and details of the error. */
  error?: { message: string; details?: unknown };
}

/** Selects records. All conditions must hold. */
export interface RecordFilter {
  /** Only calls of this caller. */
  identity?: string | undefined;
  /** Only calls of this operation. */
  operationId?: string | undefined;
  /** Only calls that succeeded or failed. */
  status?: "succeeded" | "failed" | undefined;
  /** Only calls with this id. */
  requestId?: string | undefined;
  /** Only records with a smaller id. */
  before?: number | undefined;
  /** Only calls that ended at this time or later, in milliseconds since the epoch. Older records are not read. */
  since?: number | undefined;
  /** Maximum number of records. */
  limit: number;
}

/** How many records are kept, and how long. */
export interface RecordLimits {
  /** Maximum number of records in memory, at least 1. */
  limit: number;
  /** How long records are kept, in ms. */
  keepMs: number;
}

/** Returns whether a record matches a filter. */
export function matchesFilter(record: CallRecord, filter: RecordFilter): boolean {
  const { identity, operationId, status, requestId, before, since } = filter;
  return (
    (identity === undefined || record.identity === identity) &&
    (operationId === undefined || record.operationId === operationId) &&
    (status === undefined || (record.code === undefined) === (status === "succeeded")) &&
    (requestId === undefined || record.requestId === requestId) &&
    (before === undefined || record.id < before) &&
    (since === undefined || record.startedAt + record.duration >= since)
  );
}

/** Stores records in a file or, without one, the newest of them in memory. */
export class RecordLog {
  limits: RecordLimits;
  readonly #file: RecordFile | undefined;
  /** The newest records, or those that are not in the file yet. The oldest first. */
  #records: CallRecord[] = [];
  #timer: Timer | undefined = undefined;
  #prunedAt = 0;
  /** Number of records that could not be stored. */
  lost = 0;
  /** Why records cannot be stored at present; `undefined` if they can. */
  problem: string | undefined = undefined;

  constructor(limits: RecordLimits, file?: RecordFile) {
    this.limits = limits;
    this.#file = file;
  }

  /** Adds a record. Called for every call, so it does not wait for the file. */
  add(record: CallRecord): void {
    const count = this.#records.push(record);
    if (this.#file === undefined) {
      if (count > this.limits.limit + maxBatch) this.#records = this.#records.slice(maxBatch);
      return;
    }
    if (this.problem === undefined && count === maxBatch) this.#writeAfter(0);
    else if (this.#timer === undefined) this.#writeAfter(writeDelayMs);
    if (count <= this.limits.limit + maxBurst) return;
    this.#records = this.#records.slice(maxBatch);
    this.lost += maxBatch;
  }

  /** Finds records, the newest first. */
  async find(filter: RecordFilter): Promise<CallRecord[]> {
    const since = Math.max(filter.since ?? 0, Date.now() - this.limits.keepMs);
    const limited = { ...filter, since };
    const records = this.#file === undefined ? this.#records.slice(-this.limits.limit) : this.#records;
    const found = records.filter((record) => matchesFilter(record, limited)).slice(-filter.limit);
    const missing = filter.limit - found.length;
    if (this.#file === undefined || missing === 0) return found.reverse();
    // A batch that is written while others are read has been searched above.
    const before = Math.min(filter.before ?? Number.MAX_SAFE_INTEGER, records[0]?.id ?? Number.MAX_SAFE_INTEGER);
    return [...found.reverse(), ...(await this.#file.find({ ...limited, before, limit: missing }))];
  }

  /** Writes what is not written, and closes the file. */
  close(): void {
    this.#timer?.stop();
    if (this.#file === undefined) return;
    while (this.#records.length > 0 && this.#write(this.#file));
    this.#file.close();
  }

  #writeAfter(delay: number): void {
    this.#timer?.stop();
    const write = () => {
      this.#timer = undefined;
      const isWritten = this.#write(this.#file!);
      if (this.#records.length > 0) this.#writeAfter(isWritten ? 0 : retryDelayMs);
    };
    this.#timer = startTimer(write, delay, { keepsAlive: false });
  }

  /** Writes the oldest records. Returns whether that succeeded; after a failure they stay in memory. */
  #write(file: RecordFile): boolean {
    try {
      file.write(this.#records.slice(0, maxBatch));
      this.#records = this.#records.slice(maxBatch);
      if (Date.now() - this.#prunedAt > pruneIntervalMs) {
        this.#prunedAt = Date.now();
        file.prune(this.#prunedAt - this.limits.keepMs);
      }
    } catch (error) {
      this.#report(toReason(error));
      return false;
    }
    if (this.problem !== undefined) log.info("The history is written again: {file}", { file: file.path });
    this.problem = undefined;
    return true;
  }

  /** Reports that writing fails: once until it succeeds again. */
  #report(reason: string): void {
    if (this.problem !== undefined) return;
    this.problem = `Calls cannot be written to the history file: ${reason}.`;
    const message =
      "The history file {file} cannot be written: {reason}. Calls continue, and the last {limit} are kept in memory until it can be written. Check the space on its disk.";
    warnVisibly(log, [{ message, properties: { file: this.#file!.path, reason, limit: this.limits.limit } }]);
  }
}
