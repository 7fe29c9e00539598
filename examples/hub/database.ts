import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** A value in a row. */
export type Value = string | number | null;

/** An embedded SQLite database in one file. */
export interface Database {
  /** Runs a statement, and returns its rows. */
  query<Row extends object>(sql: string, ...values: Value[]): Row[];
  /** Closes the file. */
  close(): void;
}

/** The part of `node:sqlite` that this example uses. Node has it from version 22.13. */
interface NodeSQLite {
  DatabaseSync: new (
    file: string,
  ) => {
    prepare(sql: string): { all(...values: Value[]): object[] };
    close(): void;
  };
}

/** Opens a database file with the SQLite of Node, or with that of `node-sqlite3-wasm`. */
export async function openDatabase(file: string): Promise<Database> {
  const builtin = process.getBuiltinModule?.("node:sqlite") as NodeSQLite | undefined;
  if (builtin !== undefined) {
    const database = new builtin.DatabaseSync(file);
    return {
      query: <Row>(sql: string, ...values: Value[]) => database.prepare(sql).all(...values) as Row[],
      close: () => database.close(),
    };
  }
  const { default: wasm } = await import("node-sqlite3-wasm");
  const database = new wasm.Database(file);
  return {
    query: <Row>(sql: string, ...values: Value[]) => database.all(sql, values) as Row[],
    close: () => database.close(),
  };
}

let opened: Promise<Database> | undefined;

/** Returns the database of the shop. The first call opens it, and creates it if it does not exist. */
export function shopDatabase(): Promise<Database> {
  opened ??= openShop(process.env["SHOP_DATA"] ?? fileURLToPath(new URL(".data", import.meta.url)));
  return opened;
}

async function openShop(folder: string): Promise<Database> {
  mkdirSync(folder, { recursive: true });
  const database = await openDatabase(join(folder, "shop.db"));
  database.query("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item TEXT, city TEXT, parcel TEXT)");
  const first = ["Notebook", "Lima", "parcel-0"];
  database.query(
    "INSERT INTO orders (item, city, parcel) SELECT ?, ?, ? WHERE NOT EXISTS (SELECT * FROM orders)",
    ...first,
  );
  return database;
}
