import { once } from "node:events";
import type { Environment, Hub, ResolvedConfig } from "../../hub/index.ts";
import { createOperator } from "../../operation/inside.ts";
import { serveMCPStdio } from "../../serve/mcp/index.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { readConfig, startHub } from "../config-target.ts";
import { usageError } from "../failures.ts";
import { redirectOutput } from "../output-stream.ts";
import { requestInputs } from "../prompt.ts";
import { namespaceOf, refuseOtherOrigin, toSourceConfig } from "../source-target.ts";
import { kindOf, targetOptions } from "../target.ts";

const { hub: _hub, timeout: _timeout, ...sourceOptions } = targetOptions;

const options = {
  stdio: { type: "boolean", description: "Serve MCP on stdin and stdout, for programs that start this command." },
  dev: { type: "boolean", description: "Reload modules when they change, and send unexpected errors to callers." },
  port: { type: "string", value: "PORT", description: "Port to listen on. Default: PORT, the configuration, or 4000." },
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
    const { options, stderr, signal } = context;
    const restoreOutput = redirectOutput(stderr); // Modules may print.
    const { config, ...place } = await readServed(context);
    const listen = options.stdio !== true && readPort(context.environment, options.port);
    const environment = await requestInputs(config, context);
    const hub = await startHub(config, { ...place, environment, listen, dev: options.dev === true }, signal);
    try {
      refuseOtherOrigin(hub.registry, options);
      const interrupted = signal.aborted ? Promise.resolve() : once(signal, "abort");
      if (listen !== false) {
        await announce(hub, context);
        await interrupted;
      } else {
        restoreOutput(); // The protocol needs it.
        const identity = createOperator(); // The user who starts the command.
        const service = await serveMCPStdio(hub.registry, { identity, exposeErrors: options.dev === true });
        await stderr.write("Serving MCP on stdin and stdout.\n");
        await Promise.race([service.closed, interrupted]);
        await service.close();
      }
    } finally {
      await hub.close();
    }
  },
});

/** Reads the configuration, or creates one with the source that an option names. */
async function readServed(context: ServeContext): Promise<{ config: ResolvedConfig; file?: string; folder?: string }> {
  const kind = kindOf(context.options);
  if (kind === undefined || kind === "config") return readConfig(context);
  return { config: { sources: { [namespaceOf(kind)]: toSourceConfig(context.options) } } };
}

/** Returns the port that `--port` or the variable PORT names; an empty object without both. */
export function readPort(environment: Environment, option?: string): { port?: number } {
  const given = option ?? (environment["PORT"] || undefined);
  if (given === undefined) return {};
  if (/^\d{1,5}$/.test(given) && Number(given) < 65_536) return { port: Number(given) };
  throw usageError(
    `The port is invalid. Pass a number from 0 to 65535 as ${option === undefined ? "PORT" : "--port"}.`,
  );
}

/** Prints the one line that programs may wait for. The fragment of the URL never reaches a server or its logs. */
async function announce(hub: Hub, { print, stderr, options }: ServeContext): Promise<void> {
  const { url, token, registry } = hub;
  const link = hub.createConsoleLink();
  if (link !== undefined && options.json !== true) await stderr.write(`Console: ${link}\n`);
  await print(`Listening on ${url}\n`, { url, token, console: link, operations: registry.getAllSpecs().length });
}
