import { truncate } from "../internal/text.ts";
import {
  accessDenied,
  checkScopes,
  defineNamespace,
  formatOperationId,
  type Identity,
  type IOperationDefinition,
  notServedNow,
  type OperationSpec,
  type OperationType,
  Type,
} from "../operation/inside.ts";
import { coreOf, type OperationEntry } from "../registry/inside.ts";
import {
  type CallHistory,
  callSchema,
  countCalls,
  findCall,
  findPage,
  findTree,
  historyInput,
  historyOutput,
  statsInput,
  statsOutput,
} from "./call-queries.ts";
import type { Hub } from "./hub.ts";
import { watchCalls } from "./live-calls.ts";
import { hubScopes } from "./rules.ts";

/** The parts of a hub that its own operations use. */
export type ManagedHub = Pick<Hub, "registry" | "sources" | "sourceOf" | "describe" | "reload">;

/** Ids of the operations whose calls are not recorded: reading the history would fill it. */
export const unrecordedOperations = [
  ...["operations", "sources", "sourceChanges", "history", "call", "calls", "stats"],
  ...["status", "check", "activity", "access"],
].map((name) => `hub.${name}`);

/** Maximum number of values of a filter that are counted. */
const maxFacets = 200;
/** Maximum length of a brief description. */
const maxBriefLength = 160;

const counts = Type.Record(Type.String(), Type.Integer());

/** The number of operations by the values of each filter. */
export const facetsSchema = Type.Object(
  { source: counts, namespace: counts, tag: counts, type: counts },
  { description: "Numbers of the operations that match the query, by the value of each filter; at most 200 each." },
);

/** Output of `hub.call`. */
export const callTreeSchema = Type.Object({
  calls: Type.Array(callSchema),
  isCut: Type.Boolean({ description: "Whether there are more calls below it." }),
});

const readAccess = { requiredScopes: [], requiredScopesAny: [hubScopes.read, hubScopes.admin] };

/** The state of a source. */
export const sourceStateSchema = Type.Object({
  name: Type.String(),
  kind: Type.Enum(["modules", "openapi", "mcp", "nats", "redis", "websocket"]),
  status: Type.Enum(["connecting", "ready", "retrying", "failed", "closed"]),
  since: Type.Number({ description: "When the status began, in milliseconds since the epoch." }),
  reason: Type.Optional(Type.String({ description: "Why the source is not available." })),
  nextAttempt: Type.Optional(
    Type.Number({ description: "When the hub tries again, in milliseconds since the epoch." }),
  ),
  operations: Type.Integer({ description: "Number of its operations." }),
  address: Type.Optional(Type.String({ description: "Where it is: a folder, a URL, or a program." })),
  report: Type.Optional(
    Type.Object(
      { imported: Type.Integer(), skipped: Type.Array(Type.String()), warnings: Type.Array(Type.String()) },
      { description: "What the last import left out or changed: at most 100 of each." },
    ),
  ),
});

const reloadSchema = Type.Object({
  added: Type.Array(Type.String(), { description: "Names of the sources that are new." }),
  restarted: Type.Array(Type.String(), { description: "Names of the sources whose configuration differs." }),
  removed: Type.Array(Type.String(), { description: "Names of the sources that were closed." }),
});

/** The operations with which the hub is managed, in the namespace `hub`. */
export function managementOperations(hub: ManagedHub, history: CallHistory): IOperationDefinition[] {
  const readers = new Map<string, number>();
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
        id: Type.Optional(
          Type.String({ description: "Only the operation with this id. Fails if the caller may not call it." }),
        ),
        source: Type.Optional(Type.String({ description: "Only operations of this source." })),
        namespace: Type.Optional(Type.String({ description: "Only operations with this namespace." })),
        tag: Type.Optional(Type.String({ description: "Only operations with this tag." })),
        type: Type.Optional(
          Type.Enum(["query", "mutation", "subscription"], { description: "Only operations of this type." }),
        ),
        offset: Type.Integer({
          default: 0,
          minimum: 0,
          description: "Number of operations to leave out, for the next page.",
        }),
        limit: Type.Optional(Type.Integer({ minimum: 1, description: "Maximum number of operations." })),
        tools: Type.Boolean({ default: false, description: "Adds what models see of each operation over MCP." }),
        facets: Type.Boolean({ default: false, description: "Adds the numbers of operations by each filter." }),
        brief: Type.Boolean({ default: false, description: "Omits the schemas of inputs, outputs and errors." }),
      }),
      outputSchema: Type.Object({
        operations: Type.Array(Type.Unknown({ description: "The spec of an operation, and the name of its source." })),
        total: Type.Integer({ description: "Number of operations that match, before the limit." }),
        facets: Type.Optional(facetsSchema),
      }),
      handler: (input, { identity }) => findOperations(hub, input, identity),
    }),
    define({
      name: "sources",
      type: "query",
      description: "Returns the states of all sources.",
      inputSchema: Type.Object({}),
      outputSchema: Type.Array(sourceStateSchema),
      handler: () => hub.sources(),
    }),
    define({
      name: "history",
      type: "query",
      description: "Returns recorded calls, the newest first: those of the caller, or of all callers with hub:admin.",
      inputSchema: historyInput,
      outputSchema: historyOutput,
      handler: (input, context) => findPage(history, input, context),
    }),
    define({
      name: "call",
      type: "query",
      description: "Returns a recorded or running call and the calls below it, the earliest first.",
      inputSchema: Type.Object({
        id: Type.Optional(Type.Integer({ description: "Id of the record." })),
        requestId: Type.Optional(
          Type.String({ description: "Id of the call, if it has no record yet. The newest one with this id." }),
        ),
      }),
      outputSchema: callTreeSchema,
      errors: { CALL_NOT_FOUND: Type.Object({}) },
      handler: (input, context) => {
        const hasKey = input.id !== undefined || input.requestId !== undefined;
        const root = hasKey ? findCall(history, input, context) : undefined;
        if (root !== undefined) return findTree(history, root, context);
        throw context.errors.CALL_NOT_FOUND({}, "No call with this id is recorded or running, or it is not yours.");
      },
    }),
    define({
      name: "calls",
      type: "subscription",
      description:
        "Reports each call when it starts, as a running one, and when it has ended: those of the caller, or of all callers with hub:admin.",
      inputSchema: Type.Object({
        operationId: Type.Optional(Type.String()),
        requestId: Type.Optional(Type.String({ description: "Only the call with this id and the calls below it." })),
      }),
      outputSchema: callSchema,
      handler: (filter, context) => watchCalls(history, readers, filter, context),
    }),
    define({
      name: "stats",
      type: "query",
      description: "Returns numbers and durations of calls, the most called operations or callers first.",
      inputSchema: statsInput,
      outputSchema: statsOutput,
      handler: (input, context) => countCalls(history, input, context),
    }),
    define({
      name: "reload",
      type: "mutation",
      description: "Reads the configuration file and changed modules again. An invalid configuration changes nothing.",
      accessControl: { requiredScopes: [hubScopes.admin] },
      inputSchema: Type.Object({}),
      outputSchema: reloadSchema,
      handler: () => hub.reload(),
    }),
  ];
}

