import type { Static, TObject, TSchema } from "typebox";
import { createGlobs } from "../internal/globs.ts";
import { Type } from "../operation/index.ts";
import type { SQLValue } from "./sqlite.ts";

/**
 * What is recorded about a call that has ended. The type of a record, the table of the history file, and the schema of what
 * the hub returns follow from it.
 */
export const columns = {
  id: {
    column: "id",
    sql: "INTEGER PRIMARY KEY",
    schema: Type.Optional(
      Type.Integer({ description: "Identifies the record; later ones are greater. Missing while it runs." }),
    ),
  },
  requestId: {
    column: "request",
    sql: "TEXT NOT NULL",
    schema: Type.String({ description: "Callers may choose it." }),
  },
  parentRequestId: {
    column: "parent",
    sql: "TEXT",
    schema: Type.Optional(Type.String({ description: "The call whose handler made this call." })),
  },
  operationId: { column: "operation", sql: "TEXT NOT NULL", schema: Type.String() },
  source: {
    column: "source",
    sql: "TEXT",
    schema: Type.Optional(Type.String({ description: "The source of the operation." })),
  },
  identity: {
    column: "identity",
    sql: "TEXT",
    schema: Type.Optional(Type.String({ description: "Id of the caller; missing for an anonymous one." })),
  },
  via: {
    column: "via",
    sql: "TEXT NOT NULL",
    schema: Type.String({
      description:
        "How the outermost call arrived: http, mcp, websocket, bus, peer, command, or code for a call in the process.",
    }),
  },
  from: {
    column: '"from"',
    sql: "TEXT",
    schema: Type.Optional(
      Type.String({
        description: 'Where the result came from: "local", "mcp", or "http" with the status, "http 201".',
      }),
    ),
  },
  startedAt: {
    column: "start",
    sql: "INTEGER NOT NULL",
    schema: Type.Number({ description: "In milliseconds since the epoch." }),
  },
  duration: {
    column: "duration",
    sql: "REAL NOT NULL",
    schema: Type.Number({ description: "In milliseconds; until now while it runs." }),
  },
  status: { column: "status", sql: "TEXT NOT NULL", schema: Type.Enum(["running", "succeeded", "failed"]) },
  code: { column: "code", sql: "TEXT", schema: Type.Optional(Type.String({ description: "Code of the error." })) },
  drift: {
    column: "drift",
    sql: "INTEGER",
    schema: Type.Optional(Type.Integer({ description: "Number of places where the result differed from its schema." })),
  },
  nested: {
    column: "nested",
    sql: "INTEGER",
    schema: Type.Optional(Type.Integer({ description: "Number of calls that its handler made." })),
  },
  values: {
    column: '"values"',
    sql: "INTEGER",
    schema: Type.Optional(Type.Integer({ description: "Number of values of a subscription." })),
  },
} as const;

type Columns = typeof columns;
type Values = Static<TObject<{ [Name in keyof Columns]: Columns[Name]["schema"] }>>;

/** A call that has ended, or a running one. Records are created with the properties in the order of the columns. */
export type CallRecord = { readonly [Name in keyof Required<Values>]: Values[Name] } & {
  /** JSON of a {@link CallPayload}, with secrets redacted; missing unless `payloads` matches. In a table of its own. */
  payload?: string | undefined;
};

/** What a call received and returned. */
export interface CallPayload {
  /** The validated input. */
  input?: unknown;
  /** The data of the result; missing for subscriptions. */
  output?: unknown;
  /** Message and details of the error. */
  error?: { message: string; details?: unknown };
}

/** How a value of a record is compared with that of a filter: in SQL, with one `?` for the latter, and in memory. */
interface Comparison {
  sql(expression: string): string;
  toSQL?(value: never): SQLValue;
  matches(value: never): (own: never) => boolean;
}

const comparisons = {
  is: { sql: (of) => `${of} IS ?`, matches: (value) => (own) => own === (value ?? undefined) },
  isIn: {
    sql: (of) => `${of} IN (SELECT value FROM json_each(?))`,
    toSQL: (values: readonly string[]) => JSON.stringify(values),
    matches: (values: readonly string[]) => (own: string) => values.includes(own),
  },
  isLike: { sql: (of) => `${of} GLOB ?`, toSQL: toGlob, matches: (pattern: string) => createGlobs([pattern]) },
  isMissing: {
    sql: (of) => `(${of} IS NULL) = ?`,
    toSQL: (isMissing: boolean) => Number(isMissing),
    matches: (isMissing: boolean) => (own: unknown) => (own === undefined) === isMissing,
  },
  isAtLeast: { sql: (of) => `${of} >= ?`, matches: (least: number) => (own: number) => own >= least },
  isBelow: { sql: (of) => `${of} < ?`, matches: (most: number) => (own: number) => own < most },
} satisfies Record<string, Comparison>;

