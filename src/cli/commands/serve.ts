import { once } from "node:events";
import { operatorOf } from "../../hub/access.ts";
import type { Hub, HubConfig } from "../../hub/index.ts";
import type { Identity } from "../../operation/index.ts";
import { serveMCPStdio } from "../../serve/mcp/index.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { readConfig, startHub } from "../config-target.ts";
import { usageError } from "../failures.ts";
import { redirectOutput } from "../output-stream.ts";
import { refuseOtherOrigin, splitCommand } from "../source-target.ts";
import { assertOneTarget, nothingToWorkOn, targetOptions } from "../target.ts";

const { hub: _hub, timeout: _timeout, ...sourceOptions } = targetOptions;

const options = {
  stdio: { type: "boolean", description: "Serve MCP on stdin and stdout, for programs that start this command." },
  dev: { type: "boolean", description: "Load modules again when they change, and send unexpected errors to callers." },
  port: { type: "string", value: "PORT", description: "Default: the variable PORT, the configuration, or 4000." },
  ...sourceOptions,
} as const;

type ServeContext = CommandContext<typeof options>;

/** `operations serve` */
export const serve = defineCommand({
  examples: [
    "serve",
    "serve --config operations.config.ts --dev",
    "serve --openapi https://api.example.com/openapi.json --port 8080",
    "serve --stdio --config operations.config.ts",
  ],
  options,
  run: async (context) => {
    const { options, environment, stderr, signal } = context;
    const restoreOutput = redirectOutput(stderr); // Modules may print.
    const { config, ...place } = await readServed(context);
    const listen = options.stdio !== true;
    const served = { ...config, serve: { ...config.serve, ...readPort(context) } };
    const hub = await startHub(served, { ...place, environment, listen, dev: options.dev === true }, signal);
    try {
      if (options.openapi !== undefined && options["base-url"] === undefined) {
        hub.registry.use(refuseOtherOrigin(options.openapi), { include: ["api.*"] });
      }
      if (listen) {
        await announce(hub, context);
        if (!signal.aborted) await once(signal, "abort");
      } else {
        restoreOutput(); // The protocol needs it.
        await serveStdio(hub, config, context);
      }
    } finally {
      await hub.close();
    }
  },
});

/** Reads the configuration, or creates one with the source that an option names. */
async function readServed(context: ServeContext): Promise<{ config: HubConfig; file?: string; folder?: string }> {
  const { options } = context;
  const kind = assertOneTarget(options);
  const baseUrl = options["base-url"];
  if (kind === "openapi") {
    return { config: { sources: { api: { openapi: options.openapi!, ...(baseUrl !== undefined && { baseUrl }) } } } };
  }
  if (kind === "mcp") return { config: { sources: { mcp: { mcp: { url: options.mcp! } } } } };
  if (kind === "mcp-command") {
    const [command, ...args] = splitCommand(options["mcp-command"]!);
    return { config: { sources: { mcp: { mcp: { command, args } } } } };
  }
  const loaded = await readConfig(context);
  if (loaded === undefined) throw nothingToWorkOn();
  return loaded;
}

function readPort({ options, environment }: ServeContext): { port?: number } {
  const given = options.port ?? (environment["PORT"] || undefined);
  if (given === undefined) return {};
  if (/^\d{1,5}$/.test(given) && Number(given) < 65_536) return { port: Number(given) };
  throw usageError(
    `The port is invalid. Pass a number from 0 to 65535 as ${options.port === undefined ? "PORT" : "--port"}.`,
  );
}

/** Prints the one line that programs may wait for. The fragment of the URL never reaches a server or its logs. */
async function announce(hub: Hub, { options, stdout }: ServeContext): Promise<void> {
  const { url, token } = hub;
  const address = token === undefined ? url : `${url}/#token=${token}`;
  const ready = { url, ...(token !== undefined && { token }), operations: hub.registry.getAllSpecs().length };
  await stdout.write(options.json ? `${JSON.stringify(ready)}\n` : `Listening on ${address}\n`);
}

async function serveStdio(hub: Hub, config: HubConfig, { stderr, signal, options }: ServeContext): Promise<void> {
  const identity = createOperator(hub, config);
  const service = await serveMCPStdio(hub.registry, { identity, exposeErrors: options.dev === true });
  await stderr.write("Serving MCP on stdin and stdout.\n");
  await Promise.race([service.closed, signal.aborted ? undefined : once(signal, "abort")]);
  await service.close();
}

/** The user who starts the command has all scopes, also those of sources that are not connected yet. */
function createOperator({ registry }: Hub, { sources = {}, rules = [] }: HubConfig): Identity {
  const operator = operatorOf(registry)();
  const own = Object.values(sources).flatMap(({ accessControl }) => accessControl?.requiredScopes ?? []);
  const added = rules.flatMap(({ requiredScopes }) => requiredScopes ?? []);
  return { ...operator, scopes: [...new Set([...operator.scopes, ...Object.keys(sources), ...own, ...added])] };
}
