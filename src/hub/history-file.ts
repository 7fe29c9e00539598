import { Buffer } from "node:buffer";
import { chmodSync, closeSync, mkdirSync, openSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { toReason } from "../internal/text.ts";
import { CallError, isCallError, loadPeer } from "../operation/inside.ts";
import { type CallRecord, matchesFilter, type RecordFilter } from "./call-records.ts";

/** Number of batches that are read in one step. Other work runs between two steps. */
const batchesPerStep = 10;

/** Statements that prepare a file. One process uses it, so the log of writes needs no shared memory. */
const preparation = [
  "PRAGMA page_size = 16384",
  "PRAGMA journal_mode = WAL",
  "PRAGMA synchronous = NORMAL", // A killed process loses no written batch.
  "CREATE TABLE IF NOT EXISTS call_batches (id INTEGER PRIMARY KEY, ended_at INTEGER NOT NULL, data BLOB NOT NULL)",
  `CREATE VIEW IF NOT EXISTS calls AS
    SELECT call_batches.id + key AS id, value->>0 AS request_id, value->>5 AS parent_request_id,
      value->>1 AS operation_id, value->>4 AS identity, ended_at + (value->>2) AS started_at,
      (value->>3) / 1000.0 AS duration, value->>6 AS code, value->>7 AS payload
    FROM call_batches, json_each(CAST(data AS TEXT))`,
];

/**
 * Opens a file of records, and creates it and its folder if they do not exist. `path` is absolute. Rejects with a `CallError`
 * if it cannot be used. A file that is not a database is not changed.
 */
export async function openRecordFile(path: string): Promise<RecordFile> {
  let database: Database | undefined;
  claim(path);
  try {
    closeSync(openSync(path, "a", 0o600)); // SQLite would create it with another mode.
    database = await openDatabase(path);
    return new RecordFile(database, path);
  } catch (cause) {
    database?.close();
    release(path);
    throw isCallError(cause) ? cause : unusable(path, cause); // The package for SQLite may be missing.
  }
}

function unusable(path: string, cause: unknown): CallError {
  const message = `The history file ${path} cannot be used: ${toReason(cause)}. Check the file and its folder, or use another file.`;
  return new CallError("UNAVAILABLE", message, undefined, { cause, mayHaveRun: false });
}

/**
 * Records in an SQLite file. A batch of records is one row with JSON, because a row and its index entries for each call
 * cost ten times as much with SQLite as WebAssembly. The view `calls` has a row for each record.
 */
export class RecordFile {
  readonly path: string;
  /** The greatest id of a record when the file was opened; 0 without records. */
  readonly lastId: number;
  readonly #database: Database;
  #isClosed = false;

  /** Throws if the file is not a database. */
  constructor(database: Database, path: string) {
    this.path = path;
    this.#database = database;
    database.all("PRAGMA locking_mode = EXCLUSIVE");
    database.all("PRAGMA schema_version"); // Reads the file, before it is changed.
    closeSync(openSync(`${path}-wal`, "a", 0o600));
    for (const file of [path, `${path}-wal`]) chmodSync(file, 0o600);
    for (const statement of preparation) database.all(statement);
    const [last] = database.all(
      "SELECT id + json_array_length(CAST(data AS TEXT)) - 1 AS id FROM call_batches ORDER BY call_batches.id DESC LIMIT 1",
    );
    this.lastId = Number(last?.["id"] ?? 0);
  }

  /** Writes records, whose ids follow each other. Throws if that fails. */
  write(batch: readonly CallRecord[]): void {
    const { startedAt, duration } = batch.at(-1)!;
    const endedAt = Math.ceil(startedAt + duration);
    const data = Buffer.from(JSON.stringify(batch.map((record) => toStored(record, endedAt))));
    this.#database.all("INSERT INTO call_batches VALUES (?, ?, ?)", [batch[0]!.id, endedAt, data]);
  }

  /** Finds records, the newest first. `before` and `since` limit how much is read. */
  async find(filter: RecordFilter & { before: number; since: number }): Promise<CallRecord[]> {
    const found: CallRecord[] = [];
    let { before } = filter;
    let isComplete = false;
    while (!isComplete && found.length < filter.limit && !this.#isClosed) {
      const rows = this.#database
        .all("SELECT * FROM call_batches WHERE id < ? ORDER BY id DESC LIMIT ?", [before, batchesPerStep])
        .map(toBatch);
      const recent = rows.filter(({ endedAt }) => endedAt >= filter.since);
      for (const row of recent) found.push(...searchBatch(row, filter));
      before = rows.at(-1)?.id ?? 0;
      isComplete = recent.length < batchesPerStep;
      if (!isComplete) await setImmediate();
    }
    return found.slice(0, filter.limit);
  }

  /** Removes the batches that ended before a time. Their ids are in the order of time. */
  prune(oldest: number): void {
    const [first] = this.#database.all("SELECT id FROM call_batches WHERE ended_at >= ? ORDER BY id LIMIT 1", [oldest]);
    this.#database.all("DELETE FROM call_batches WHERE id < ?", [Number(first?.["id"] ?? Number.MAX_SAFE_INTEGER)]);
  }

  close(): void {
    this.#isClosed = true;
    try {
      this.#database.close();
    } finally {
      release(this.path);
    }
  }
}

/** A record in a batch. Small integers and few values make JSON that takes half of the time of that of a `CallRecord`. */
type StoredRecord = [
  requestId: string,
  operationId: string,
  startedAfterEnd: number,
  microseconds: number,
  ...others: Array<string | undefined>,
];

function toStored(record: CallRecord, endedAt: number): StoredRecord {
  const { requestId, parentRequestId, operationId, identity, startedAt, duration, code, payload } = record;
  const stored: StoredRecord = [requestId, operationId, startedAt - endedAt, Math.round(duration * 1_000), identity];
  const isLong = parentRequestId !== undefined || code !== undefined || payload !== undefined;
  if (isLong) stored.push(parentRequestId, code, payload);
  return stored;
}

/** A row of the table: records whose ids begin with `id`, and the last of which ended at `endedAt`. */
function toBatch(row: Record<string, unknown>) {
  return { id: Number(row["id"]), endedAt: Number(row["ended_at"]), data: Buffer.from(row["data"] as Uint8Array) };
}

/** Returns the records of a batch that match, the newest first. Most batches do not contain the id of one call. */
function searchBatch({ id, endedAt, data }: ReturnType<typeof toBatch>, filter: RecordFilter): CallRecord[] {
  if (filter.requestId !== undefined && !data.includes(JSON.stringify(filter.requestId))) return [];
  const stored = JSON.parse(data.toString()) as StoredRecord[];
  const records = stored.map(([requestId, operationId, startedAfterEnd, microseconds, ...others], index) => {
    const [identity, parentRequestId, code, payload] = others.map((value) => value ?? undefined);
    const [startedAt, duration] = [endedAt + startedAfterEnd, microseconds / 1_000];
    return { id: id + index, requestId, parentRequestId, operationId, identity, startedAt, duration, code, payload };
  });
  return records.filter((record) => matchesFilter(record, filter)).reverse();
}

/**
 * Marks a file as used by this process with a file beside it that contains the process id and start time. A mark of a
 * process that has ended is replaced. Throws a `CallError` if another process uses the file, or if its folder cannot be used.
 */
function claim(file: string): void {
  const mark = `${file}.pid`;
  const owner = findOwner(mark);
  if (owner !== undefined) {
    const message = `The history file ${file} is used by the process ${owner}. Stop it, or use another file. If it is not a hub, remove ${mark}.`;
    throw new CallError("UNAVAILABLE", message, undefined, { mayHaveRun: false });
  }
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    rmSync(mark, { force: true });
    writeFileSync(mark, `${process.pid} ${startOf(process.pid)}`, { mode: 0o600, flag: "wx" });
  } catch (cause) {
    throw unusable(file, cause);
  }
  try {
    // SQLite as WebAssembly locks a file with an empty folder, which a killed process leaves behind.
    rmdirSync(`${file}.lock`);
  } catch {
    // It does not exist, or it is not the folder of a lock.
  }
}

