import type { Static } from "typebox";
import type { OperationSource } from "../from/source.ts";
import { onAbort } from "../internal/abort-listeners.ts";
import {
  CallError,
  checkScopes,
  defineNamespace,
  formatOperationId,
  type Identity,
  type IOperationDefinition,
  type OperationContext,
  type OperationSpec,
  Type,
} from "../operation/index.ts";
import { coreOf, type OperationRegistry, type RegistryCallEvent } from "../registry/index.ts";
import { hubScopes } from "./access.ts";
import type { CallPayload, CallRecord, RecordFilter } from "./call-records.ts";
import type { History } from "./history.ts";

/** The parts of a hub that its own operations use. */
export interface ManagedHub {
  /** The registry of the hub. */
  readonly registry: OperationRegistry;
  /** What is recorded about calls. */
  history(): Pick<History, "find" | "state">;
  /** The states of all sources. */
  sources(): readonly Static<typeof sourceStateSchema>[];
  /** Name of the source of an operation; `undefined` for an operation of the hub itself. */
  sourceOf?(operationId: string): string | undefined;
  /** Reads the configuration file again and applies it. Rejects and changes nothing if it is invalid. */
  reload(): Promise<Static<typeof reloadSchema>>;
}

/** Ids of the operations whose calls are not recorded: reading the history would fill it. */
export const unrecordedOperations = ["operations", "sources", "history", "call", "calls", "stats"].map(
  (name) => `hub.${name}`,
);

/** Maximum number of records among which `hub.call` looks for the calls that a call made. */
const maxTreeCalls = 10_000;
/** Number of records after that of a call among which `hub.call` looks for calls that it made and that ended later. */
const maxLaterCalls = 1_000;
/** Maximum number of calls from which `hub.stats` is computed. */
const maxStatsCalls = 10_000;
/** Maximum number of events that a slow reader of `hub.calls` has not read. */
const maxUnreadEvents = 1_000;
const hourMs = 3_600_000;

const readAccess = { requiredScopes: [], requiredScopesAny: [hubScopes.read, hubScopes.admin] };

const sourceStateSchema = Type.Object({
  name: Type.String(),
  kind: Type.Enum(["modules", "openapi", "mcp", "nats", "redis", "websocket"]),
  status: Type.Enum(["connecting", "ready", "retrying", "failed"]),
  since: Type.Number({ description: "When the status began, in milliseconds since the epoch." }),
  reason: Type.Optional(Type.String({ description: "Why the source is not available." })),
  nextAttempt: Type.Optional(
    Type.Number({ description: "When the hub tries again, in milliseconds since the epoch." }),
  ),
  operations: Type.Integer({ description: "Number of its operations." }),
});

const reloadSchema = Type.Object({
  added: Type.Array(Type.String(), { description: "Names of the sources that are new." }),
  restarted: Type.Array(Type.String(), { description: "Names of the sources whose configuration differs." }),
  removed: Type.Array(Type.String(), { description: "Names of the sources that were closed." }),
});

const callFields = {
  requestId: Type.String(),
  parentRequestId: Type.Optional(Type.String({ description: "The call that made this call." })),
  operationId: Type.String(),
  identity: Type.Optional(Type.String({ description: "Id of the caller." })),
};

