import { once } from "node:events";
import type { Environment, Hub, HubServeConfig, ResolvedConfig, SourceState } from "../../hub/index.ts";
import { toReason } from "../../internal/text.ts";
import { createOperator, formatOperationId } from "../../operation/inside.ts";
import { serveMCPStdio } from "../../serve/mcp/index.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { readConfig, startHub } from "../config-target.ts";
import { program, usageError } from "../failures.ts";
import { type OutputStream, redirectOutput, toPrintableLine } from "../output-stream.ts";
import { type NamedSource, refuseOtherOrigins, toNamedSources } from "../source-target.ts";
import { formatTime } from "../table.ts";
import { countOf, kindOf, targetOptions } from "../target.ts";
import { formatEnd } from "./calls.ts";
import { formatCall } from "./describe.ts";

const { hub: _hub, timeout: _timeout, ...sourceOptions } = targetOptions;

const options = {
  stdio: { type: "boolean", description: "Serve MCP on stdin and stdout, for programs that start this command." },
  dev: { type: "boolean", description: "Reload modules when they change, and send unexpected errors to callers." },
  port: { type: "string", value: "PORT", description: "Port to listen on. Default: PORT, the configuration, or 4000." },
  quiet: { type: "boolean", description: "Print the address only, and no sources and calls." },
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
    const { options, stderr, signal, environment } = context;
    const restoreOutput = redirectOutput(stderr); // Modules may print.
    const crash = watchForCrash(stderr);
    const sources = kindOf(options) === "sources" ? toNamedSources(context.given) : [];
    const { config, ...place } = sources.length === 0 ? await readConfig(context) : toConfig(sources);
    const listen = options.stdio !== true && readPort(environment, options.port);
    let announced: Promise<void> | undefined;
    const onStart = (hub: Hub) => {
      refuseOtherOrigins(hub.registry, sources);
      if (listen === false || options.json) return;
      announced = announce(hub, config.serve, context).catch(() => {}); // A failure ends the command.
    };
    const dev = options.dev === true;
    const hub = await startHub(config, { ...place, environment, listen, dev, onStart }, signal);
    try {
      const interrupted = signal.aborted ? Promise.resolve() : once(signal, "abort");
      const stopped = Promise.race([interrupted, crash.promise]);
      if (listen !== false) {
        await announced;
        await printReady(hub, context);
        await stopped;
      } else {
        restoreOutput(); // The protocol needs it.
        const identity = createOperator(); // The user who starts the command.
        const service = await serveMCPStdio(hub.registry, { identity, exclude: ["hub.*"], exposeErrors: dev });
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

function toConfig(sources: readonly NamedSource[]): { config: ResolvedConfig; file?: string; folder?: string } {
  return { config: { sources: Object.fromEntries(sources.map(({ name, config }) => [name, config])) } };
}

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

/** Returns the port that `--port` or the variable PORT names; an empty object without both. */
export function readPort(environment: Environment, option?: string): { port?: number } {
  const given = option ?? (environment["PORT"] || undefined);
  if (given === undefined) return {};
  if (/^\d{1,5}$/.test(given) && Number(given) < 65_536) return { port: Number(given) };
  throw usageError(
    `The port is invalid. Pass a number from 0 to 65535 as ${option === undefined ? "PORT" : "--port"}.`,
  );
}

/** Prints where a hub listens, before its sources are ready, and from then on what happens in it, on stderr. */
async function announce(
  hub: Hub,
  served: HubServeConfig = {},
  { stdout, stderr, options }: ServeContext,
): Promise<void> {
  const { http = true, mcp = true, websocket = true } = served;
  const { url = "", token, registry } = hub;
  const rows = [
    http && ["HTTP", `${url}/openapi.json`],
    mcp && ["MCP", `${url}/mcp`],
    websocket && ["WebSocket", `${url.replace(/^http/, "ws")}/calls`],
    token !== undefined && ["Token", `${token}  (for other programs; this command finds it)`],
  ].filter((row) => row !== false);
  const link = hub.createConsoleLink();
  if (link !== undefined) rows.unshift(["Console", `${link}  (signs in once, within 5 minutes)`]);
  const lines = rows.map(([name = "", value]) => `  ${name.padEnd(9)}  ${value}\n`);
  const announced = stdout.write(`Listening on ${url}\n${lines.join("")}`);
  if (options.quiet) return announced;
  // The address comes first, also if a source is ready before it is written. A hub does not need a reader.
  const log = (line: string) => void announced.then(() => stderr.write(line)).catch(() => {});
  const known = new Map<string, string>();
  hub.onSourceChange((state) => {
    if (known.get(state.name) !== state.status) log(formatSource(state));
    known.set(state.name, state.status);
  });
  registry.on("call", (event) => {
    const { kind, parentRequestId, operationId, identity, timestamp, via = "code" } = event;
    if (kind !== "succeeded" && kind !== "failed") return;
    // Other commands and consoles read the state of the hub all the time.
    if (parentRequestId !== undefined || operationId.startsWith("hub.")) return;
    const { duration } = event;
    const code = kind === "failed" ? event.error.code : undefined;
    const call = {
      operationId,
      identity: identity?.id,
      via,
      startedAt: timestamp - duration,
      duration,
      status: kind,
      code,
    };
    log(formatEnd(call, stderr.colors));
  });
  return announced;
}

/** Prints what to try. Programs receive one line, which they may wait for. */
async function printReady(hub: Hub, { print, stderr, options }: ServeContext): Promise<void> {
  const { url = "", token, registry } = hub;
  const specs = registry.getAllSpecs();
  if (options.json) return print("", { url, token, console: hub.createConsoleLink(), operations: specs.length });
  if (options.quiet) return;
  const waiting = hub.sources().filter(({ status }) => status === "connecting");
  const first = specs.find(({ namespace, type }) => namespace !== "hub" && type !== "subscription");
  const id = first && formatOperationId(first.namespace, first.name);
  const commands = [`${program} list`, ...(first ? [formatCall(id!, first)] : []), `${program} calls --follow`];
  const lines = commands.map((command) => `  ${toPrintableLine(command)} --hub ${url}\n`);
  await stderr.write(`${waiting.map(formatSource).join("")}Try in another terminal:\n${lines.join("")}`);
}

function formatSource({ name, status, operations, reason, nextAttempt, since }: SourceState): string {
  // The hub has logged the reason of a failed attempt.
  const details =
    status === "ready" ? countOf(operations, "operation") : nextAttempt === undefined ? reason : undefined;
  const line = `The source ${name} is ${status}${details === undefined ? "" : `: ${details}`}`;
  return `${formatTime(since)}  ${toPrintableLine(line)}\n`;
}
