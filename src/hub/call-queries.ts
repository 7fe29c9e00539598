import { onAbort } from "../internal/abort-listeners.ts";
import { CallError, type OperationContext, Type } from "../operation/index.ts";
import type { OperationRegistry, RegistryCallEvent } from "../registry/index.ts";
import { hubScopes } from "./access.ts";
import type { CallPayload, CallRecord, RecordFilter } from "./call-records.ts";
import type { History } from "./history.ts";

/** Maximum number of records among which `hub.call` looks for the calls that a call made. */
const maxTreeCalls = 10_000;
/** Maximum difference between the recorded start or end of two calls and their order, in ms. Times are rounded. */
const maxClockErrorMs = 2;
/** Number of records after that of a call among which `hub.call` looks for calls that it made and that ended later. */
const maxLaterCalls = 1_000;
/** Maximum number of events that a slow reader of `hub.calls` has not read. */
const maxUnreadEvents = 1_000;

const callFields = {
  requestId: Type.String(),
  parentRequestId: Type.Optional(Type.String({ description: "The call that made this call." })),
  operationId: Type.String(),
  identity: Type.Optional(Type.String({ description: "Id of the caller." })),
};

/** A recorded call. Input, output and error are present only where `payloads` matches. */
export const callSchema = Type.Object({
  id: Type.Integer({ description: "Identifies the record; later ones are greater." }),
  ...callFields,
  startedAt: Type.Number({ description: "In milliseconds since the epoch." }),
  duration: Type.Number({ description: "In milliseconds." }),
  status: Type.Enum(["succeeded", "failed"]),
  code: Type.Optional(Type.String({ description: "Code of the error." })),
  input: Type.Optional(Type.Unknown()),
  output: Type.Optional(Type.Unknown()),
  error: Type.Optional(Type.Object({ message: Type.String(), details: Type.Optional(Type.Unknown()) })),
});

/** An event of a call that starts or ends. */
export const callEventSchema = Type.Object({
  kind: Type.Enum(["started", "succeeded", "failed"]),
  ...callFields,
  timestamp: Type.Number({ description: "In milliseconds since the epoch." }),
  duration: Type.Optional(Type.Number({ description: "In milliseconds; missing when the call starts." })),
  code: Type.Optional(Type.String({ description: "Code of the error." })),
});

/** Numbers and durations of calls. */
export const statsSchema = Type.Object({
  since: Type.Number({ description: "Start of the period, in milliseconds since the epoch." }),
  calls: Type.Integer(),
  failed: Type.Integer(),
  operations: Type.Array(
    Type.Object({
      operationId: Type.String(),
      calls: Type.Integer(),
      failed: Type.Integer(),
      meanDuration: Type.Number({ description: "In milliseconds." }),
      p95Duration: Type.Number({ description: "95 % of the calls took at most this time, in milliseconds." }),
      maxDuration: Type.Number({ description: "In milliseconds." }),
    }),
  ),
  history: Type.Object({
    lost: Type.Integer({ description: "Number of calls that could not be stored." }),
    problem: Type.Optional(Type.String({ description: "Why calls cannot be stored at present." })),
  }),
});

/** Limits a filter to the caller's own calls unless it has `hub:admin`. `undefined` if it can match no call. */
export function restrictToOwn(filter: RecordFilter, { identity }: OperationContext): RecordFilter | undefined {
  if (identity === undefined) return undefined;
  if (identity.scopes.includes(hubScopes.admin)) return filter;
  return filter.identity === undefined || filter.identity === identity.id
    ? { ...filter, identity: identity.id }
    : undefined;
}

/**
 * Returns a call and the calls below it, in the order of their start. Callers choose request ids and name parents, so calls
 * of other callers are left out.
 */
