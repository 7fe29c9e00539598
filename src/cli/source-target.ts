import { mcpSource } from "../from/mcp/index.ts";
import { openAPISource } from "../from/openapi/index.ts";
import type { SourceReport } from "../from/source.ts";
import { getOwn } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { waitFor } from "../internal/wait.ts";
import { CallError, type Identity, mapError, notServedNow } from "../operation/inside.ts";
import { coreOf, createRegistry, type Middleware, type OperationRegistry } from "../registry/inside.ts";
import type { CommandContext } from "./command.ts";
import { usageError } from "./failures.ts";
import { redirectOutput, toPrintableLine } from "./output-stream.ts";
import { type Target, type TargetContext, timeoutsOf } from "./target.ts";

/** Maximum number of operations that a search returns. */
const maxFound = 100;

/** A source that options name. Its configuration is written as in a configuration file. */
export interface NamedSource {
  /** Its name, which is the namespace of its operations. */
  readonly name: string;
  /** Where it is, for messages: without credentials, query and fragment. */
  readonly label: string;
  readonly config:
    | ({ openapi: string; baseUrl?: string; documentUrl?: string } & Credentials)
    | { mcp: ({ url: string } & Credentials) | { command: string; args: string[] } };
}

interface Credentials {
  headers?: Record<string, string>;
  auth?: { type: "bearer"; token: string };
}

/** Where an option names a source, with the settings that follow it. */
interface GivenSource {
  readonly option: "openapi" | "mcp" | "mcp-command";
  readonly name: string;
  readonly place: string;
  readonly settings: Map<string, string>;
  readonly headers: Record<string, string>;
}

/**
 * Returns the sources that options name. `NAME=` may precede their places. `--base-url`, `--header` and `--token` belong to
 * the source before them, or to the only one.
 */
export function toNamedSources(given: CommandContext["given"]): NamedSource[] {
  const sources = given.flatMap(([option, value]): GivenSource[] => {
    if (option !== "openapi" && option !== "mcp" && option !== "mcp-command") return [];
    // Not `mcp`, because a hub serves MCP at that path.
    const [, name = option === "openapi" ? "api" : "tools", place = ""] = /^(?:([A-Za-z][\w-]*)=)?(.*)$/s.exec(
      String(value),
    )!;
    return [{ option, name, place, settings: new Map(), headers: {} }];
  });
  let position = -1;
  for (const [option, value] of given) {
    if (option === "openapi" || option === "mcp" || option === "mcp-command") position += 1;
    const source = sources[sources.length === 1 ? 0 : position];
    if (option !== "base-url" && option !== "header" && option !== "token") continue;
    if (source === undefined) throw usageError(`Pass --${option} after the source that it is for.`);
    const isForAPI = option === "base-url";
    if (source.option === "mcp-command" || (isForAPI && source.option !== "openapi")) {
      throw usageError(`The option --${option} is for --openapi${isForAPI ? "" : " and --mcp"} only.`);
    }
    const [, header, content] = /^([^:\s]+):\s*(.*)$/s.exec(String(value)) ?? [];
    if (option !== "header") source.settings.set(option, String(value));
    else if (header === undefined) throw usageError('The option --header takes a header, such as "x-api-key: 123".');
    else source.headers[header] = content!;
  }
  const names = sources.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return sources.map(toNamedSource);
  throw usageError(`Two sources have the name ${quote(twice)}. Name them, such as --openapi weather=URL.`);
}

function toNamedSource({ option, name, place, settings, headers }: GivenSource): NamedSource {
  const token = settings.get("token");
  const shared = {
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(token !== undefined && { auth: { type: "bearer", token } as const }),
  };
  if (option === "mcp") return { name, label: toLabel(place), config: { mcp: { url: place, ...shared } } };
  if (option === "mcp-command") {
    const [command = "", ...args] = splitCommand(place);
    return { name, label: command, config: { mcp: { command, args } } };
  }
  const baseUrl = settings.get("base-url");
  const isFile = !/^https?:/i.test(place);
  const server = baseUrl !== undefined ? { baseUrl } : isFile && { documentUrl: unknownServer };
  return { name, label: toLabel(place), config: { openapi: place, ...shared, ...server } };
}

/** Opens the sources that the options name, in a registry of their own. One that cannot be opened fails the command. */
export async function openSources(context: TargetContext): Promise<Target> {
  const { signal, stderr } = context;
  redirectOutput(stderr); // Warnings about foreign data contain foreign strings.
  const sources = toNamedSources(context.given);
  const label = sources.map((source) => source.label).join(", ");
  const registry: OperationRegistry = createRegistry({ operations: [] });
  refuseOtherOrigins(registry, sources);
  const target = createLocalTarget(context, registry, { label, close: () => registry.close() });
  const timeout = timeoutsOf(context).call;
  const open = async ({ name, label, config }: NamedSource) => {
    const source =
      "openapi" in config
        ? openAPISource(config.openapi, { ...config, namespace: name })
        : mcpSource({ ...config.mcp, name, timeouts: { connect: timeout } });
    const following = registry.follow(source, { onReport: (report) => void reportSkipped(context, report) });
    await waitFor(following, { timeout, signal }, (code) => notReady(label, code)).catch((error) => {
      const { code, message, details, retryable, mayHaveRun } = mapError(error);
      if (message.includes(label)) throw error;
      throw new CallError(code, `${quote(label)}: ${message}`, details, { cause: error, retryable, mayHaveRun });
    });
  };
  try {
    await Promise.all(sources.map(open));
    return target;
  } catch (error) {
    await target.close();
    throw error;
  }
}

