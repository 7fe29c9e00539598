import { EventEmitter, on } from "node:events";
import { onAbort } from "../internal/wait.ts";
import { CallError, type Identity, type OperationContext, Type } from "../operation/index.ts";
import type { OperationRegistry, RegistryCallEvent } from "../registry/index.ts";
import type { CallPayload, CallRecord, RecordFilter } from "./call-records.ts";
import type { History } from "./history.ts";
import { hubScopes } from "./rules.ts";

/** Maximum number of records among which `hub.call` looks for the calls that a call made. */
const maxTreeCalls = 10_000;
/** Maximum difference between the recorded start or end of two calls and their order, in ms. Times are rounded. */
const maxClockErrorMs = 2;
/** Number of records after that of a call among which `hub.call` looks for calls that it made and that ended later. */
const maxLaterCalls = 1_000;
/** Maximum number of events that a slow reader of `hub.calls` has not read. */
const maxUnreadEvents = 1_000;
const tooSlow = "The reader of hub.calls is too slow. Subscribe again, or to one operation.";

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

/** Finds records of the caller's own calls, or of all calls with `hub:admin`. */
export async function findOwn(
  history: Pick<History, "find">,
  filter: RecordFilter,
  { identity }: OperationContext,
): Promise<CallRecord[]> {
  if (isAdmin(identity)) return history.find(filter);
  const isOwn = identity !== undefined && (filter.identity === undefined || filter.identity === identity.id);
  return isOwn ? history.find({ ...filter, identity: identity.id }) : [];
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
  const others = nearby.filter((call) => call.identity === identity && call.id !== root.id);
  const byParent = groupBy(others, ({ parentRequestId }) => parentRequestId);
  const tree = new Set([root]);
  // The loop also visits the calls that it adds.
  for (const { requestId } of tree) for (const call of byParent.get(requestId) ?? []) tree.add(call);
  const [, ...below] = tree;
  below.sort((one, other) => one.startedAt - other.startedAt || other.duration - one.duration);
  return [root, ...below];
}

/**
 * Returns a record as a caller sees it. The message of an unexpected error may describe the internals of the operation:
 * servers do not send it, and here it needs `hub:admin`.
 */
export function toCall({ payload = "{}", ...call }: CallRecord, { identity }: OperationContext) {
  const status: "succeeded" | "failed" = call.code === undefined ? "succeeded" : "failed";
  const { error, ...values }: CallPayload = JSON.parse(payload);
  const isUnexpected = call.code === "EXECUTION_ERROR" || call.code === "UNKNOWN_ERROR";
  const isShown = error !== undefined && (!isUnexpected || isAdmin(identity));
  return { ...call, status, ...values, ...(isShown && { error }) };
}

function isAdmin(identity: Identity | undefined): boolean {
  return identity?.scopes.includes(hubScopes.admin) === true;
}

/** Counts records by operation, the most called first. */
export function toStats(since: number, records: readonly CallRecord[]) {
  const count = (calls: readonly CallRecord[]) => ({
    calls: calls.length,
    failed: calls.filter(({ code }) => code !== undefined).length,
  });
  const operations = Array.from(
    groupBy(records, (record) => record.operationId),
    ([operationId, calls]) => {
      const durations = calls.map(({ duration }) => duration).sort((one, other) => one - other);
      return {
        operationId,
        ...count(calls),
        meanDuration: durations.reduce((sum, duration) => sum + duration, 0) / calls.length,
        p95Duration: durations[Math.ceil(calls.length * 0.95) - 1]!,
        maxDuration: durations.at(-1)!,
      };
    },
  );
  operations.sort((one, other) => other.calls - one.calls);
  return { since, ...count(records), operations };
}

function groupBy<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

/** Yields the events of calls from now on: those of the caller, or of all callers with `hub:admin`. */
export async function* watchCalls(
  registry: OperationRegistry,
  operationId: string | undefined,
  { identity, signal }: OperationContext,
) {
  const seesAll = isAdmin(identity);
  const events = new EventEmitter();
  let unread = 0;
  const stop = registry.on("call", (event) => {
    if (event.kind === "progressed" || event.kind === "yielded") return;
    if (operationId !== undefined && event.operationId !== operationId) return;
    if (!seesAll && event.identity?.id !== identity?.id) return;
    unread += 1;
    if (unread <= maxUnreadEvents) return events.emit("call", toCallEvent(event));
    stop();
    events.emit("error", new CallError("OVERFLOW", tooSlow));
  });
  const stopWaiting = onAbort(signal, () => events.emit("end"));
  try {
    for await (const [event] of on(events, "call", { close: ["end"] })) {
      unread -= 1;
      yield event as ReturnType<typeof toCallEvent>;
    }
  } finally {
    stop();
    stopWaiting();
  }
}

function toCallEvent(event: Extract<RegistryCallEvent, { kind: "started" | "succeeded" | "failed" }>) {
  const { kind, requestId, parentRequestId, operationId, identity, timestamp } = event;
  const duration = kind === "started" ? undefined : event.duration;
  const code = kind === "failed" ? event.error.code : undefined;
  return { kind, requestId, parentRequestId, operationId, identity: identity?.id, timestamp, duration, code };
}
