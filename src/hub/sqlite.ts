import { loadPeer } from "../operation/index.ts";

/** A value of a column. */
type Value = number | string | Uint8Array | null;

/** An open SQLite database. */
export interface Database {
  /** Runs statements without results. */
  exec(sql: string): void;
  /** Runs a statement. */
  run(sql: string, values: Value[]): void;
  /** Returns the rows of a query. */
  all(sql: string, values: Value[]): Record<string, unknown>[];
  /** Closes the file. */
  close(): void;
}

/** The parts of `node:sqlite` that are used here. Its types belong to later versions of Node. */
interface NodeSQLite {
  DatabaseSync: new (
    file: string,
  ) => {
    exec(sql: string): void;
    prepare(sql: string): { run(...values: Value[]): unknown; all(...values: Value[]): Record<string, unknown>[] };
    close(): void;
  };
}

/** Returns a function that opens databases: with `node:sqlite` where Node has it, else with `node-sqlite3-wasm`. */
export async function loadSQLite(): Promise<(file: string) => Database> {
  const builtin = process.getBuiltinModule("node:sqlite") as NodeSQLite | undefined;
  if (builtin !== undefined) {
    return (file) => {
      const database = new builtin.DatabaseSync(file);
      return {
        exec: (sql) => database.exec(sql),
        run: (sql, values) => void database.prepare(sql).run(...values),
        all: (sql, values) => database.prepare(sql).all(...values),
        close: () => database.close(),
      };
    };
  }
  const purpose = "a history file on Node before 22.13";
  const { default: wasm } = await loadPeer("node-sqlite3-wasm", purpose, () => import("node-sqlite3-wasm"));
  return (file) => {
    const database = new wasm.Database(file);
    return {
      exec: (sql) => database.exec(sql),
      run: (sql, values) => void database.run(sql, values),
      all: (sql, values) => database.all(sql, values) as Record<string, unknown>[],
      close: () => database.close(),
    };
  };
}
