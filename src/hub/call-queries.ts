import type { TOptional } from "typebox";
import { type Identity, isOperator, type OperationContext, Type } from "../operation/inside.ts";
import { minuteMs, Summary } from "./call-counts.ts";
import {
  type CallPayload,
  type CallRecord,
  columns,
  filters,
  type RecordConditions,
  type RecordFilter,
} from "./call-records.ts";
import type { History } from "./history.ts";
import { hubScopes } from "./rules.ts";

/** Maximum number of calls that `hub.call` returns. */
const maxTreeCalls = 1_000;
/** Maximum difference between the recorded start or end of two calls and their order, in ms. Times are rounded. */
const maxClockErrorMs = 2;
/** Number of records after that of a call among which `hub.call` looks for calls that it made and that ended later. */
const maxLaterCalls = 10_000;
/** Maximum number of characters of the payloads in one result. */
const maxPayloads = 4 * 1024 * 1024;
/** Maximum number of periods of `hub.stats`. */
const maxPeriods = 1_500;
const hourMs = 3_600_000;

/** The parts of a history that are queried. */
export type CallHistory = Pick<History, "records" | "findRunning" | "state" | "onCall">;

const schemas = Object.fromEntries(Object.entries(columns).map(([name, { schema }]) => [name, schema]));

/** A recorded or running call. Input, output and error are present only where `payloads` matches. */
export const callSchema = Type.Object({
  ...(schemas as { [Name in keyof typeof columns]: (typeof columns)[Name]["schema"] }),
  input: Type.Optional(Type.Unknown()),
  output: Type.Optional(Type.Unknown()),
  error: Type.Optional(Type.Object({ message: Type.String(), details: Type.Optional(Type.Unknown()) })),
});

const { id: _, requestId: _2, parents: _3, operations: _4, ...publicFilters } = filters;
const inputs = Object.fromEntries(
  Object.entries(publicFilters).map(([name, { schema }]) => [name, Type.Optional(schema)]),
);

/** Input of `hub.history`. */
export const historyInput = Type.Object({
  ...(inputs as { [Name in keyof typeof publicFilters]: TOptional<(typeof publicFilters)[Name]["schema"]> }),
  before: Type.Optional(Type.Integer({ description: "The field next of the previous page." })),
  limit: Type.Integer({ default: 50, minimum: 1, maximum: 1_000 }),
});

/** Output of `hub.history`. */
export const historyOutput = Type.Object({
  calls: Type.Array(callSchema),
  next: Type.Optional(
    Type.Integer({ description: "Pass it as before for the next page, which may exist even if this one is empty." }),
  ),
});

const optionalTime = (description: string) => Type.Optional(Type.Number({ description }));

const numbers = {
  calls: Type.Integer(),
  failed: Type.Integer(),
  p50: Type.Optional(
    Type.Number({ description: "A half of the calls took at most about this time, in milliseconds." }),
  ),
  p95: Type.Optional(Type.Number({ description: "95 % of the calls took at most about this time, in milliseconds." })),
};

/** Input of `hub.stats`. */
export const statsInput = Type.Object({
  since: optionalTime("In milliseconds since the epoch, rounded down to a minute; an hour ago without it."),
  until: optionalTime("In milliseconds since the epoch, rounded up to a minute; now without it."),
  step: Type.Optional(
    Type.Number({
      minimum: minuteMs,
      description: "Length of a period of the series, in milliseconds; whole minutes.",
    }),
  ),
  operationId: Type.Optional(Type.String({ description: "Id of an operation; * matches any characters." })),
  by: Type.Enum(["operation", "identity"], { default: "operation", description: "What has numbers of its own." }),
  limit: Type.Integer({ default: 100, minimum: 1, maximum: 10_000, description: "Maximum number of groups." }),
});

/** Output of `hub.stats`. */
export const statsOutput = Type.Object({
  since: Type.Number({ description: "Start of the period, in milliseconds since the epoch." }),
  until: Type.Number({ description: "End of the period, in milliseconds since the epoch." }),
  ...numbers,
  groups: Type.Array(Type.Object({ key: Type.String({ description: "The operation or caller." }), ...numbers }), {
    description: "The most called first.",
  }),
  series: Type.Optional(
    Type.Array(
      Type.Object({ at: Type.Number({ description: "Start, in milliseconds since the epoch." }), ...numbers }),
      { description: "Periods with calls; present with step." },
    ),
  ),
  isComplete: Type.Boolean({ description: "Whether all calls since the start of the period were counted." }),
  history: Type.Object({
    lost: Type.Integer({ description: "Number of calls that could not be stored." }),
    problem: Type.Optional(Type.String({ description: "Why calls cannot be stored at present." })),
  }),
});

/** Returns the conditions that select the caller's own calls, or all calls with `hub:admin`; `undefined` if it has none. */
function limitToOwn<T extends RecordConditions>(filter: T, { identity }: OperationContext): T | undefined {
  if (isAdmin(identity)) return filter;
  const isOwn = identity !== undefined && (filter.identity === undefined || filter.identity === identity.id);
  return isOwn ? { ...filter, identity: identity.id } : undefined;
}

/** Returns a page of recorded calls, the newest first. */
export function findPage(
  history: CallHistory,
  { operationId, ...input }: Omit<RecordFilter, "operations">,
  context: OperationContext,
) {
  const name = operationId?.includes("*") === true ? "operations" : "operationId";
  const filter = limitToOwn({ ...input, [name]: operationId }, context);
  if (filter === undefined) return { calls: [] };
  const { records, next } = history.records.find(filter);
  const { calls, isCut } = toCalls(history, records, context);
  const last = isCut ? calls.at(-1)!.id : next;
  return { calls, ...(last !== undefined && { next: last }) };
}