/** A way to select records. */
interface Filter {
  /** The column that is compared, or when the call ended. */
  readonly of: keyof Columns | "end";
  readonly by: keyof typeof comparisons;
  readonly schema: TSchema;
  /** Whether an index finds the records in the order of their ids, and whether it has parts of records with close ids. */
  readonly index?: "whole" | "in parts" | undefined;
}

const text = (description: string) => Type.String({ description });
const number = (description: string) => Type.Number({ description });

function filter<T extends TSchema>(of: Filter["of"], by: Filter["by"], schema: T, index?: Filter["index"]) {
  return { of, by, schema, index };
}

/** The filters for records, of which the first one with an index uses it. `null` as identity selects anonymous callers. */
export const filters = {
  id: filter("id", "is", Type.Integer(), "whole"),
  requestId: filter("requestId", "is", Type.String(), "in parts"),
  parents: filter("parentRequestId", "isIn", Type.Array(Type.String()), "in parts"),
  operationId: filter("operationId", "is", text("Id of an operation; * matches any characters."), "whole"),
  identity: filter("identity", "is", text("Only calls of this caller."), "whole"),
  operations: filter("operationId", "isLike", Type.String()),
  source: filter("source", "is", text("Only calls of operations of this source.")),
  via: filter("via", "is", text("Only calls that arrived this way, such as http or mcp.")),
  status: filter("status", "is", Type.Enum(["succeeded", "failed"])),
  code: filter("code", "is", text("Only calls that failed with this code.")),
  minDuration: filter("duration", "isAtLeast", number("Only calls that took at least this time, in milliseconds.")),
  roots: filter("parentRequestId", "isMissing", Type.Boolean({ description: "Only calls that no other call made." })),
  since: filter(
    "end",
    "isAtLeast",
    number("Only calls that ended at this time or later, in milliseconds since the epoch."),
  ),
  until: filter("end", "isBelow", number("Only calls that ended before this time, in milliseconds since the epoch.")),
};

type FilterValues = { -readonly [Name in keyof typeof filters]: Static<(typeof filters)[Name]["schema"]> };

/** The values of {@link filters}. All of them must hold. */
export type RecordConditions = {
  [Name in keyof FilterValues]?: FilterValues[Name] | (Name extends "identity" ? null : never) | undefined;
};

/** Selects a page of records. */
export interface RecordFilter extends RecordConditions {
  /** Only records with a smaller id. */
  before?: number | undefined;
  /** Maximum number of records. */
  limit: number;
}

/** Records, the newest first. */
export interface RecordPage {
  readonly records: readonly CallRecord[];
  /** Where the next page begins, as its `before`; `undefined` after the last record. */
  readonly next: number | undefined;
}

/** Returns a pattern for `GLOB` of SQLite, in which only `*` has a meaning. */
export function toGlob(pattern: string): string {
  return pattern.replaceAll(/[[?]/g, "[$&]");
}

/** A filter with a value. */
export interface Condition extends Pick<Filter, "index"> {
  /** Its SQL, with one `?` for the value. */
  readonly sql: string;
  readonly value: SQLValue;
  matches(record: CallRecord): boolean;
}

/** Returns the conditions of a filter, in the order of {@link filters}. */
export function conditionsOf(values: RecordConditions): Condition[] {
  return Object.entries<Filter>(filters).flatMap(([name, { of, by, index }]) => {
    const value = values[name as keyof RecordConditions] as never;
    if (value === undefined) return [];
    const { sql, toSQL = (given: SQLValue) => given, matches }: Comparison = comparisons[by];
    const isMatch = matches(value);
    const read = (record: CallRecord) => (of === "end" ? record.startedAt + record.duration : record[of]);
    return [
      {
        index,
        sql: sql(of === "end" ? "start + duration" : columns[of].column),
        value: toSQL(value),
        matches: (record) => isMatch(read(record) as never),
      },
    ];
  });
}

/** Finds records in memory, which are in the order of their ids, the oldest first. */
export function findIn(records: readonly CallRecord[], { before, limit, ...values }: RecordFilter): CallRecord[] {
  const conditions = conditionsOf(values);
  const found = records.filter(
    (record) =>
      (before === undefined || record.id === undefined || record.id < before) &&
      conditions.every((condition) => condition.matches(record)),
  );
  return found.slice(-limit).reverse();
}