const callSchema = Type.Object({
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

const callEventSchema = Type.Object({
  kind: Type.Enum(["started", "succeeded", "failed"]),
  ...callFields,
  timestamp: Type.Number({ description: "In milliseconds since the epoch." }),
  duration: Type.Optional(Type.Number({ description: "In milliseconds; missing when the call starts." })),
  code: Type.Optional(Type.String({ description: "Code of the error." })),
});

const statsSchema = Type.Object({
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

/** The operations with which the hub is managed, in the namespace `hub`. Follow it before all other sources. */
export function managementSource(hub: ManagedHub): OperationSource {
  return { name: "hub", load: async () => managementOperations(hub), close: async () => {} };
}

function managementOperations(hub: ManagedHub): IOperationDefinition[] {
  const define = defineNamespace("hub", { accessControl: readAccess });
  return [
    define({
      name: "operations",
      type: "query",
      description: "Finds the operations that the caller may call, best match first.",
      // Without scopes, because it returns only what the caller may see.
      accessControl: { requiredScopes: [] },
      inputSchema: Type.Object({
        query: Type.Optional(Type.String({ description: "Words to search for. All operations without it." })),
        id: Type.Optional(Type.String({ description: "Only the operation with this id." })),
        limit: Type.Optional(Type.Integer({ minimum: 1, description: "Maximum number of operations." })),
        brief: Type.Boolean({ default: false, description: "Omits the schemas of inputs, outputs and errors." }),
      }),
      outputSchema: Type.Object({
        operations: Type.Array(Type.Unknown({ description: "The spec of an operation, and the name of its source." })),
        total: Type.Integer({ description: "Number of operations that match, before the limit." }),
      }),
      handler: (input, { identity }) => findOperations(hub, input, identity),
    }),
    define({
      name: "sources",
      type: "query",
      description: "Returns the states of all sources.",
      inputSchema: Type.Object({}),
      outputSchema: Type.Array(sourceStateSchema),
      handler: () => hub.sources().map((source) => ({ ...source })),
    }),
    define({
      name: "history",
      type: "query",
      description: "Returns recorded calls, the newest first: those of the caller, or of all callers with hub:admin.",
      inputSchema: Type.Object({
        operationId: Type.Optional(Type.String()),
        status: Type.Optional(Type.Enum(["succeeded", "failed"])),
        identity: Type.Optional(Type.String({ description: "Only calls of this caller." })),
        before: Type.Optional(Type.Integer({ description: "Only records with a smaller id, for the next page." })),
        limit: Type.Integer({ default: 50, minimum: 1, maximum: 1_000 }),
      }),
      outputSchema: Type.Array(callSchema),
      handler: async (input, context) => {
        const filter = restrictToOwn(input, context);
        return filter === undefined ? [] : (await hub.history().find(filter)).map(toCall);
      },
    }),
    define({
      name: "call",
      type: "query",
      description: "Returns a recorded call, and the calls that it made, in the order in which they started.",
      inputSchema: Type.Object({ requestId: Type.String() }),
      outputSchema: Type.Array(callSchema),
      errors: { CALL_NOT_FOUND: Type.Object({ requestId: Type.String() }) },
      handler: async ({ requestId }, context) => {
        const filter = restrictToOwn({ requestId, limit: 1 }, context);
        const [root] = filter === undefined ? [] : await hub.history().find(filter);
        if (root !== undefined) return (await findTree(hub.history(), root)).map(toCall);
        throw context.errors.CALL_NOT_FOUND({ requestId }, "No call with this id is recorded, or it is not yours.");
      },
    }),
    define({
      name: "calls",
      type: "subscription",
      description: "Reports calls when they start and end: those of the caller, or of all callers with hub:admin.",
      inputSchema: Type.Object({ operationId: Type.Optional(Type.String()) }),
      outputSchema: callEventSchema,
      handler: ({ operationId }, context) => watchCalls(hub.registry, operationId, context),
    }),
    define({
      name: "stats",
      type: "query",
      description: "Returns numbers and durations of recorded calls by operation, the most called first.",
      inputSchema: Type.Object({
        since: Type.Optional(Type.Number({ description: "In milliseconds since the epoch; an hour ago without it." })),
      }),
      outputSchema: statsSchema,
      handler: async ({ since = Date.now() - hourMs }, context) => {
        const filter = restrictToOwn({ since, limit: maxStatsCalls }, context);
        const stats = toStats(since, filter === undefined ? [] : await hub.history().find(filter));
        return { ...stats, history: hub.history().state };
      },
    }),
    define({
      name: "reload",
      type: "mutation",
      description: "Reads the configuration file again. An invalid configuration changes nothing.",
      accessControl: { requiredScopes: [hubScopes.admin] },
      inputSchema: Type.Object({}),
      outputSchema: reloadSchema,
      handler: () => hub.reload(),
    }),
  ];
}

/** Limits a filter to the caller's own calls unless it has `hub:admin`. `undefined` if it can match no call. */
function restrictToOwn(filter: RecordFilter, { identity }: OperationContext): RecordFilter | undefined {
  if (identity === undefined) return undefined;
  if (identity.scopes.includes(hubScopes.admin)) return filter;
  return filter.identity === undefined || filter.identity === identity.id
    ? { ...filter, identity: identity.id }
    : undefined;
}

function findOperations(
  hub: ManagedHub,
  { query = "", id, limit, brief }: { query?: string; id?: string; limit?: number; brief: boolean },
  identity: Identity | undefined,
) {
  const core = coreOf(hub.registry);
  const { operations: all } = core;
  // Only a search by words needs the index.
  const ids = query.trim() === "" ? all.keys() : core.search(query, {}).map(toId);
  const found = [...(id === undefined ? ids : [id])].flatMap((one) => {
    const entry = all.get(one);
    return entry?.handler !== undefined && checkScopes(entry.access, identity) === true ? [entry] : [];
  });
  const operations = found.slice(0, limit).map((entry) => {
    const source = hub.sourceOf?.(entry.id);
    const spec = brief ? withoutSchemas(entry.spec) : entry.published;
    return source === undefined ? spec : { ...spec, source };
  });
  return { operations, total: found.length };
}

function toId({ namespace, name }: OperationSpec): string {
  return formatOperationId(namespace, name);
}

function withoutSchemas({ namespace, name, version, type, title, description, tags }: OperationSpec) {
  const spec = { namespace, name, version, type, description };
  return { ...spec, ...(title !== undefined && { title }), ...(tags !== undefined && { tags }) };
}

/**
 * Returns a call and the calls below it, in the order of their start. Callers choose request ids and name parents, so calls
 * of other callers are left out.
 */
async function findTree(history: Pick<History, "find">, root: CallRecord): Promise<CallRecord[]> {
  const { identity, startedAt: since } = root;
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
  return [...calls].sort((one, other) => one.startedAt - other.startedAt || other.duration - one.duration);
}

function toCall({ payload, parentRequestId, identity, code, ...call }: CallRecord) {
  return {
    ...call,
    ...(parentRequestId !== undefined && { parentRequestId }),
    ...(identity !== undefined && { identity }),
    status: code === undefined ? ("succeeded" as const) : ("failed" as const),
    ...(code !== undefined && { code }),
    ...(payload !== undefined && (JSON.parse(payload) as CallPayload)),
  };
}

function toStats(since: number, records: readonly CallRecord[]) {
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

async function* watchCalls(
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