/** Input of `hub.operations`. */
interface OperationQuery {
  query?: string;
  id?: string;
  source?: string;
  namespace?: string;
  tag?: string;
  type?: OperationType;
  offset: number;
  limit?: number;
  brief: boolean;
  facets: boolean;
  tools: boolean;
}

function findOperations(hub: ManagedHub, input: OperationQuery, identity: Identity | undefined) {
  const { query = "", id, limit, offset, brief } = input;
  const core = coreOf(hub.registry);
  const { operations: all } = core;
  if (id !== undefined && !all.has(id) && core.mayAppear(id)) throw notServedNow(id); // As a call of the operation does.
  // Only a search by words needs the index. Without words, the operations of the hub itself come last.
  const ids = query.trim() === "" ? [...all.keys()].sort(byOwner) : core.search(query, {}).map(toId);
  const visible = [...(id === undefined ? ids : [id])].flatMap((one) => {
    const entry = all.get(one);
    if (entry?.handler === undefined) return [];
    const decision = checkScopes(entry.access, identity);
    if (decision !== true && id !== undefined) throw accessDenied(id, decision); // Likewise.
    return decision === true ? [{ entry, source: hub.sourceOf(one) }] : [];
  });
  const found = visible.filter(({ entry: { spec }, source }) => {
    if (input.source !== undefined && source !== input.source) return false;
    if (input.namespace !== undefined && spec.namespace !== input.namespace) return false;
    if (input.type !== undefined && spec.type !== input.type) return false;
    return input.tag === undefined || spec.tags?.includes(input.tag) === true;
  });
  const kinds = new Map(hub.sources().map(({ name, kind }) => [name, kind]));
  const operations = found.slice(offset, limit === undefined ? undefined : offset + limit).map(({ entry, source }) => ({
    ...(brief ? withoutSchemas(entry.spec) : entry.published),
    ...(source !== undefined && { source, kind: kinds.get(source) }),
    ...(id !== undefined && hub.describe(id)),
    ...(input.tools && { tool: hub.describe(entry.id).tool }),
  }));
  return { operations, total: found.length, ...(input.facets && { facets: countFacets(visible) }) };
}

function byOwner(one: string, other: string): number {
  return Number(one.startsWith("hub.")) - Number(other.startsWith("hub."));
}

function countFacets(found: ReadonlyArray<{ entry: OperationEntry; source: string | undefined }>) {
  const facets = { source: new Map<string, number>(), namespace: new Map(), tag: new Map(), type: new Map() };
  const count = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1);
  for (const { entry, source } of found) {
    const { namespace, type, tags = [] } = entry.spec;
    if (source !== undefined) count(facets.source, source);
    count(facets.namespace, namespace);
    count(facets.type, type);
    for (const tag of tags) count(facets.tag, tag);
  }
  const most = (counts: Map<string, number>) =>
    Object.fromEntries([...counts].sort(([, one], [, other]) => other - one).slice(0, maxFacets));
  return {
    source: most(facets.source),
    namespace: most(facets.namespace),
    tag: most(facets.tag),
    type: most(facets.type),
  };
}

function toId({ namespace, name }: OperationSpec): string {
  return formatOperationId(namespace, name);
}

/** The first line is what lists show. */
function withoutSchemas({ namespace, name, version, type, title, description: whole, tags }: OperationSpec) {
  const description = truncate(whole.trim().split("\n", 1)[0]!, maxBriefLength);
  const spec = { namespace, name, version, type, description };
  return { ...spec, ...(title !== undefined && { title }), ...(tags !== undefined && { tags }) };
}
