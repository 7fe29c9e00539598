import { chmodSync, closeSync, mkdirSync, openSync, realpathSync, rmdirSync, statSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { toReason } from "../internal/text.ts";
import { CallError, isCallError } from "../operation/inside.ts";
import { type CallCount, type CountQuery, type CountSum, countColumns, minuteMs } from "./call-counts.ts";
import {
  type CallRecord,
  columns,
  conditionsOf,
  type RecordConditions,
  type RecordFilter,
  type RecordPage,
  toGlob,
} from "./call-records.ts";
import { type Database, openDatabase, type SQLRow, type SQLValue } from "./sqlite.ts";

/** Maximum number of records that a page reads through without an index. */
const maxScanned = 10_000;
/** Maximum number of records that are removed in one step. */
const pruneSlice = 1_000;
/** The indexes of random ids have a part for each 2 ** 14 records. */
const partBits = 14;
/** Maximum number of minutes whose counts are removed in one step. */
const pruneMinutes = 10;
/** Maximum difference between the recorded end of two calls and their order, in ms. Times are rounded. */
const maxClockErrorMs = 2;

const columnList = Object.entries(columns);
const recordNames = Object.keys(columns) as Array<keyof typeof columns>;
const countNames = Object.keys(countColumns) as Array<keyof typeof countColumns>;

/** Each entry changes a file from the version with its number to the next one. */
const migrations: readonly (readonly string[])[] = [
  [
    `CREATE TABLE calls (${columnList.map(([, { column, sql }]) => `${column} ${sql}`).join(", ")})`,
    "CREATE INDEX calls_time ON calls (start + duration)",
    "CREATE INDEX calls_operation ON calls (operation)",
    "CREATE INDEX calls_identity ON calls (identity)",
    // Request ids are random. With the newest records in a part of their own, writing a record changes few pages.
    `CREATE INDEX calls_request ON calls (id >> ${partBits}, request)`,
    `CREATE INDEX calls_parent ON calls (id >> ${partBits}, parent) WHERE parent IS NOT NULL`,
    "CREATE TABLE payloads (id INTEGER PRIMARY KEY, data TEXT NOT NULL)",
    `CREATE TABLE counts (${Object.entries(countColumns)
      .map(([name, type]) => `${name} ${type} NOT NULL`)
      .join(", ")}, calls INTEGER NOT NULL, PRIMARY KEY (${countNames.join(", ")})) WITHOUT ROWID`,
  ],
];

const insertCall = `INSERT INTO calls VALUES (${columnList.map(() => "?").join(", ")})`;
const insertPayload = "INSERT INTO payloads VALUES (?, ?)";
const addCount = `INSERT INTO counts VALUES (${countNames.map(() => "?").join(", ")}, ?)
  ON CONFLICT DO UPDATE SET calls = calls + excluded.calls`;
const selectCalls = `SELECT ${columnList.map(([name, { column }]) => `${column} AS "${name}"`).join(", ")} FROM calls`;

/**
 * Opens a file of records, and creates it and its folder if they do not exist. `path` is absolute. Returns `undefined` if
 * another hub uses the file, also by another path. Rejects with a `CallError` if it cannot be used. A file that is not a
 * database is not changed.
 */
export async function openRecordFile(path: string): Promise<RecordFile | undefined> {
  let lock: Server | undefined;
  let database: Database | undefined;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    closeSync(openSync(path, "a", 0o600)); // SQLite would create it with another mode.
    const file = realpathSync(path);
    lock = await lockFile(file);
    if (lock === undefined) return undefined;
    try {
      rmdirSync(`${file}.lock`); // SQLite as WebAssembly leaves this empty folder behind when its process is killed.
    } catch {
      // It does not exist, or it is not the folder of a lock.
    }
    database = await openDatabase(file);
    return new RecordFile(database, file, lock);
  } catch (cause) {
    database?.close();
    lock?.close();
    if (isCallError(cause)) throw cause; // The package for SQLite may be missing.
    const message = `The history file ${path} cannot be used: ${toReason(cause)}. Check the file and its folder, or use another file.`;
    throw new CallError("UNAVAILABLE", message, undefined, { cause, mayHaveRun: false });
  }
}

