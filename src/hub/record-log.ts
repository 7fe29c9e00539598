import { setImmediate } from "node:timers/promises";
import { logger, warnVisibly } from "../internal/log.ts";
import { toReason } from "../internal/text.ts";
import { startTimer, type Timer } from "../internal/timers.ts";
import { CallCounts, type CountQuery, type CountSum } from "./call-counts.ts";
import { type CallRecord, findIn, type RecordFilter, type RecordPage } from "./call-records.ts";
import type { RecordFile } from "./history-file.ts";

const log = logger("hub");

/** Time after which records are written, in ms. A process that is killed loses the records of at most this time. */
const writeDelayMs = 500;
/** Number of records that are written without waiting, and in one step. */
const maxBatch = 1_000;
/** Number of records above the limit that are kept in memory until they are written. */
const maxBurst = 10_000;
/** Delay before writing is tried again after a failure, in ms. */
const retryDelayMs = 2_000;
/** Interval at which old records are removed, in ms. */
const pruneIntervalMs = 60_000;
/** Length of the period whose counts are summed in one step, in ms. Other work runs between two steps. */
const countSliceMs = 6 * 3_600_000;

/** How many records are kept, and how long. */
export interface RecordLimits {
  /** Maximum number of records in memory, at least 1. */
  limit: number;
  /** How long records are kept, in ms. */
  keepMs: number;
}

/** Stores records in a file or, without one, the newest of them in memory. */
export class RecordLog {
  limits: RecordLimits;
  readonly #file: RecordFile | undefined;
  /** The newest records, or those that are not in the file yet. The oldest first. */
  #records: CallRecord[] = [];
  /** All counts, or those that are not in the file yet. */
  readonly #counts: CallCounts;
  #timer: Timer | undefined = undefined;
  #prunedAt = 0;
  #isPruned = false;
  /** Number of records that could not be stored. */
  lost = 0;
  /** Why records cannot be stored at present; `undefined` if they can. */
  problem: string | undefined = undefined;

  constructor(limits: RecordLimits, file?: RecordFile) {
    this.limits = limits;
    this.#file = file;
    this.#counts = new CallCounts(file === undefined ? Date.now() : 0);
  }

  /** Adds a record. Called for every call, so it does not wait for the file. */
  add(record: CallRecord): void {
    this.#counts.add(record);
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

  /** Finds records, the newest first, without payloads that are in the file. */
  find(filter: RecordFilter): RecordPage {
    const since = Math.max(filter.since ?? 0, Date.now() - this.limits.keepMs);
    const limited = { ...filter, since };
    const records = this.#file === undefined ? this.#records.slice(-this.limits.limit) : this.#records;
    const found = findIn(records, limited);
    if (found.length === filter.limit) return { records: found, next: found.at(-1)!.id };
    if (this.#file === undefined) return { records: found, next: undefined };
    const rest = this.#file.find({ ...limited, limit: filter.limit - found.length });
    return { records: [...found, ...rest.records], next: rest.next };
  }

  /** Returns the payload of a record. */
  payloadOf({ id, payload }: CallRecord): string | undefined {
    return payload ?? (id === undefined ? undefined : this.#file?.payloadOf(id));
  }

  /** Sums counts. */
  async count(query: CountQuery): Promise<CountSum[]> {
    const sums = this.#counts.find(query);
    if (this.#file === undefined) return sums;
    for (let since = query.since; since < query.until; since += countSliceMs) {
      const until = Math.min(since + countSliceMs, query.until);
      for (const sum of this.#file.count({ ...query, since, until })) sums.push(sum);
      await setImmediate();
    }
    return sums;
  }

  /** Whether all calls were counted that ended since a time, in milliseconds since the epoch. */
  isCompleteSince(time: number): boolean {
    return time >= this.#counts.completeSince && time >= Date.now() - this.limits.keepMs;
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
      if (this.#records.length > 0 || !this.#isPruned) this.#writeAfter(isWritten ? 0 : retryDelayMs);
    };
    this.#timer = startTimer(write, delay, { keepsAlive: false });
  }

  /** Writes the oldest records, or removes old ones. Returns whether that succeeded; after a failure they stay in memory. */
  #write(file: RecordFile): boolean {
    try {
      if (this.#records.length > 0) {
        file.write(this.#records.slice(0, maxBatch), this.#counts.all);
        this.#records = this.#records.slice(maxBatch);
        this.#counts.clear();
        this.#isPruned &&= Date.now() - this.#prunedAt < pruneIntervalMs;
      } else {
        this.#isPruned = !file.prune(Date.now() - this.limits.keepMs);
        this.#prunedAt = Date.now();
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
