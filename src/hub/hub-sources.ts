import { peerSource } from "../call/index.ts";
import { type MCPServerState, mcpSource } from "../from/mcp/index.ts";
import { openAPISource } from "../from/openapi/index.ts";
import { canonicalJSON } from "../internal/canonical-json.ts";
import { logger, warnVisibly } from "../internal/log.ts";
import { quote } from "../internal/text.ts";
import { moduleSource } from "../node/index.ts";
import { CallError } from "../operation/index.ts";
import type { OperationRegistry } from "../registry/index.ts";
import { createNATSTransport } from "../transport/nats/index.ts";
import { createRedisTransport } from "../transport/redis/index.ts";
import { createWebSocketTransport } from "../transport/websocket/index.ts";
import type { BusTrust, HubRule, ResolvedConfig, SourceOptions, WithoutEnv } from "./config.ts";
import { openBus, watchLink } from "./hub-bus.ts";
import type { ConnectionChange, OpenedSource, SourceKind, SourcePlan } from "./hub-source.ts";
import { loadMCPConfig } from "./mcp-config.ts";

const log = logger("hub");

/** The kinds of sources whose operations are announced by peers. */
const peerKinds: readonly SourceKind[] = ["nats", "redis", "websocket"];

type ResolvedSource = NonNullable<ResolvedConfig["sources"]>[string];
type SourceOf<Key extends string> = Extract<ResolvedSource, Record<Key, unknown>>;

/** What sources need to be opened. */
export interface PlanContext {
  readonly registry: OperationRegistry;
  /** Whether modules are loaded again when they change. */
  readonly watchesModules: boolean;
  readonly isLogging: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Called when a file that could not be read before can be read now, so that the sources have to be planned again. */
  onReadable(): void;
}

/**
 * Plans the sources of a configuration, in its order. Each server of a file of `mcpConfig` is a source of its own. Throws
 * `VALIDATION_ERROR` for sources that can never be opened. Opens nothing.
 */
export async function planSources(
  sources: NonNullable<ResolvedConfig["sources"]>,
  context: PlanContext,
): Promise<SourcePlan[]> {
  const entries = Object.entries(sources);
  assertBuses(entries);
  const plans = await Promise.all(entries.map(([name, source]) => planSource(name, source, context)));
  return plans.flat();
}

async function planSource(name: string, source: ResolvedSource, context: PlanContext): Promise<SourcePlan[]> {
  if ("mcpConfig" in source) return planServers(name, source, context);
  if ("modules" in source) {
    const open = () => ({ source: moduleSource(source.modules, { watch: context.watchesModules }) });
    return [toPlan(name, "modules", source, open)];
  }
  if ("openapi" in source) return [planOpenAPI(name, source)];
  if ("mcp" in source) return [planMCP(name, name, source, source.mcp)];
  if ("nats" in source) {
    const { sign, trustedBus, serve, ...options } = source.nats;
    const open = async () => openBus(await createNATSTransport(options), { sign, trustedBus, serve }, context.registry);
    return [toPlan(name, "nats", source, open)];
  }
  if ("redis" in source) {
    const { sign, trustedBus, serve, ...options } = source.redis;
    const open = async () =>
      openBus(await createRedisTransport(options), { sign, trustedBus, serve }, context.registry);
    return [toPlan(name, "redis", source, open)];
  }
  const { url, auth } = source.websocket;
  const open = async () => {
    const transport = await createWebSocketTransport(url, { token: auth?.token });
    return { source: peerSource(transport), ...watchLink(transport) };
  };
  return [toPlan(name, "websocket", source, open)];
}

/** Creates a plan for a source whose operations keep their own namespaces, unless `namespace` is known. */
function toPlan(
  name: string,
  kind: SourceKind,
  source: ResolvedSource,
  open: SourcePlan["open"],
  namespace?: string,
): SourcePlan {
  const { include, exclude, rename, accessControl } = source;
  const options: SourceOptions & { name: string } = { name };
  if (include !== undefined) options.include = withNamespace(include, namespace);
  if (exclude !== undefined) options.exclude = withNamespace(exclude, namespace);
  if (rename !== undefined) options.rename = rename;
  if (accessControl !== undefined) options.accessControl = accessControl;
  // A source with a known namespace creates its operations in it.
  if (namespace === undefined && source.namespace !== undefined) options.namespace = source.namespace;
  return { name, kind, config: source, namespace: namespace ?? source.namespace, options, open };
}

/** Adds the patterns with the namespace in front, so that names alone select operations too. */
function withNamespace(patterns: readonly string[], namespace: string | undefined): readonly string[] {
  if (namespace === undefined) return patterns;
  return patterns.flatMap((pattern) => [pattern, `${namespace}.${pattern}`]);
}

function planOpenAPI(name: string, source: SourceOf<"openapi">): SourcePlan {
  const { openapi, trust, include: _, exclude: _2, rename: _3, accessControl: _4, namespace, ...service } = source;
  if (trust !== undefined) {
    const trusted = { ...service, trust, ...(namespace !== undefined && { namespace }) };
    return toPlan(name, "openapi", source, () => ({ source: openAPISource(openapi, trusted) }));
  }
  const config = { ...service, namespace: namespace ?? name };
  return toPlan(name, "openapi", source, () => ({ source: openAPISource(openapi, config) }), config.namespace);
}