/** The error of a source that did not become ready. */
export function notReady(label: string, code: "TIMEOUT" | "ABORTED"): CallError {
  const messages = {
    TIMEOUT: `${quote(label)} did not become ready in time. Pass a longer --timeout.`,
    ABORTED: `The start of ${quote(label)} was interrupted.`,
  };
  return new CallError(code, messages[code], undefined, { mayHaveRun: false });
}

/** A path, or a URL without its credentials, query and fragment, which may be secret. */
function toLabel(place: string): string {
  const url = URL.canParse(place) ? new URL(place) : undefined;
  return url === undefined || url.origin === "null" ? place : url.origin + url.pathname;
}

/** Base of the relative servers of a file, so that its operations can be listed. Requests to it are refused. */
const unknownServer = "http://unknown.invalid";

/** A document decides where requests go. Without `--base-url` only its own origin is allowed; a file does not have one. */
export function refuseOtherOrigins(registry: OperationRegistry, sources: readonly NamedSource[]): void {
  for (const { name, label, config } of sources) {
    if (!("openapi" in config) || config.baseUrl !== undefined) continue;
    const own = URL.canParse(config.openapi) ? new URL(config.openapi).origin : undefined;
    const refuse: Middleware = ({ spec }, next) => {
      const server = String(getOwn(getOwn(spec._meta, "openapi"), "server"));
      if (URL.canParse(server) && new URL(server).origin === own) return next();
      if (server.startsWith(unknownServer)) {
        throw usageError(`${quote(label)} does not name its server. Pass --base-url URL.`);
      }
      throw usageError(
        `${quote(label)} sends requests to ${quote(server)}, which is another origin. Pass --base-url ${server} to allow it.`,
      );
    };
    registry.use(refuse, { include: [`${name}.*`] });
  }
}

/** Operations that a source skips are missing in lists, so the user is notified. */
async function reportSkipped({ stderr, options }: TargetContext, { skipped }: SourceReport): Promise<void> {
  if (options.json) return;
  const lines = skipped.map(({ where, reason }) => `warning: ${toPrintableLine(`${where}: ${reason}`)}\n`);
  await stderr.write(lines.join("")).catch(() => {});
}

const word = /(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+/gs;

/**
 * Splits a command line into a program and its arguments, without a shell: spaces separate, quotes group, and a
 * backslash outside single quotes keeps the next character. Nothing is expanded.
 */
export function splitCommand(line: string): string[] {
  const [rest] = line.replace(word, "").trim();
  if (rest !== undefined) throw usageError(`The command of --mcp-command has a ${rest} that is not closed.`);
  const words = line.match(word) ?? [];
  if (words.length === 0) throw usageError("The option --mcp-command requires a program and its arguments.");
  return words.map((quoted) =>
    quoted.replace(/'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/gs, (_, single, double, escaped) =>
      double === undefined ? (single ?? escaped) : double.replace(/\\(.)/gs, "$1"),
    ),
  );
}

/** Creates the target of a registry in this process, with the caller `identity`. */
export function createLocalTarget(
  context: Pick<CommandContext, "signal"> & Parameters<typeof timeoutsOf>[0],
  registry: OperationRegistry,
  { identity, ...target }: Pick<Target, "label" | "close"> & { identity?: Identity },
): Target {
  const { signal } = context;
  const timeouts = timeoutsOf(context);
  const core = coreOf(registry);
  const { operations } = core;
  return {
    ...target,
    find: async ({ id, query, brief }) => {
      if (id !== undefined) {
        const entry = operations.get(id);
        if (entry !== undefined) return [{ ...entry.published, ...(entry.spec._meta && { _meta: entry.spec._meta }) }];
        if (core.mayAppear(id)) throw notServedNow(id); // As a call of the operation does.
        return [];
      }
      const specs = query === undefined ? registry.getAllSpecs() : registry.search(query, { limit: maxFound });
      // Publishing a spec reads its schemas, which a source may not have read yet.
      return brief ? specs : specs.map(({ namespace, name }) => operations.get(`${namespace}.${name}`)!.published);
    },
    call: (id, input) => registry.execute(id, input, { signal, timeout: timeouts.call, identity }),
    subscribe: (id, input) => registry.subscribe(id, input, { signal, timeout: timeouts.subscription, identity }),
  };
}
