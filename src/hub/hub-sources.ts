import { delimiter } from "node:path";
import { peerSource } from "../call/index.ts";
import { type MCPServerState, mcpSource } from "../from/mcp/index.ts";
import { openAPISource } from "../from/openapi/index.ts";
import { canonicalJSON } from "../internal/canonical-json.ts";
import { logger, warnVisibly } from "../internal/log.ts";
import { quote } from "../internal/text.ts";
import { isLoopbackHost } from "../internal/urls.ts";
import { moduleSource } from "../node/index.ts";
import { CallError, toNamespace, unavailable } from "../operation/inside.ts";
import type { FollowOptions } from "../registry/index.ts";
import { createNATSTransport } from "../transport/nats/index.ts";
import { createRedisTransport } from "../transport/redis/index.ts";
import { createWebSocketTransport } from "../transport/websocket/index.ts";
import type { ResolvedConfig } from "./config.ts";
import { openBus, watchLink } from "./hub-bus.ts";
import type { OpenedSource, SourceHost, SourceKind, SourcePlan } from "./hub-source.ts";
import { loadMCPConfig } from "./mcp-config.ts";

const log = logger("hub");

type ResolvedSource = NonNullable<ResolvedConfig["sources"]>[string];
type SourceOf<Key extends string> = Extract<ResolvedSource, Record<Key, unknown>>;
type MCPConfig = SourceOf<"mcp">["mcp"];

/**
 * Plans the sources of a configuration, in its order. Each server of a file of `mcpConfig` is a source of its own. Throws
 * `VALIDATION_ERROR` for sources that can never be opened. Opens nothing.
 */
export async function planSources({ sources = {} }: ResolvedConfig, host: SourceHost): Promise<SourcePlan[]> {
  const entries = Object.entries(sources);
  assertBuses(entries);
  toProgramVariables(host); // A hub must not start itself.
  return (await Promise.all(entries.map(([name, source]) => planSource(name, source, host)))).flat();
}

function planSource(name: string, source: ResolvedSource, host: SourceHost): SourcePlan | Promise<SourcePlan[]> {
  const { registry, watchesModules: watch } = host;
  if ("mcpConfig" in source) return planServers(name, source, host);
  if ("mcp" in source) return planMCP(name, name, name, source, source.mcp, host);
  if ("openapi" in source) return planOpenAPI(name, source, host);
  if ("modules" in source) {
    return toPlan(name, "modules", source, () => {
      const modules = moduleSource(source.modules, { watch });
      return { source: modules, reload: () => modules.reload() };
    });
  }
  if ("nats" in source) {
    return toPlan(name, "nats", source, () => openBus(source.nats, createNATSTransport, registry));
  }
  if ("redis" in source) {
    return toPlan(name, "redis", source, () => openBus(source.redis, createRedisTransport, registry));
  }
  const { url, auth } = source.websocket;
  return toPlan(name, "websocket", source, async () => {
    assertOther(name, url, host);
    const transport = await createWebSocketTransport(url, { token: auth?.token });
    return { source: peerSource(transport), ...watchLink(transport) };
  });
}

/** @param details - The namespace in which the source creates its operations, and what differs from its configuration. */
function toPlan(
  name: string,
  kind: SourceKind,
  source: ResolvedSource,
  open: SourcePlan["open"],
  details: {
    namespace?: string | undefined;
    alias?: string;
    scope?: string;
    config?: unknown;
    isTrusted?: boolean;
  } = {},
): SourcePlan {
  const { namespace, alias, scope = name, config = source, isTrusted = false } = details;
  const { include, exclude, rename, accessControl = { requiredScopes: [scope] } } = source;
  const options: FollowOptions = { accessControl };
  if (include !== undefined) options.include = include;
  if (exclude !== undefined) options.exclude = exclude;
  if (rename !== undefined) options.rename = rename;
  const known = namespace ?? source.namespace;
  if (known !== undefined) options.namespace = known;
  const isForeign = isTrusted || kind === "nats" || kind === "redis" || kind === "websocket";
  const sharesOptions = "mcpConfig" in source;
  const address = addressOfSource(source, config);
  return { name, kind, address, isForeign, config, namespace: known, alias, options, sharesOptions, open };
}