/** Returns the id of a process that has marked a file and is running, maybe this one; `undefined` if no process has. */
function findOwner(mark: string): number | undefined {
  let owner = Number.NaN;
  try {
    const [id, start] = readFileSync(mark, "utf8").split(" ");
    owner = Number(id);
    if (!(owner > 0)) return undefined;
    process.kill(owner, 0); // Throws if it is not running.
    // In a container that was restarted, another process has its id, and that may be this one.
    if (start !== undefined && start !== startOf(owner)) return undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return undefined; // EPERM: it is of another user.
  }
  return owner;
}

/** Returns when a process was started, as Linux counts; "" if it has ended and waits for its parent, or is unknown. */
function startOf(pid: number): string {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");
    return fields[0] === "Z" ? "" : fields[19]!;
  } catch {
    return ""; // Other systems do not have this file.
  }
}

function release(file: string): void {
  rmSync(`${file}.pid`, { force: true });
}

/** A value of a column. */
type Value = number | string | Uint8Array | null;

/** An open SQLite database. */
export interface Database {
  /** Runs a statement and returns its rows. */
  all(sql: string, values?: Value[]): Record<string, unknown>[];
  /** Closes the file. */
  close(): void;
}

/** The parts of `node:sqlite` that are used here. Its types belong to later versions of Node. */
interface NodeSQLite {
  DatabaseSync: new (
    file: string,
  ) => {
    prepare(sql: string): { all(...values: Value[]): Record<string, unknown>[] };
    close(): void;
  };
}

/**
 * Opens a database: with `node:sqlite` where Node has it, else with `node-sqlite3-wasm`.
 * @param folder - Where that package is searched too: the command may be installed elsewhere than the project.
 */
export async function openDatabase(file: string, folder: string = dirname(file)): Promise<Database> {
  const builtin = process.getBuiltinModule("node:sqlite") as NodeSQLite | undefined;
  if (builtin !== undefined) {
    const database = new builtin.DatabaseSync(file);
    return { all: (sql, values = []) => database.prepare(sql).all(...values), close: () => database.close() };
  }
  const purpose = "a history file on Node before 22.13";
  const name = "node-sqlite3-wasm";
  const require = createRequire(join(folder, name));
  const load = () => import("node-sqlite3-wasm").catch(() => ({ default: require(name) }));
  const { default: wasm } = await loadPeer(name, purpose, load);
  const database = new wasm.Database(file);
  return {
    all: (sql, values = []) => database.all(sql, values) as Record<string, unknown>[],
    close: () => database.close(),
  };
}
