import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { loadPeer } from "../operation/inside.ts";

/** A value of a column. */
export type SQLValue = number | string | null;

/** A row by the names of its columns. */
export type SQLRow = Readonly<Record<string, unknown>>;

/** An open SQLite database. Statements are compiled once. */
export interface Database {
  /** Runs a statement and returns its rows. */
  all(sql: string, values?: readonly SQLValue[]): SQLRow[];
  /** Runs a statement that returns no rows. Returns the number of rows that it changed. */
  run(sql: string, values?: readonly SQLValue[]): number;
  /** Closes the file. */
  close(): void;
}

/** The parts of a compiled statement that both packages have. */
interface Statement {
  all(values: readonly SQLValue[]): SQLRow[];
  run(values: readonly SQLValue[]): { changes: number | bigint };
  finalize(): void;
}

/** The parts of `node:sqlite` that are used here. Its types belong to later versions of Node. */
interface NodeSQLite {
  DatabaseSync: new (
    file: string,
  ) => {
    prepare(sql: string): {
      all(...values: readonly SQLValue[]): SQLRow[];
      run(...values: readonly SQLValue[]): { changes: number | bigint };
    };
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
    const prepare = (sql: string): Statement => {
      const statement = database.prepare(sql);
      return {
        all: (values) => statement.all(...values),
        run: (values) => statement.run(...values),
        finalize: () => {},
      };
    };
    return withStatements(prepare, () => database.close());
  }
  const purpose = "a history file on Node before 22.13";
  const name = "node-sqlite3-wasm";
  const require = createRequire(join(folder, name));
  const load = () => import("node-sqlite3-wasm").catch(() => ({ default: require(name) }));
  const { default: wasm } = await loadPeer(name, purpose, load);
  const database = new wasm.Database(file);
  const prepare = (sql: string) => database.prepare(sql) as unknown as Statement;
  return withStatements(prepare, () => database.close());
}

function withStatements(prepare: (sql: string) => Statement, close: () => void): Database {
  const statements = new Map<string, Statement>();
  /** A statement that failed repeats its error when it is used again, so it is compiled again. */
  const forget = (sql: string) => {
    try {
      statements.get(sql)?.finalize();
    } catch {
      // It repeats the error too.
    }
    statements.delete(sql);
  };
  const use = <T>(sql: string, run: (statement: Statement) => T): T => {
    try {
      const statement = statements.get(sql) ?? prepare(sql);
      statements.set(sql, statement);
      return run(statement);
    } catch (error) {
      forget(sql);
      throw error;
    }
  };
  return {
    all: (sql, values = []) => use(sql, (statement) => statement.all(values)),
    run: (sql, values = []) => use(sql, (statement) => Number(statement.run(values).changes)),
    close: () => {
      for (const sql of [...statements.keys()]) forget(sql);
      close();
    },
  };
}