/** Returns where a source is, for people. A URL loses what may be a secret: user, password and query. */
function addressOfSource(source: ResolvedSource, config: unknown): string | undefined {
  if ("modules" in source) return source.modules;
  if ("openapi" in source) return withoutSecrets(source.openapi);
  if ("websocket" in source) return withoutSecrets(source.websocket.url);
  const { command, url } = ((config as { config?: MCPConfig }).config ?? {}) as { command?: string; url?: string };
  if ("mcp" in source || "mcpConfig" in source) return command ?? (url === undefined ? undefined : withoutSecrets(url));
  const given = "nats" in source ? source.nats.servers : source.redis.url;
  return [given ?? []].flat().map(withoutSecrets).join(", ") || undefined;
}

function withoutSecrets(address: string): string {
  if (!URL.canParse(address)) return address;
  const url = new URL(address);
  return `${url.protocol}//${url.host}${url.pathname}`;
}

function planOpenAPI(name: string, source: SourceOf<"openapi">, host: SourceHost): SourcePlan {
  const { openapi, trust, include: _, exclude: _2, rename: _3, accessControl: _4, namespace: _5, ...service } = source;
  const namespace = trust === undefined ? (source.namespace ?? name) : undefined; // A trusted server chooses them.
  const config = trust === undefined ? { ...service, namespace: namespace! } : { ...service, trust };
  const open = () => {
    assertOther(name, openapi, host);
    return { source: openAPISource(openapi, config) };
  };
  return toPlan(name, "openapi", source, open, { namespace, alias: name, isTrusted: trust !== undefined });
}

/** @param scope - Name of the source in the configuration, which may contain several servers. */
function planMCP(
  name: string,
  scope: string,
  server: string,
  source: ResolvedSource,
  config: MCPConfig,
  host: SourceHost,
): SourcePlan {
  const namespace = toNamespace(source.namespace ?? server);
  const open = () => {
    assertOther(name, config.url, host);
    const env = { ...config.env, ...toProgramVariables(host) };
    return openMCP({ ...config, ...(config.command !== undefined && { env }), name: namespace });
  };
  return toPlan(name, "mcp", source, open, {
    namespace: config.trust === undefined ? namespace : undefined,
    alias: server,
    scope,
    config: { source, config },
    isTrusted: config.trust !== undefined,
  });
}

function openMCP(config: Parameters<typeof mcpSource>[0]): OpenedSource {
  const source = mcpSource(config);
  return {
    source,
    watch: (listener) => {
      const { connection } = source.client!;
      const report = ({ status, error }: MCPServerState) => {
        if (status === "ready") listener();
        else if (status !== "starting" && status !== "closed") {
          const problem = error ?? unavailable("The connection to the server was lost.", { mayHaveRun: true });
          listener(problem, status === "failed");
        }
      };
      if (connection.state.status !== "ready") report(connection.state);
      connection.onStateChange(report);
    },
    reconnect: () => source.client!.connection.reconnect(),
  };
}

