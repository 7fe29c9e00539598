import { once } from "node:events";
import { realpath } from "node:fs/promises";
import { createServer } from "node:net";
import { findConfig, type ResolvedConfig, type SourceState } from "../../hub/index.ts";
import { quote, toReason } from "../../internal/text.ts";
import { defineCommand } from "../command.ts";
import { readConfig } from "../config-target.ts";
import { exitCodes, program, toFailure } from "../failures.ts";
import { type Colors, toPrintable } from "../output-stream.ts";
import {
  countOf,
  hubOf,
  kindOf,
  readSources,
  type Target,
  type TargetContext,
  targetOptions,
  withHub,
  withTarget,
} from "../target.ts";
import { readPort } from "./serve.ts";

/** The minimum version of Node. */
const minNode = "20.19.0";

/**
 * Creates the result of a check. What needs to be fixed is a warning, and a problem if commands fail because of it.
 * @param check what was checked, such as `node` or `source github`
 * @param fix what to do about it
 * @param exitCode the exit code of commands that meet the problem
 */
function toResult(check: string, message: string, fix?: string, exitCode?: number) {
  const status = exitCode !== undefined ? "problem" : fix !== undefined ? "warning" : "ok";
  return { check, status, message, fix, exitCode } as const;
}

type CheckResult = ReturnType<typeof toResult>;

/** `operations doctor` */
export const doctor = defineCommand({
  examples: ["doctor", "doctor --config operations.config.ts", "doctor --hub http://127.0.0.1:4000"],
  options: targetOptions,
  run: async (context) => {
    const { options, environment } = context;
    const hasConfig = [undefined, "config"].includes(kindOf(options)) && hubOf(options, environment) === undefined;
    const results = [
      checkNode(process.versions.node),
      ...(hasConfig
        ? await attempt("config", () => checkProject(context))
        : await attempt("target", () => withTarget(context, checkTarget))),
    ];
    context.signal.throwIfAborted(); // What failed because of that is not a problem.
    await context.print(results.map((result) => format(result, context.stdout.colors)).join(""), results);
    return results.find(({ status }) => status === "problem")?.exitCode ?? exitCodes.ok;
  },
});

function format({ check, status, message, fix }: CheckResult, colors: Colors): string {
  const color = { ok: colors.green, warning: colors.yellow, problem: colors.red }[status];
  const indented = toPrintable(message).replaceAll("\n", "\n  ");
  const line = `${color(status.padEnd(7))}  ${toPrintable(check)}: ${indented}\n`;
  return fix === undefined ? line : `${line}  fix: ${toPrintable(fix)}\n`;
}

function checkNode(version: string): CheckResult {
  const isRecent = version.localeCompare(minNode, "en", { numeric: true }) >= 0;
  if (isRecent) return toResult("node", `Node ${version}.`);
  return toResult("node", `Node ${version} is too old.`, `Install Node ${minNode} or later.`, exitCodes.unexpected);
}

/** Runs a check that does what commands do. What they would report is a problem; its message includes what to do. */
async function attempt(check: string, run: () => Promise<CheckResult[]>): Promise<CheckResult[]> {
  try {
    return await run();
  } catch (error) {
    const { report, exitCode } = toFailure(error, undefined);
    return [toResult(check, report.message, undefined, exitCode)];
  }
}

/** Checks a running hub, or sources that options name. */
async function checkTarget(target: Target): Promise<CheckResult[]> {
  const { length } = await target.find({ brief: true });
  const message = `${target.label} responds and has ${countOf(length, "operation")} for you.`;
  return [toResult("target", message), ...(await checkSources(target))];
}

/** Checks the configuration, its port and its sources. */
async function checkProject(context: TargetContext): Promise<CheckResult[]> {
  const { options, folder } = context;
  if (options.config === undefined && (await findConfig(folder)) === undefined) {
    const fix = `Create one with \`${program} init\`, or pass --config.`;
    return [toResult("config", "There is no operations.config file in this folder.", fix)];
  }
  const { config, file } = await readConfig(context);
  const named = { ...context, options: { ...options, config: file } }; // The user has been asked.
  return [
    toResult("config", `${file} is valid.`),
    ...(await attempt("port", async () => checkPort(config, await realpath(file), context))),
    ...(await attempt("sources", () => withTarget(named, checkSources))),
  ];
}

/** Checks that the hub can listen on the configured address, or already does. `file` is the real path of the configuration. */
async function checkPort({ serve = {} }: ResolvedConfig, file: string, context: TargetContext): Promise<CheckResult[]> {
  const { host = "127.0.0.1", port = 4_000 } = { ...serve, ...readPort(context.environment) };
  const server = createServer().listen({ host, port, exclusive: true });
  try {
    await once(server, "listening");
    return [toResult("port", `Port ${port} of ${host} is free.`)];
  } catch (error) {
    const url = `http://${host}:${port}`;
    const named = { ...context, options: { ...context.options, config: undefined, hub: url, timeout: "2s" } };
    const status = await withHub(named, ({ call }) => call("hub.status", {})).catch(() => undefined);
    const { hub } = (status?.data ?? {}) as { hub?: { config?: string } };
    if (hub?.config === file) return [toResult("port", `The hub of this configuration is running at ${url}.`)];
    const message = `The hub cannot listen on port ${port} of ${host}: ${toReason(error)}.`;
    const others = hub?.config === undefined ? "another configuration" : quote(hub.config, 1_000);
    const other = hub === undefined ? "the program that uses the port" : `the hub of ${others}`;
    return [toResult("port", message, `End ${other}, or set another serve.port.`, exitCodes.unreachable)];
  } finally {
    server.close();
  }
}

async function checkSources(target: Target): Promise<CheckResult[]> {
  const sources = await readSources(target);
  if (sources !== undefined) return sources.map(checkSource);
  return [toResult("sources", "The token may not call hub.sources.", "Use a token with the scope hub:read.")];
}

/** What to do about a source that is not ready, by its kind. */
const sourceFixes: Readonly<Record<SourceState["kind"], string>> = {
  modules: "Correct the path or the module that the reason names.",
  openapi: "Open the address of the document with curl, and check `auth` of the source.",
  mcp: "Start the command of the source in a terminal, or check its URL and `auth`.",
  nats: "Check that NATS runs at `servers` of the source.",
  redis: "Check that Redis runs at the URL of the source.",
  websocket: "Check that the server runs at the URL of the source, and its token.",
};

function checkSource({ name, kind, status, reason, operations }: SourceState): CheckResult {
  const check = `source ${name}`;
  if (status !== "ready") {
    const message = `${kind}, ${status}: ${reason ?? "it did not become ready in time."}`;
    return toResult(check, message, sourceFixes[kind], exitCodes.unreachable);
  }
  const message = `${kind}, ${countOf(operations, "operation")}.`;
  if (operations > 0) return toResult(check, message);
  return toResult(check, message, "Check `include` and `exclude`, and what the source offers.");
}
