import { mcpSource } from "../from/mcp/index.ts";
import { openAPISource } from "../from/openapi/index.ts";
import type { SourceReport } from "../from/source.ts";
import { getOwn } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { waitFor } from "../internal/wait.ts";
import { CallError, type Identity, notServedNow } from "../operation/inside.ts";
import { coreOf, createRegistry, type Middleware, type OperationRegistry } from "../registry/inside.ts";
import { usageError } from "./failures.ts";
import { redirectOutput, toPrintableLine } from "./output-stream.ts";
import { type Target, type TargetContext, timeoutsOf } from "./target.ts";

/** Maximum number of operations that a search returns. */
const maxFound = 100;

/** Opens the one source that the options name, in a registry of its own. */
export async function openSource(context: TargetContext): Promise<Target> {
  const { options, signal, stderr } = context;
  redirectOutput(stderr); // Warnings about foreign data contain foreign strings.
  const config = toSourceConfig(options);
  const timeout = timeoutsOf(context).call;
  const source =
    "openapi" in config
      ? openAPISource(config.openapi, { ...config, namespace: namespaceOf("openapi") })
      : mcpSource({ ...config.mcp, name: namespaceOf("mcp"), timeouts: { connect: timeout } });
  const label = toLabel(options.openapi ?? options.mcp ?? config.mcp!.command!);
  const registry: OperationRegistry = createRegistry({ operations: [] });
  refuseOtherOrigin(registry, options);
  const target = createLocalTarget(context, registry, { label, close: () => registry.close() });
  try {
    const following = registry.follow(source, { onReport: (report) => void reportSkipped(context, report) });
    await waitFor(following, { timeout, signal }, (code) => notReady(label, code));
    return target;
  } catch (error) {
    await target.close();
    throw error;
  }
}

function notReady(label: string, code: "TIMEOUT" | "ABORTED"): CallError {
  const messages = {
    TIMEOUT: `${quote(label)} did not become ready in time. Pass a longer --timeout.`,
    ABORTED: `The start of ${quote(label)} was interrupted.`,
  };
  return new CallError(code, messages[code], undefined, { mayHaveRun: false });
}

/** The namespace of the source that an option names, such as `openapi`. It is not `mcp`, because a hub serves MCP at that path. */
export function namespaceOf(kind: string): "api" | "tools" {
  return kind === "openapi" ? "api" : "tools";
}

/** The source that options name, as it is written in a configuration. */
export function toSourceConfig(options: Partial<TargetContext["options"]>) {
  const { openapi, mcp: url, "base-url": baseUrl } = options;
  if (openapi !== undefined) {
    const isFile = !/^https?:/i.test(openapi);
    return { openapi, ...(baseUrl !== undefined ? { baseUrl } : isFile && { documentUrl: unknownServer }) };
  }
  if (url !== undefined) return { mcp: { url } };
  const [command, ...args] = splitCommand(options["mcp-command"] ?? "");
  return { mcp: { command, args } };
}

/** A path, or a URL without its credentials, query and fragment, which may be secret. */
function toLabel(place: string): string {
  const url = URL.canParse(place) ? new URL(place) : undefined;
  return url === undefined || url.origin === "null" ? place : url.origin + url.pathname;
}

/** Base of the relative servers of a file, so that its operations can be listed. Requests to it are refused. */
const unknownServer = "http://unknown.invalid";

/** A document decides where requests go. Without `--base-url` only its own origin is allowed; a file does not have one. */
export function refuseOtherOrigin(registry: OperationRegistry, options: Partial<TargetContext["options"]>): void {
  const { openapi, "base-url": baseUrl } = options;
  if (openapi === undefined || baseUrl !== undefined) return;
  const own = URL.canParse(openapi) ? new URL(openapi).origin : undefined;
  const refuse: Middleware = ({ spec }, next) => {
    const server = String(getOwn(getOwn(spec._meta, "openapi"), "server"));
    if (URL.canParse(server) && new URL(server).origin === own) return next();
    if (server.startsWith(unknownServer)) {
      throw usageError(`${quote(toLabel(openapi))} does not name its server. Pass --base-url URL.`);
    }
    throw usageError(
      `${quote(toLabel(openapi))} sends requests to ${quote(server)}, which is another origin. Pass --base-url ${server} to allow it.`,
    );
  };
  registry.use(refuse, { include: ["api.*"] });
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
  context: TargetContext,
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
