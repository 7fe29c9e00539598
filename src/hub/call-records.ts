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

/** Stores records. */
export interface RecordStore {
  /** Adds a record. Called for every call, so it must not block. */
  add(record: CallRecord): void;
  /** Finds records, the newest first. */
  find(filter: RecordFilter): Promise<CallRecord[]>;
  /** The greatest id of a record; 0 without records. */
  readonly lastId: number;
  /** Number of records that could not be stored. */
  readonly lost: number;
  /** Why records cannot be stored at present; `undefined` if they can. */
  readonly problem: string | undefined;
  /** Changes the limits. */
  setLimits(limits: RecordLimits): void;
  /** Writes what is pending and releases the store. */
  close(): Promise<void>;
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

/** The last records, in memory. */
export class RecordRing implements RecordStore {
  #limits: RecordLimits;
  #records: CallRecord[] = [];
  /** Position of the next record. */
  #next = 0;
  lastId = 0;
  readonly lost = 0;
  readonly problem = undefined;

  constructor(limits: RecordLimits) {
    this.#limits = limits;
  }

  add(record: CallRecord): void {
    this.lastId = record.id;
    this.#records[this.#next] = record;
    this.#next = this.#next + 1 === this.#limits.limit ? 0 : this.#next + 1;
  }

  async find(filter: RecordFilter): Promise<CallRecord[]> {
    const since = Math.max(filter.since ?? 0, Date.now() - this.#limits.keepMs);
    const found: CallRecord[] = [];
    const { length } = this.#records;
    for (let age = 1; age <= length && found.length < filter.limit; age++) {
      const record = this.#records[(this.#next - age + length) % length]!;
      if (matchesFilter(record, { ...filter, since })) found.push(record);
    }
    return found;
  }

  setLimits(limits: RecordLimits): void {
    const { length } = this.#records;
    const ordered = this.#records.map((_, index) => this.#records[(this.#next + index) % length]!);
    this.#limits = limits;
    this.#records = ordered.slice(-limits.limit);
    this.#next = this.#records.length === limits.limit ? 0 : this.#records.length;
  }

  async close(): Promise<void> {
    this.#records = [];
  }
}