function planMCP(name: string, server: string, source: ResolvedSource, config: SourceOf<"mcp">["mcp"]): SourcePlan {
  const namespace = source.namespace ?? server;
  const open = () => openMCP({ ...config, name: namespace });
  const plan = toPlan(name, "mcp", source, open, config.trust === undefined ? namespace : undefined);
  return { ...plan, config: { source, config } };
}

function openMCP(config: Parameters<typeof mcpSource>[0]): OpenedSource {
  const source = mcpSource(config);
  return {
    source,
    onConnectionChange: (listener) => {
      const { connection } = source.client!;
      const report = (state: MCPServerState) => {
        const change = toConnectionChange(state);
        if (change !== undefined) listener(change);
      };
      if (connection.state.status !== "ready") report(connection.state);
      return connection.onStateChange(report);
    },
    reconnect: () => source.client!.connection.reconnect(),
  };
}

function toConnectionChange({ status, error }: MCPServerState): ConnectionChange | undefined {
  switch (status) {
    case "ready":
      return { status };
    case "restarting":
      return { status: "retrying", error };
    case "failed":
      return { status, error };
    default:
      return undefined; // It is starting or was closed, which the hub did itself.
  }
}

/** Plans one source for each server of a file. A file or server that cannot be used is a source that fails. */
async function planServers(name: string, source: SourceOf<"mcpConfig">, context: PlanContext): Promise<SourcePlan[]> {
  const { environment, onReadable } = context;
  const { file, servers: names } = source.mcpConfig;
  const load = () => loadMCPConfig(file, { environment, servers: names });
  try {
    const { servers, skipped, warnings } = await load();
    if (context.isLogging)
      warnVisibly(
        log,
        warnings.map(({ where, reason }) => ({
          message: "{where} in {file}: {reason}",
          properties: { where, file, reason },
        })),
      );
    const plans = Object.entries(servers).map(([server, config]) => {
      const plan = planMCP(`${name}/${server}`, server, source, config);
      return { ...plan, options: { ...plan.options, name } };
    });
    const invalid = skipped.filter(({ isDisabled }) => isDisabled !== true || names !== undefined);
    const missing = (names ?? []).filter(
      (server) => ![...Object.keys(servers), ...skipped.map((it) => it.server)].includes(server),
    );
    return [
      ...plans,
      ...invalid.map(({ server, where, reason }) =>
        planUnusable(`${name}/${server}`, source, `${quote(where)} in ${quote(file)} cannot be used: ${reason}`),
      ),
      ...missing.map((server) =>
        planUnusable(`${name}/${server}`, source, `${quote(file)} has no server ${quote(server)}.`),
      ),
    ];
  } catch {
    const open = async () => {
      await load();
      onReadable();
      throw new CallError("UNAVAILABLE", `The file ${quote(file)} is being read again.`, undefined, {
        retryable: true,
      });
    };
    return [toPlan(name, "mcp", source, open)];
  }
}

function planUnusable(name: string, source: SourceOf<"mcpConfig">, problem: string): SourcePlan {
  const message = `${problem} Change the file, then reload the hub.`;
  const plan = toPlan(name, "mcp", source, () => Promise.reject(new CallError("VALIDATION_ERROR", message)));
  return { ...plan, config: { source, problem } };
}

/**
 * Returns the rules for the operations of each source. Peers choose the namespaces of their operations, so those of the hub
 * and of the other sources are denied to them.
 */
export function createRules(
  rules: readonly HubRule[] = [],
  plans: readonly SourcePlan[],
): (plan: SourcePlan) => readonly HubRule[] {
  const namespaces = new Set(["hub", ...plans.flatMap(({ namespace }) => namespace ?? [])]);
  const reserved = Array.from(namespaces, (namespace) => ({ match: `${namespace}.*`, deny: true }));
  return ({ kind, namespace }) =>
    namespace === undefined && peerKinds.includes(kind) ? [...rules, ...reserved] : rules;
}

/** Returns the buses among the sources, each with a key that is the same for the same bus. */
function findBuses(entries: ReadonlyArray<[string, ResolvedSource]>) {
  const buses: Array<{ name: string; trust: WithoutEnv<BusTrust>; address: string }> = [];
  for (const [name, source] of entries) {
    if ("nats" in source) {
      const { servers, connect, prefix } = source.nats;
      buses.push({ name, trust: source.nats, address: canonicalJSON(["nats", connect?.servers ?? servers, prefix]) });
    }
    if ("redis" in source) {
      const { url, prefix } = source.redis;
      buses.push({ name, trust: source.redis, address: canonicalJSON(["redis", url, prefix]) });
    }
  }
  return buses;
}

function assertBuses(entries: ReadonlyArray<[string, ResolvedSource]>): void {
  const buses = findBuses(entries);
  for (const { name, trust, address } of buses) {
    const other = buses.find((bus) => bus.address === address && bus.name !== name);
    if (other !== undefined && trust.serve === true) {
      throw invalid(
        `The sources ${quote(name)} and ${quote(other.name)} use the same bus. Combine them in one source: operations ` +
          "that came from a bus are never served on it.",
      );
    }
  }
}

function invalid(message: string): CallError {
  return new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: false });
}