/** Plans one source for each server of a file. A file or server that cannot be used is a source that fails. */
async function planServers(name: string, source: SourceOf<"mcpConfig">, host: SourceHost): Promise<SourcePlan[]> {
  const { file, servers: wanted } = source.mcpConfig;
  const load = () => loadMCPConfig(file, { environment: host.environment, servers: wanted });
  let loaded: Awaited<ReturnType<typeof load>>;
  try {
    loaded = await load();
  } catch {
    const open = async () => {
      await load();
      host.onReadable();
      throw unavailable(`The file ${quote(file)} is being read again.`, { mayHaveRun: false });
    };
    return [toPlan(name, "mcp", source, open)];
  }
  const { servers, skipped, warnings } = loaded;
  const message = "{where} in {file}: {reason}";
  const shown = warnings.map(({ where, reason }) => ({ message, properties: { where, file, reason } }));
  if (host.isLogging) warnVisibly(log, shown);
  const problems = new Map<string, string>();
  for (const server of wanted ?? []) {
    if (!Object.hasOwn(servers, server)) problems.set(server, `${quote(file)} has no server ${quote(server)}.`);
  }
  for (const { server, where, reason, isDisabled } of skipped) {
    if (isDisabled === true && wanted === undefined) continue;
    problems.set(server, `${quote(where)} in ${quote(file)} cannot be used: ${reason}`);
  }
  return [
    ...Object.entries(servers).map(([server, config]) =>
      planMCP(`${name}/${server}`, name, server, source, config, host),
    ),
    ...Array.from(problems, ([server, problem]) => planUnusable(name, server, source, problem)),
  ];
}

function planUnusable(name: string, server: string, source: SourceOf<"mcpConfig">, problem: string): SourcePlan {
  const error = new CallError("VALIDATION_ERROR", `${problem} Change the file, then reload the hub.`);
  const namespace = toNamespace(source.namespace ?? server);
  return toPlan(`${name}/${server}`, "mcp", source, () => Promise.reject(error), {
    namespace,
    config: { source, problem },
  });
}

/** Throws if a source is the hub itself, whose operations it would import again with every change. */
function assertOther(name: string, url: string | undefined, host: SourceHost): void {
  const own = host.url();
  const address = url?.replace(/^ws/, "http") ?? "";
  if (own === undefined || !/^https?:/.test(address) || addressOf(address) !== addressOf(own)) return;
  throw invalid(`The source ${quote(name)} is this hub itself. Remove it, or name the servers to use in "servers".`);
}

/** Returns a string that is the same for all names of this machine. */
function addressOf(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  const isLocal = isLoopbackHost(hostname) || hostname === "0.0.0.0" || hostname === "[::]";
  return `${protocol}//${isLocal ? "localhost" : hostname}:${port}`;
}

/** Lists the configurations of the hubs that started a program, from the first one on. */
const startedByVariable = "OPERATIONS_STARTED_BY";

/**
 * Returns the variables of the programs that a hub starts. Throws if the hub itself was started by one with the same
 * configuration: each of them would start the next one.
 */
function toProgramVariables({ file, environment }: SourceHost): Record<string, string> {
  if (file === undefined) return {};
  const startedBy = environment[startedByVariable]?.split(delimiter) ?? [];
  if (!startedBy.includes(file)) return { [startedByVariable]: [...startedBy, file].join(delimiter) };
  throw invalid(
    `A hub with the configuration ${quote(file, 1_000)} started this one as an MCP server. Remove that server from its sources, or name the servers to use in "servers".`,
  );
}

/** `VALIDATION_ERROR` with a message. */
export function invalid(message: string): CallError {
  return new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: false });
}

/** Returns a string that is the same for sources on the same bus; `undefined` for other sources. */
function busOf(source: ResolvedSource): string | undefined {
  if ("redis" in source) return canonicalJSON(["redis", source.redis.url, source.redis.prefix]);
  if (!("nats" in source)) return undefined;
  const { servers, connect, prefix } = source.nats;
  return canonicalJSON(["nats", connect?.servers ?? servers, prefix]);
}

/** Operations that came from a bus are never served on it, so a bus that is served must be one source. */
function assertBuses(entries: ReadonlyArray<[string, ResolvedSource]>): void {
  const buses = entries.map(([name, source]) => ({ name, source, bus: busOf(source) }));
  for (const { name, source, bus } of buses) {
    const isServed = ("nats" in source && source.nats.serve) || ("redis" in source && source.redis.serve);
    const other = buses.find((it) => isServed && it.name !== name && it.bus === bus);
    if (other === undefined) continue;
    const message = `The sources ${quote(name)} and ${quote(other.name)} use the same bus. Combine them in one source: operations that came from a bus are never served on it.`;
    throw invalid(message);
  }
}
