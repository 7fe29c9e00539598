import { Buffer } from "node:buffer";
import { chmodSync, closeSync, openSync, readFileSync, readSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { logger, warnVisibly } from "../internal/log.ts";
import { toReason } from "../internal/text.ts";
import { startTimer, type Timer } from "../internal/timers.ts";
import { CallError } from "../operation/index.ts";
import {
  type CallRecord,
  matchesFilter,
  type RecordFilter,
  type RecordLimits,
  type RecordStore,
} from "./call-records.ts";
import { type Database, loadSQLite } from "./sqlite.ts";

const log = logger("hub");

/** Time after which records are written, in ms. A process that is killed loses the records of at most this time. */
const writeDelayMs = 500;
/** Number of records that are written without waiting for that time, and in one step. */
const maxBatch = 1_000;
/** Delay before writing is tried again after a failure, in ms. */
const retryDelayMs = 2_000;
/** Interval at which old records are removed, in ms. */
const pruneIntervalMs = 60_000;
/** Number of batches that are read in one step. Other work runs between two steps. */
const batchesPerStep = 20;

const schema = `
  CREATE TABLE IF NOT EXISTS batches (id INTEGER PRIMARY KEY, ended_at REAL NOT NULL, data BLOB NOT NULL);
  CREATE VIEW IF NOT EXISTS calls AS
    SELECT value->>0 AS id, value->>1 AS request_id, value->>2 AS parent_request_id, value->>3 AS operation_id,
      value->>4 AS identity, value->>5 AS started_at, value->>6 AS duration, value->>7 AS code, value->>8 AS payload
    FROM batches, json_each(CAST(data AS TEXT));
`;

/**
 * Opens a file of records, and creates it if it does not exist. `file` is an absolute path. Rejects with a `CallError` if it
 * cannot be used.
 */
export async function openRecordFile(file: string, limits: RecordLimits): Promise<RecordStore> {
  const open = await loadSQLite();
  // Before anything is changed: the path may be a mistake.
  if (!isDatabase(file)) throw unusable(file, new Error("file is not a database"));
  claim(file);
  try {
    createPrivate(file);
    createPrivate(`${file}-wal`);
    return new RecordFile(open(file), file, limits);
  } catch (cause) {
    release(file);
    throw unusable(file, cause);
  }
}

function unusable(file: string, cause: unknown): CallError {
  const message = `The history file ${file} cannot be used: ${toReason(cause)}. Check the file, or move it away.`;
  return new CallError("UNAVAILABLE", message, undefined, { cause, mayHaveRun: false });
}

/** The first bytes of every SQLite file. */
const header = "SQLite format 3\0";

/** Returns whether a file can be a database: it does not exist, is empty, or begins as every database does. */
function isDatabase(file: string): boolean {
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch {
    return true; // A file that exists and cannot be read is reported when it is opened.
  }
  try {
    const start = Buffer.alloc(header.length);
    const length = readSync(descriptor, start);
    return length === 0 || start.toString("latin1") === header;
  } catch {
    return false; // It is a folder.
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Records in an SQLite file. A batch of records is one row with JSON, because a row and its index entries for each call
 * cost ten times as much with SQLite as WebAssembly. The view `calls` has a row for each record.
 */
class RecordFile implements RecordStore {
  readonly #database: Database;
  readonly #file: string;
  #limits: RecordLimits;
  /** Records that are not written yet, the oldest first. */
  #pending: CallRecord[] = [];
  #timer: Timer | undefined = undefined;
  #prunedAt = 0;
  #isClosed = false;
  lastId: number;
  lost = 0;
  problem: string | undefined = undefined;

  constructor(database: Database, file: string, limits: RecordLimits) {
    this.#database = database;
    this.#file = file;
    this.#limits = limits;
    // One process uses the file, so the log of writes needs no shared memory. A killed process loses no written batch.
    database.all("PRAGMA locking_mode = EXCLUSIVE", []);
    for (const pragma of [
      "page_size = 16384",
      "journal_mode = WAL",
      "synchronous = NORMAL",
      "wal_autocheckpoint = 100",
    ]) {
      database.all(`PRAGMA ${pragma}`, []);
    }
    database.exec(schema);
    const [last] = database.all("SELECT data FROM batches ORDER BY id DESC LIMIT 1", []);
    this.lastId = last === undefined ? 0 : parseBatch(toText(last)).at(-1)!.id;
    this.#prune();
  }

  add(record: CallRecord): void {
    this.lastId = record.id;
    const { length } = this.#pending;
    if (length >= this.#limits.limit + maxBatch) {
      this.#pending.splice(0, maxBatch);
      this.lost += maxBatch;
    }
    this.#pending.push(record);
    if (this.problem === undefined && length === maxBatch) this.#writeAfter(0);
    else if (this.#timer === undefined) this.#writeAfter(writeDelayMs);
  }

  async find(filter: RecordFilter): Promise<CallRecord[]> {
    const since = Math.max(filter.since ?? 0, Date.now() - this.#limits.keepMs);
    const limited = { ...filter, since };
    const found = this.#pending.filter((record) => matchesFilter(record, limited)).reverse();
    // A batch that is written while others are read has been searched above.
    let before = Math.min(filter.before ?? Number.MAX_SAFE_INTEGER, this.#pending[0]?.id ?? Number.MAX_SAFE_INTEGER);
    let isComplete = false;
    while (!isComplete && found.length < filter.limit && !this.#isClosed) {
      const rows = this.#database.all("SELECT id, ended_at, data FROM batches WHERE id < ? ORDER BY id DESC LIMIT ?", [
        before,
        batchesPerStep,
      ]);
      const recent = rows.filter((row) => Number(row["ended_at"]) >= since);
      for (const row of recent) found.push(...searchBatch(toText(row), limited));
      before = Number(rows.at(-1)?.["id"] ?? 0);
      isComplete = recent.length < batchesPerStep;
      if (!isComplete) await setImmediate();
    }
    return found.slice(0, filter.limit);
  }

  setLimits(limits: RecordLimits): void {
    this.#limits = limits;
    this.#prunedAt = 0;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#timer?.stop();
    while (this.#pending.length > 0 && this.#write());
    try {
      this.#database.close();
    } finally {
      release(this.#file);
    }
  }

  #writeAfter(delay: number): void {
    this.#timer?.stop();
    const write = () => {
      this.#timer = undefined;
      const isWritten = this.#write();
      if (this.#pending.length > 0) this.#writeAfter(isWritten ? 0 : retryDelayMs);
    };
    this.#timer = startTimer(write, delay, { keepsAlive: false });
  }

  /** Writes the oldest pending records. Returns whether that succeeded; after a failure they stay pending. */
  #write(): boolean {
    const batch = this.#pending.slice(0, maxBatch);
    const { startedAt, duration } = batch.at(-1)!;
    try {
      const data = Buffer.from(JSON.stringify(batch.map(toRow)));
      this.#database.run("INSERT INTO batches VALUES (?, ?, ?)", [batch[0]!.id, startedAt + duration, data]);
      this.#pending = this.#pending.slice(maxBatch);
      if (Date.now() - this.#prunedAt > pruneIntervalMs) this.#prune();
    } catch (error) {
      this.#report(toReason(error));
      return false;
    }
    if (this.problem !== undefined) log.info("The history is written again: {file}", { file: this.#file });
    this.problem = undefined;
    return true;
  }

  /** Reports that writing fails: once until it succeeds again. */
  #report(reason: string): void {
    if (this.problem !== undefined) return;
    this.problem = `Calls cannot be written to the history file: ${reason}.`;
    const { limit } = this.#limits;
    const message =
      "The history file {file} cannot be written: {reason}. Calls continue, and the last {limit} are kept in memory until it can be written. Check the space on its disk.";
    warnVisibly(log, [{ message, properties: { file: this.#file, reason, limit } }]);
  }

  /** Removes the batches that are older than `keep`. Their ids are in the order of time. */
  #prune(): void {
    this.#prunedAt = Date.now();
    const oldest = this.#prunedAt - this.#limits.keepMs;
    const [first] = this.#database.all("SELECT id FROM batches WHERE ended_at >= ? ORDER BY id LIMIT 1", [oldest]);
    this.#database.run("DELETE FROM batches WHERE id < ?", [Number(first?.["id"] ?? Number.MAX_SAFE_INTEGER)]);
  }
}

type RecordRow = [
  id: number,
  requestId: string,
  parentRequestId: string | null,
  operationId: string,
  identity: string | null,
  startedAt: number,
  duration: number,
  code: string | null,
  payload: string | null,
];

function toRow(record: CallRecord): RecordRow {
  const { id, requestId, parentRequestId, operationId, identity, startedAt, duration, code, payload } = record;
  const [parent, caller] = [parentRequestId ?? null, identity ?? null];
  return [id, requestId, parent, operationId, caller, startedAt, duration, code ?? null, payload ?? null];
}

function toText({ data }: Record<string, unknown>): string {
  return Buffer.from(data as Uint8Array).toString();
}

function parseBatch(text: string): CallRecord[] {
  return (JSON.parse(text) as RecordRow[]).map(
    ([id, requestId, parent, operationId, identity, startedAt, duration, code, payload]) => ({
      id,
      requestId,
      parentRequestId: parent ?? undefined,
      operationId,
      identity: identity ?? undefined,
      startedAt,
      duration,
      code: code ?? undefined,
      payload: payload ?? undefined,
    }),
  );
}

/** Returns the records of a batch that match, the newest first. Most batches do not contain the id of one call. */
function searchBatch(text: string, filter: RecordFilter): CallRecord[] {
  if (filter.requestId !== undefined && !text.includes(JSON.stringify(filter.requestId))) return [];
  return parseBatch(text)
    .filter((record) => matchesFilter(record, filter))
    .reverse();
}

/** Files that this process has open. */
const openFiles = new Set<string>();

/**
 * Marks a file as used by this process with a file beside it that contains the process id. A mark of a process that has
 * ended is replaced. Throws a `CallError` if another process uses the file.
 */
function claim(file: string): void {
  const mark = `${file}.pid`;
  const owner = readOwner(mark);
  if (openFiles.has(file) || (owner !== undefined && owner !== process.pid && isRunning(owner))) {
    const message = `The history file ${file} is used by the process ${owner}. Stop it, or use another file. If it is not a hub, remove ${mark}.`;
    throw new CallError("UNAVAILABLE", message, undefined, { mayHaveRun: false });
  }
  rmSync(mark, { force: true });
  try {
    writeFileSync(mark, String(process.pid), { mode: 0o600, flag: "wx" });
  } catch (cause) {
    const message = `The history file ${file} cannot be used: ${toReason(cause)}. Check that its folder exists and can be written.`;
    throw new CallError("UNAVAILABLE", message, undefined, { cause, mayHaveRun: false });
  }
  openFiles.add(file);
  removeLock(file);
}

/** Removes the empty folder with which SQLite as WebAssembly locks a file, and which a killed process leaves behind. */
function removeLock(file: string): void {
  try {
    rmdirSync(`${file}.lock`);
  } catch {
    // It does not exist, or it is not the folder of a lock.
  }
}

function release(file: string): void {
  openFiles.delete(file);
  rmSync(`${file}.pid`, { force: true });
}

function readOwner(mark: string): number | undefined {
  try {
    const owner = Number.parseInt(readFileSync(mark, "utf8"), 10);
    return owner > 0 ? owner : undefined;
  } catch {
    return undefined;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"; // It is a process of another user.
  }
}

/** Creates a file that only its user can read, before SQLite creates it with another mode. */
function createPrivate(file: string): void {
  closeSync(openSync(file, "a", 0o600));
  chmodSync(file, 0o600);
}
