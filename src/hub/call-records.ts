import type { Static, TObject } from "typebox";
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

/** Conditions for records. All of them must hold. */
export interface RecordConditions {
  /** The record with this id. */
  id?: number | undefined;
  /** Calls with this id. */
  requestId?: string | undefined;
  /** Calls that calls with these ids made. */
  parents?: readonly string[] | undefined;
  /** Calls of this operation. */
  operationId?: string | undefined;
  /** Calls of the operations whose ids match; `*` matches any characters. */
  operations?: string | undefined;
  /** Calls of this caller; `null` for anonymous ones. */
  identity?: string | null | undefined;
  /** Calls of operations of this source. */
  source?: string | undefined;
  /** Calls that arrived this way. */
  via?: string | undefined;
  /** Calls with this status. */
  status?: CallRecord["status"] | undefined;
  /** Calls that failed with this code. */
  code?: string | undefined;
  /** Calls that took at least this time, in ms. */
  minDuration?: number | undefined;
  /** Only calls that no other call made. */
  roots?: boolean | undefined;
  /** Calls that ended at this time or later, in milliseconds since the epoch. */
  since?: number | undefined;
  /** Calls that ended before this time, in milliseconds since the epoch. */
  until?: number | undefined;
}

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

/** How a condition is expressed in SQL, with one `?` for its value, and in memory. */
interface Condition<T> {
  readonly sql: string;
  /** Whether an index finds the records in the order of their ids. */
  readonly isIndexed?: true;
  /** Whether that index has parts of records with close ids. */
  readonly isInParts?: true;
  readonly toSQL?: (value: T) => SQLValue;
  readonly matches: (record: CallRecord, value: T) => boolean;
}

type Conditions = {
  readonly [Name in keyof RecordConditions]-?: Condition<NonNullable<RecordConditions[Name]> | null>;
};

const endOf = ({ startedAt, duration }: CallRecord) => startedAt + duration;

/** Returns a pattern for `GLOB` of SQLite, in which only `*` has a meaning. */
export function toGlob(pattern: string): string {
  return pattern.replaceAll(/[[?]/g, "[$&]");
}

/** The index that is used is that of the first condition that has one. */
export const conditions: Conditions = {
  id: { sql: "id = ?", isIndexed: true, matches: (record, id) => record.id === id },
  requestId: { sql: "request = ?", isIndexed: true, isInParts: true, matches: (record, id) => record.requestId === id },
  parents: {
    sql: "parent IN (SELECT value FROM json_each(?))",
    isIndexed: true,
    isInParts: true,
    toSQL: (ids) => JSON.stringify(ids),
    matches: ({ parentRequestId: parent }, ids) => parent !== undefined && ids!.includes(parent),
  },
  operationId: { sql: "operation = ?", isIndexed: true, matches: ({ operationId }, id) => operationId === id },
  identity: { sql: "identity IS ?", isIndexed: true, matches: (record, id) => record.identity === (id ?? undefined) },
  operations: {
    sql: "operation GLOB ?",
    toSQL: (pattern) => toGlob(pattern!),
    matches: ({ operationId }, pattern) => createGlobs([pattern!])(operationId),
  },
  source: { sql: "source = ?", matches: (record, source) => record.source === source },
  via: { sql: "via = ?", matches: (record, via) => record.via === via },
  status: { sql: "status = ?", matches: (record, status) => record.status === status },
  code: { sql: "code = ?", matches: (record, code) => record.code === code },
  minDuration: { sql: "duration >= ?", matches: ({ duration }, least) => duration >= least! },
  roots: {
    sql: "(parent IS NULL) = ?",
    toSQL: (roots) => (roots ? 1 : 0),
    matches: ({ parentRequestId }, roots) => (parentRequestId === undefined) === roots,
  },
  since: { sql: "start + duration >= ?", matches: (record, time) => endOf(record) >= time! },
  until: { sql: "start + duration < ?", matches: (record, time) => endOf(record) < time! },
};

/** The conditions that a filter has, in the order of {@link conditions}. */
export function conditionsOf(filter: RecordConditions): Array<{ condition: Condition<unknown>; value: unknown }> {
  return Object.entries(conditions).flatMap(([name, condition]) => {
    const value = filter[name as keyof RecordConditions];
    return value === undefined ? [] : [{ condition: condition as Condition<unknown>, value }];
  });
}

/** Finds records in memory, which are in the order of their ids, the oldest first. */
export function findIn(records: readonly CallRecord[], { before, limit, ...filter }: RecordFilter): CallRecord[] {
  const all = conditionsOf(filter);
  const found = records.filter(
    (record) =>
      (before === undefined || record.id === undefined || record.id < before) &&
      all.every(({ condition, value }) => condition.matches(record, value)),
  );
  return found.slice(-limit).reverse();
}
