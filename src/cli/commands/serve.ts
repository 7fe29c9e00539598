import { once } from "node:events";
import type { Environment, Hub, ResolvedConfig } from "../../hub/index.ts";
import { toReason } from "../../internal/text.ts";
import { createOperator } from "../../operation/inside.ts";
import { serveMCPStdio } from "../../serve/mcp/index.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { readConfig, startHub } from "../config-target.ts";
import { usageError } from "../failures.ts";
import { type OutputStream, redirectOutput, toPrintableLine } from "../output-stream.ts";
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
    const crash = watchForCrash(stderr);
    const { config, ...place } = await readServed(context);
    const listen = options.stdio !== true && readPort(context.environment, options.port);
    const environment = await requestInputs(config, context);
    const hub = await startHub(config, { ...place, environment, listen, dev: options.dev === true }, signal);
    try {
      refuseOtherOrigin(hub.registry, options);
      const interrupted = signal.aborted ? Promise.resolve() : once(signal, "abort");
      const stopped = Promise.race([interrupted, crash.promise]);
      if (listen !== false) {
        await announce(hub, context);
        await stopped;
      } else {
        restoreOutput(); // The protocol needs it.
        const identity = createOperator(); // The user who starts the command.
        const service = await serveMCPStdio(hub.registry, {
          identity,
          exclude: ["hub.*"],
          exposeErrors: options.dev === true,
        });
        await stderr.write("Serving MCP on stdin and stdout.\n");
        await Promise.race([service.closed, stopped]);
        await service.close();
      }
    } finally {
      await hub.close();
      crash.stop();
    }
  },
});

/**
 * Watches for errors that no one handles, which modules cause. A rejection is reported, and the hub goes on. After an
 * exception the state of the process is unknown: `promise` rejects, so that the hub drains and the command fails.
 */
function watchForCrash(stderr: OutputStream): { promise: Promise<never>; stop(): void } {
  const describe = (error: unknown) => {
    const [, place] = /((?:file:\/\/)?\/[^\s()]*?:\d+):\d+/.exec(String((error as Error | null)?.stack)) ?? [];
    return toPrintableLine(`${place === undefined ? "" : `${place}: `}${toReason(error)}.`);
  };
  let fail: (error: Error) => void;
  const promise = new Promise<never>((_, reject) => {
    fail = reject;
  });
  promise.catch(() => {}); // It may happen before anything waits for it.
  const onRejection = (error: unknown) => {
    void stderr.write(`A promise was rejected and not handled, and the hub goes on. ${describe(error)}\n`);
  };
  const onException = (error: unknown) => {
    const advice = "The hub has let running calls end, and has stopped.";
    fail(new Error(`An exception was not handled. ${advice} ${describe(error)}`, { cause: error }));
  };
  process.on("unhandledRejection", onRejection).on("uncaughtException", onException);
  const stop = () => void process.off("unhandledRejection", onRejection).off("uncaughtException", onException);
  return { promise, stop };
}

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