/** Finds a recorded or running call of the caller, or of any caller with `hub:admin`. */
export function findCall(
  history: CallHistory,
  { id, requestId }: Pick<RecordConditions, "id" | "requestId">,
  context: OperationContext,
): CallRecord | undefined {
  const filter = limitToOwn({ id, requestId, limit: 1 }, context);
  if (filter === undefined) return undefined;
  return history.findRunning(filter)[0] ?? history.records.find(filter).records[0];
}

/**
 * Returns a call and the calls below it, in the order of their start. Callers choose request ids and name parents, so calls
 * of other callers are left out, and those that started after the call that they name had ended.
 */
export function findTree(history: CallHistory, root: CallRecord, context: OperationContext) {
  const identity = root.identity ?? null;
  const since = root.startedAt - maxClockErrorMs;
  const before = root.id === undefined ? undefined : root.id + maxLaterCalls;
  const found = new Set([root]);
  let level: readonly CallRecord[] = [root];
  const expanded = new Map<string, CallRecord>();
  while (level.length > 0 && found.size <= maxTreeCalls) {
    const parents = level.map(({ requestId }) => requestId).filter((id) => !expanded.has(id));
    for (const call of level) expanded.set(call.requestId, call);
    const filter = { parents, identity, since, before, limit: maxTreeCalls };
    const below = [...history.findRunning(filter), ...history.records.find(filter).records];
    level = below.filter(
      (call) => !expanded.has(call.requestId) && isWithin(call, expanded.get(call.parentRequestId!)!),
    );
    for (const call of level) found.add(call);
  }
  const [, ...below] = found;
  below.sort((one, other) => one.startedAt - other.startedAt || other.duration - one.duration);
  const { calls, isCut } = toCalls(history, [root, ...below].slice(0, maxTreeCalls), context);
  return { calls, isCut: isCut || found.size > maxTreeCalls };
}

function isWithin({ startedAt }: CallRecord, parent: CallRecord): boolean {
  const isAfter = parent.status !== "running" && startedAt > parent.startedAt + parent.duration + maxClockErrorMs;
  return !isAfter && startedAt >= parent.startedAt - maxClockErrorMs;
}

/** Returns records with their payloads, as the caller sees them: as many as the payloads allow, and at least one. */
function toCalls(history: CallHistory, records: readonly CallRecord[], context: OperationContext) {
  let left = maxPayloads;
  const calls: ReturnType<typeof toCall>[] = [];
  for (const record of records) {
    const payload = history.records.payloadOf(record);
    left -= payload?.length ?? 0;
    if (left < 0 && calls.length > 0) return { calls, isCut: true };
    calls.push(toCall({ ...record, payload }, context));
  }
  return { calls, isCut: false };
}

/**
 * Returns a record as a caller sees it. The message of an unexpected error may describe the internals of the operation:
 * servers do not send it, and here it needs `hub:admin`.
 */
function toCall({ payload = "{}", ...call }: CallRecord, { identity }: OperationContext) {
  const { error, ...values }: CallPayload = JSON.parse(payload);
  const isUnexpected = call.code === "EXECUTION_ERROR" || call.code === "UNKNOWN_ERROR";
  const isShown = error !== undefined && (!isUnexpected || isAdmin(identity));
  return { ...call, ...values, ...(isShown && { error }) };
}

/** Returns whether a caller sees the calls of all callers. */
export function isAdmin(identity: Identity | undefined): boolean {
  return isOperator(identity) || identity?.scopes.includes(hubScopes.admin) === true;
}

interface StatsInput {
  since?: number;
  until?: number;
  step?: number;
  operationId?: string;
  by: "operation" | "identity";
  limit: number;
}

/** Counts calls of the caller, or of all callers with `hub:admin`. */
export async function countCalls(history: CallHistory, input: StatsInput, { identity }: OperationContext) {
  const floor = (value: number) => value - (value % minuteMs);
  const since = floor(input.since ?? Date.now() - hourMs);
  const until = floor((input.until ?? Date.now()) - 1) + minuteMs;
  const periods = Math.max(until - since, minuteMs);
  const step = Math.max(floor((input.step ?? periods) + minuteMs - 1), floor(periods / maxPeriods) + minuteMs);
  const all = new Summary();
  const groups = new Map<string, Summary>();
  const series = new Map<number, Summary>();
  const own = isAdmin(identity) ? undefined : (identity?.id ?? "");
  const query = { since, until, step, by: input.by, operation: input.operationId, identity: own };
  for (const { at, key, ...sum } of await history.records.count(query)) {
    all.add(sum);
    add(groups, key, sum);
    add(series, at, sum);
  }
  const byCalls = [...groups].sort(([, one], [, other]) => other.calls - one.calls).slice(0, input.limit);
  const byTime = [...series].sort(([one], [other]) => one - other);
  return {
    since,
    until,
    ...all.toJSON(),
    groups: byCalls.map(([key, sum]) => ({ key, ...sum.toJSON() })),
    ...(input.step !== undefined && { series: byTime.map(([at, sum]) => ({ at, ...sum.toJSON() })) }),
    isComplete: history.records.isCompleteSince(since),
    history: history.state,
  };
}

function add<K>(sums: Map<K, Summary>, key: K, sum: Parameters<Summary["add"]>[0]): void {
  const summary = sums.get(key) ?? new Summary();
  sums.set(key, summary);
  summary.add(sum);
}
