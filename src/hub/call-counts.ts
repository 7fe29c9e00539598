import { createGlobs } from "../internal/globs.ts";
import type { CallRecord } from "./call-records.ts";

/** Length of the periods in which calls are counted, in ms. */
export const minuteMs = 60_000;
/** Maximum number of counts in memory. The oldest are dropped first. */
const maxCounts = 20_000;
/** Callers choose the ids that they call, so those that do not exist are counted together. */
const unknownOperation = "(unknown)";

/** Durations up to this one, in ms, are in the first bucket. The upper ends of the others grow by a factor of 2^(1/4). */
const firstBucketMs = 0.01;
const bucketsPerDoubling = 4;
const lastBucket = 127; // 10 hours

/** The columns of the table of counts, which together identify a row, and their types. */
export const countColumns = {
  minute: "INTEGER",
  operation: "TEXT",
  identity: "TEXT",
  status: "TEXT",
  bucket: "INTEGER",
} as const;

/** The number of calls of an operation and a caller in a minute, with a status and about the same duration. */
export interface CallCount {
  /** When the minute started, in milliseconds since the epoch. */
  readonly minute: number;
  readonly operation: string;
  /** Id of the caller; empty for an anonymous one. */
  readonly identity: string;
  readonly status: string;
  /** Bucket of the duration. */
  readonly bucket: number;
  calls: number;
}

/** Selects counts, and how they are summed. */
export interface CountQuery {
  /** The first minute, in milliseconds since the epoch. */
  since: number;
  /** The end, in milliseconds since the epoch. */
  until: number;
  /** Length of a period, in ms: a number of minutes. Periods start at multiples of it. */
  step: number;
  /** What has sums of its own. @default one sum for all calls */
  by?: "operation" | "identity" | undefined;
  /** Only operations whose id matches; `*` matches any characters. */
  operation?: string | undefined;
  /** Only calls of this caller. */
  identity?: string | undefined;
}

/** Calls with a status and about the same duration, in one period. */
export interface CountSum extends Pick<CallCount, "status" | "bucket" | "calls"> {
  /** When the period started. */
  readonly at: number;
  /** The operation or caller; empty without `by`. */
  readonly key: string;
}

/** Counts calls, by the minute in which they ended. */
export class CallCounts {
  #counts = new Map<string, CallCount>();
  /** Calls that ended before this time may not have been counted, in milliseconds since the epoch. */
  completeSince: number;

  constructor(completeSince: number) {
    this.completeSince = completeSince;
  }

  add({ operationId, identity = "", status, startedAt, duration, code }: CallRecord): void {
    const operation = code === "OPERATION_NOT_FOUND" ? unknownOperation : operationId;
    const end = startedAt + duration;
    const minute = end - (end % minuteMs);
    const bucket = toBucket(duration);
    const key = `${operation}\n${identity}\n${minute}${status}${bucket}`;
    const known = this.#counts.get(key);
    if (known !== undefined) {
      known.calls += 1;
      return;
    }
    if (this.#counts.size >= maxCounts) this.#dropOldest();
    this.#counts.set(key, { minute, operation, identity, status, bucket, calls: 1 });
  }

  /** All counts. */
  get all(): CallCount[] {
    return [...this.#counts.values()];
  }

  /** Returns the counts of the minutes from `since` to before `until`. */
  find({ since, until, step, by, operation, identity }: CountQuery): CountSum[] {
    const matches = operation === undefined ? () => true : createGlobs([operation]);
    return this.all
      .filter((count) => count.minute >= since && count.minute < until && matches(count.operation))
      .filter((count) => identity === undefined || count.identity === identity)
      .map(({ minute, status, bucket, calls, ...keys }) => {
        return { at: minute - (minute % step), key: by === undefined ? "" : keys[by], status, bucket, calls };
      });
  }

  /** Removes the counts that were stored elsewhere. */
  clear(): void {
    this.#counts.clear();
  }

  /** Removes the counts of the minutes before a time. */
  prune(oldest: number): void {
    for (const [key, { minute }] of this.#counts) if (minute < oldest) this.#counts.delete(key);
    this.completeSince = Math.max(this.completeSince, oldest);
  }

  #dropOldest(): void {
    const [oldest] = this.#counts.values();
    this.prune(oldest!.minute + minuteMs);
  }
}

function toBucket(duration: number): number {
  const bucket = Math.ceil(Math.log2(duration / firstBucketMs) * bucketsPerDoubling);
  return bucket > 0 ? Math.min(bucket, lastBucket) : 0; // The logarithm of 0 is -Infinity.
}

/** Returns the duration of a bucket, in ms: it differs from those of its calls by at most 10 %. */
function toDuration(bucket: number): number {
  const duration = firstBucketMs * 2 ** ((bucket - 0.5) / bucketsPerDoubling);
  return Number(duration.toPrecision(2));
}

/** Sums counts. */
export class Summary {
  calls = 0;
  failed = 0;
  readonly #buckets = new Map<number, number>();

  add({ status, bucket, calls }: Pick<CallCount, "status" | "bucket" | "calls">): void {
    this.calls += calls;
    if (status === "failed") this.failed += calls;
    this.#buckets.set(bucket, (this.#buckets.get(bucket) ?? 0) + calls);
  }

  /** The numbers, and the durations that a half and 95 % of the calls did not exceed, in ms. */
  toJSON(): { calls: number; failed: number; p50?: number; p95?: number } {
    const { calls, failed } = this;
    return calls === 0 ? { calls, failed } : { calls, failed, p50: this.#quantile(0.5), p95: this.#quantile(0.95) };
  }

  #quantile(part: number): number {
    const buckets = [...this.#buckets].sort(([one], [other]) => one - other);
    let left = Math.ceil(this.calls * part);
    const found = buckets.find(([, calls]) => {
      left -= calls;
      return left <= 0;
    });
    return toDuration(found![0]);
  }
}