/**
 * Locks a file for this process. The lock is a socket that no one connects to: the system removes it when the process ends,
 * however it ends, and its name contains the device and inode of the file, so that it is the same for all links to it.
 * Returns `undefined` if another process, or this one, has locked the file.
 */
async function lockFile(file: string): Promise<Server | undefined> {
  const { dev, ino } = statSync(file, { bigint: true });
  const name = `alkdev-operations-history-${dev}-${ino}`;
  if (process.platform === "linux") return listenOn(`\0${name}`);
  if (process.platform === "win32") return listenOn(`\\\\.\\pipe\\${name}`);
  return listenOn(join(tmpdir(), `${name}.sock`));
}

function listenOn(path: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") resolve(undefined);
      else reject(error);
    });
    server.listen(path, () => resolve(server.unref()));
  });
}

/** Records in an SQLite file: a row for each call, their payloads, and counts per minute. */
export class RecordFile {
  readonly path: string;
  /** The greatest id of a record when the file was opened; 0 without records. */
  readonly lastId: number;
  readonly #database: Database;
  readonly #lock: Server;

  /** Throws if the file is not a database, or was written by a later version. */
  constructor(database: Database, path: string, lock: Server) {
    this.path = path;
    this.#database = database;
    this.#lock = lock;
    // One process uses the file, so the log of writes needs no shared memory.
    database.all("PRAGMA locking_mode = EXCLUSIVE");
    const [header] = database.all("PRAGMA user_version"); // Reads the file, before it is changed.
    const version = Number(header!["user_version"]);
    if (version > migrations.length) throw new Error("it was written by a later version of this package");
    closeSync(openSync(`${path}-wal`, "a", 0o600));
    for (const file of [path, `${path}-wal`]) chmodSync(file, 0o600);
    database.all("PRAGMA journal_mode = WAL");
    database.all("PRAGMA synchronous = NORMAL"); // A killed process loses no written batch.
    database.all("PRAGMA cache_size = -16384");
    migrations.slice(version).forEach((statements, index) => {
      this.#transact(() => {
        for (const statement of statements) database.run(statement);
        database.run(`PRAGMA user_version = ${version + index + 1}`);
      });
    });
    this.lastId = Number(database.all("SELECT max(id) AS id FROM calls")[0]!["id"] ?? 0);
  }

  /** Writes records and counts. Throws, and writes nothing, if that fails. */
  write(records: readonly CallRecord[], counts: readonly CallCount[]): void {
    this.#transact(() => {
      for (const record of records) {
        this.#database.run(
          insertCall,
          recordNames.map((name) => record[name] ?? null),
        );
        if (record.payload !== undefined) this.#database.run(insertPayload, [record.id!, record.payload]);
      }
      for (const count of counts) {
        this.#database.run(addCount, [...countNames.map((name) => count[name]), count.calls]);
      }
    });
  }

  /**
   * Finds records, the newest first. It reads at most 10,000 records that only conditions without an index exclude, and
   * then returns where to continue.
   */
  find({ before = Number.MAX_SAFE_INTEGER, limit, ...filter }: RecordFilter): RecordPage {
    const all = conditionsOf(filter);
    const indexed = all.find(({ index }) => index !== undefined);
    const others = all.filter((one) => one !== indexed);
    const ids = this.#idsOf(filter, before);
    const scanned = others.length === 0 ? limit : maxScanned;
    let range = `FROM calls WHERE ${indexed?.sql ?? "true"} AND id < ? AND id >= ?`;
    const values: SQLValue[] = [...(indexed === undefined ? [] : [indexed.value]), ids.before, ids.first];
    if (indexed?.index === "in parts") {
      range += ` AND id >> ${partBits} IN (SELECT value FROM json_each(?))`;
      values.push(partsOf(ids));
    }
    range += " ORDER BY id DESC";
    const where = others.length === 0 ? "" : `WHERE ${others.map(({ sql }) => sql).join(" AND ")}`;
    // SQLite reads the rows of the inner query one by one, and ends when the outer one has enough.
    const rows = this.#database.all(
      `${selectCalls.replace("FROM calls", `FROM (SELECT * ${range} LIMIT ?)`)} ${where} LIMIT ?`,
      [...values, scanned, ...others.map(({ value }) => value), limit],
    );
    const records = rows.map(toRecord);
    if (records.length === limit) return { records, next: records.at(-1)!.id };
    const [last] = this.#database.all(`SELECT id ${range} LIMIT 1 OFFSET ?`, [...values, scanned - 1]);
    return { records, next: last === undefined ? undefined : Number(last["id"]) };
  }

  /** Returns the payload of a record. */
  payloadOf(id: number): string | undefined {
    return this.#database.all("SELECT data FROM payloads WHERE id = ?", [id])[0]?.["data"] as string | undefined;
  }

  /** Sums the counts of the minutes from `since` to before `until`. */
  count({ since, until, step, by, operation, identity }: CountQuery): CountSum[] {
    const conditions = ["minute >= ?", "minute < ?"];
    const values: SQLValue[] = [step, since, until];
    if (operation !== undefined) conditions.push("operation GLOB ?");
    if (operation !== undefined) values.push(toGlob(operation));
    if (identity !== undefined) conditions.push("identity = ?");
    if (identity !== undefined) values.push(identity);
    const sums = `SELECT minute - minute % ? AS at, ${by ?? "''"} AS key, status, bucket, sum(calls) AS calls`;
    const sql = `${sums} FROM counts WHERE ${conditions.join(" AND ")} GROUP BY 1, 2, 3, 4`;
    return this.#database.all(sql, values) as readonly unknown[] as CountSum[];
  }

  /** Removes some of what is older than a time, the oldest first. Returns whether there may be more. */
  prune(oldest: number): boolean {
    const before = this.#firstIdSince(oldest);
    const slice = `SELECT id FROM calls WHERE id < ? ORDER BY id LIMIT ${pruneSlice}`;
    const [calls] = this.#database.all(`SELECT max(id) AS last, count(*) AS count FROM (${slice})`, [before]);
    const [counts] = this.#database.all("SELECT min(minute) AS first FROM counts");
    const last = calls!["last"] as number | null;
    const until = Math.min(oldest, Number(counts!["first"] ?? oldest) + pruneMinutes * minuteMs);
    this.#transact(() => {
      if (last !== null) this.#database.run("DELETE FROM calls WHERE id <= ?", [last]);
      if (last !== null) this.#database.run("DELETE FROM payloads WHERE id <= ?", [last]);
      this.#database.run("DELETE FROM counts WHERE minute < ?", [until]);
    });
    return calls!["count"] === pruneSlice || until < oldest;
  }

  close(): void {
    try {
      this.#database.close();
    } finally {
      this.#lock.close();
    }
  }

  /** Returns the ids that a page may have. Records are in the order in which their calls ended. */
  #idsOf({ since, until }: RecordConditions, before: number): { first: number; before: number } {
    const [known] = this.#database.all(
      "SELECT (SELECT min(id) FROM calls) AS first, (SELECT max(id) FROM calls) AS last",
    );
    const first = since === undefined ? 0 : this.#firstIdSince(since - maxClockErrorMs);
    const end = until === undefined ? before : this.#firstIdSince(until + maxClockErrorMs);
    return {
      first: Math.max(first, Number(known!["first"] ?? 0)),
      before: Math.min(before, end, Number(known!["last"] ?? 0) + 1),
    };
  }

  #firstIdSince(time: number): number {
    const sql = "SELECT id FROM calls WHERE start + duration >= ? ORDER BY start + duration LIMIT 1";
    return Number(this.#database.all(sql, [time])[0]?.["id"] ?? Number.MAX_SAFE_INTEGER);
  }

  #transact(run: () => void): void {
    this.#database.run("BEGIN");
    try {
      run();
      this.#database.run("COMMIT");
    } catch (error) {
      try {
        this.#database.run("ROLLBACK");
      } catch {
        // SQLite has ended the transaction, such as after a failure to write.
      }
      throw error;
    }
  }
}

/** Returns the parts of an index that have these ids, as JSON. */
function partsOf({ first, before }: { first: number; before: number }): string {
  const part = (id: number) => Math.floor(id / 2 ** partBits);
  const count = Math.max(part(before) - part(first) + 1, 0);
  return JSON.stringify(Array.from({ length: count }, (_, index) => part(first) + index));
}

function toRecord(row: SQLRow): CallRecord {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value ?? undefined])) as CallRecord;
}