export async function findTree(history: Pick<History, "find">, root: CallRecord): Promise<CallRecord[]> {
  const { identity } = root;
  const since = root.startedAt - maxClockErrorMs;
  // Most calls end before the call that made them. Those that continue are found if they end soon after it.
  const nearby = await history.find({ identity, since, before: root.id + maxLaterCalls, limit: maxTreeCalls });
  const calls = new Set([root]);
  const requestIds = new Set([root.requestId]);
  // Repeated, because a call can be recorded before or after the call that made it.
  for (let known = 0; known < calls.size; ) {
    known = calls.size;
    for (const call of nearby) {
      const isBelow = call.parentRequestId !== undefined && requestIds.has(call.parentRequestId);
      if (!isBelow || call.identity !== identity || call.id === root.id) continue;
      calls.add(call);
      requestIds.add(call.requestId);
    }
  }
  const [, ...below] = calls;
  below.sort((one, other) => one.startedAt - other.startedAt || other.duration - one.duration);
  return [root, ...below];
}

/** Returns a record as callers see it. */
export function toCall({ payload, parentRequestId, identity, code, ...call }: CallRecord) {
  return {
    ...call,
    ...(parentRequestId !== undefined && { parentRequestId }),
    ...(identity !== undefined && { identity }),
    status: code === undefined ? ("succeeded" as const) : ("failed" as const),
    ...(code !== undefined && { code }),
    ...(payload !== undefined && (JSON.parse(payload) as CallPayload)),
  };
}

/** Counts records by operation, the most called first. */
export function toStats(since: number, records: readonly CallRecord[]) {
  const byOperation = new Map<string, CallRecord[]>();
  for (const record of records) {
    const group = byOperation.get(record.operationId);
    if (group === undefined) byOperation.set(record.operationId, [record]);
    else group.push(record);
  }
  const countFailed = (calls: readonly CallRecord[]) => calls.filter(({ code }) => code !== undefined).length;
  const operations = Array.from(byOperation, ([operationId, calls]) => {
    const durations = calls.map(({ duration }) => duration).sort((one, other) => one - other);
    return {
      operationId,
      calls: calls.length,
      failed: countFailed(calls),
      meanDuration: durations.reduce((sum, duration) => sum + duration, 0) / calls.length,
      p95Duration: durations[Math.ceil(calls.length * 0.95) - 1]!,
      maxDuration: durations.at(-1)!,
    };
  });
  operations.sort((one, other) => other.calls - one.calls);
  return { since, calls: records.length, failed: countFailed(records), operations };
}

type EndedOrStarted = Extract<RegistryCallEvent, { kind: "started" | "succeeded" | "failed" }>;

/** Yields the events of calls from now on: those of the caller, or of all callers with `hub:admin`. */
export async function* watchCalls(
  registry: OperationRegistry,
  operationId: string | undefined,
  { identity, signal }: OperationContext,
) {
  const isAdmin = identity?.scopes.includes(hubScopes.admin) === true;
  const unread: Array<ReturnType<typeof toCallEvent>> = [];
  let wake = () => {};
  const stop = registry.on("call", (event) => {
    if (event.kind === "progressed" || event.kind === "yielded") return;
    if (operationId !== undefined && event.operationId !== operationId) return;
    if (!isAdmin && event.identity?.id !== identity?.id) return;
    if (unread.push(toCallEvent(event)) > maxUnreadEvents) stop();
    wake();
  });
  const stopWaiting = onAbort(signal, () => wake());
  try {
    while (!signal.aborted) {
      if (unread.length > maxUnreadEvents) {
        throw new CallError("OVERFLOW", "The reader of hub.calls is too slow. Subscribe again, or to one operation.");
      }
      const event = unread.shift();
      if (event !== undefined) yield event;
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    stop();
    stopWaiting();
  }
}

function toCallEvent(event: EndedOrStarted) {
  const { kind, requestId, parentRequestId, operationId, identity, timestamp } = event;
  return {
    kind,
    requestId,
    ...(parentRequestId !== undefined && { parentRequestId }),
    operationId,
    ...(identity !== undefined && { identity: identity.id }),
    timestamp,
    ...(event.kind !== "started" && { duration: event.duration }),
    ...(event.kind === "failed" && { code: event.error.code }),
  };
}
