import { once } from "node:events";
import { existsSync } from "node:fs";
import { access, constants, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { findConfig, type ResolvedConfig, type SourceState } from "../../hub/index.ts";
import { readBounded } from "../../hub/read-bounded.ts";
import { openDatabase } from "../../hub/sqlite.ts";
import { findStateFolder } from "../../hub/state-folder.ts";
import { quote, toReason } from "../../internal/text.ts";
import { defineCommand } from "../command.ts";
import { readConfig } from "../config-target.ts";
import { exitCodes, toFailure, usageError } from "../failures.ts";
import { type Colors, toPrintable } from "../output-stream.ts";
import {
  countOf,
  hubOf,
  kindOf,
  readSources,
  setToken,
  type Target,
  type TargetContext,
  targetOptions,
  withTarget,
} from "../target.ts";
import { readPort } from "./serve.ts";

declare const __PACKAGE_VERSION__: string;

const packageName = "@alkdev/operations";

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
      ...(await attempt("packages", () => checkPackages(context))),
      await checkStateFolder(context),
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
  if (isAtLeast(version, minNode)) return toResult("node", `Node ${version}.`);
  return toResult("node", `Node ${version} is too old.`, `Install Node ${minNode} or later.`, exitCodes.unexpected);
}

/** Checks the packages that a project has installed: its copy of this package, and the optional peers. */
async function checkPackages({ folder }: TargetContext): Promise<CheckResult[]> {
  const running = __PACKAGE_VERSION__;
  const installed = await findPackage(folder, packageName);
  if (installed === undefined) {
    return [toResult("packages", `${packageName} ${running}, not installed in this folder.`)];
  }
  const found: CheckResult[] = [];
  if (installed.version !== running) {
    const message = `This command is version ${running}, and the project has installed ${installed.version}.`;
    found.push(toResult(packageName, message, "Run `npx operations` to use that of the project."));
  }
  for (const [name, range] of Object.entries(installed.peerDependencies)) {
    const peer = await findPackage(folder, name);
    if (peer === undefined || satisfiesCaret(peer.version, range)) continue;
    const message = `${name} ${peer.version} is installed, but ${packageName} needs ${range}.`;
    found.push(toResult(name, message, `npm install ${name}@${range}`));
  }
  return found.length > 0 ? found : [toResult("packages", `${packageName} ${running}.`)];
}

/** Finds an installed package as Node does: in the folder and in those above it. */
async function findPackage(
  folder: string,
  name: string,
): Promise<{ version: string; peerDependencies: Record<string, string> } | undefined> {
  for (const modules of createRequire(join(folder, "package.json")).resolve.paths(name) ?? []) {
    const file = join(modules, name, "package.json");
    if (!existsSync(file)) continue;
    try {
      const { version, peerDependencies } = JSON.parse(readBounded(file));
      return { version: String(version), peerDependencies: { ...peerDependencies } };
    } catch {
      throw usageError(`${quote(file, 1_000)} is malformed. Install the packages again: npm install`);
    }
  }
  return undefined;
}

/** Returns whether a version is in a range such as `^1.2.3`. */
function satisfiesCaret(version: string, range: unknown): boolean {
  const least = String(range).replace(/^\^/, "");
  // Below 1.0.0 the second number is the one that breaks.
  const breaking = /^(?:0\.)?\d+\./;
  return breaking.exec(version)?.[0] === breaking.exec(least)?.[0] && isAtLeast(version, least);
}

function isAtLeast(version: string, least: string): boolean {
  return version.localeCompare(least, "en", { numeric: true }) >= 0;
}

/** Checks that trust and tokens can be stored. */
async function checkStateFolder({ environment }: TargetContext): Promise<CheckResult> {
  const folder = findStateFolder(environment);
  if (folder !== undefined && (await canCreate(folder))) {
    return toResult("state", `Trust and tokens are in ${folder}.`);
  }
  const reason = folder === undefined ? "There is no home folder" : `${folder} cannot be written`;
  const message = `${reason}, so trust and tokens of hubs cannot be stored.`;
  return toResult("state", message, "Set HOME, or XDG_STATE_HOME to the path of a folder.");
}

/** Returns whether a folder can be written, or created in the nearest folder above it that exists. Creates nothing. */
async function canCreate(folder: string): Promise<boolean> {
  try {
    await access(folder, constants.W_OK | constants.X_OK);
    return (await stat(folder)).isDirectory();
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" && canCreate(dirname(folder));
  }
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

/** Checks a running hub or one source. */
async function checkTarget(target: Target): Promise<CheckResult[]> {
  const { length } = await target.find({ brief: true });
  const responds = toResult("target", `${target.label} responds and has ${countOf(length, "operation")} for you.`);
  if (target.hasToken !== false) return [responds, ...(await checkSources(target))];
  const message = "No token is set, so only operations for every caller can be called.";
  return [responds, toResult("token", message, setToken, exitCodes.denied)];
}

/** Checks the configuration, and everything that it names. */
async function checkProject(context: TargetContext): Promise<CheckResult[]> {
  const { options, folder } = context;
  if (options.config === undefined && (await findConfig(folder)) === undefined) {
    const fix = "Create one with `operations init`, or pass --config.";
    return [toResult("config", "There is no operations.config file in this folder.", fix)];
  }
  const { config, file } = await readConfig(context);
  const named = { ...context, options: { ...options, config: file } }; // The user has been asked.
  return [
    toResult("config", `${file} is valid.`),
    ...(await attempt("history", () => checkHistory(config))),
    ...(await attempt("port", () => checkPort(config, context))),
    ...checkProxy(config, context),
    ...(await attempt("sources", () => withTarget(named, checkSources))),
  ];
}

/** Opens a database as the history does, which needs a package in an older Node. */
async function checkHistory({ history }: ResolvedConfig): Promise<CheckResult[]> {
  if (history?.file !== undefined) (await openDatabase(":memory:", dirname(history.file))).close();
  return [];
}

/** Checks that the hub can listen on the configured address. */
async function checkPort({ serve = {} }: ResolvedConfig, context: TargetContext): Promise<CheckResult[]> {
  const { host = "127.0.0.1", port = 4_000 } = { ...serve, ...readPort(context.environment) };
  const url = `http://${host}:${port}`;
  const server = createServer().listen({ host, port, exclusive: true });
  try {
    await once(server, "listening");
    return [toResult("port", `Port ${port} of ${host} is free.`)];
  } catch (error) {
    const running = { ...context, options: { ...context.options, config: undefined, hub: url } };
    const isHub = await withTarget(running, (target) => target.find({ brief: true })).catch(() => undefined);
    if (isHub !== undefined) return [toResult("port", `A hub of yours is running at ${url}.`)];
    const message = `The hub cannot listen on port ${port} of ${host}: ${toReason(error)}.`;
    const fix = "End the program that uses the port, or set another serve.port.";
    return [toResult("port", message, fix, exitCodes.unreachable)];
  } finally {
    server.close();
  }
}

/** Node sends requests directly, also where a proxy is configured. */
function checkProxy({ sources = {} }: ResolvedConfig, { environment }: TargetContext): CheckResult[] {
  const name = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"].find((it) => environment[it]);
  const isUsed = environment["NODE_USE_ENV_PROXY"] === "1" || !JSON.stringify(sources).includes('"https://');
  if (name === undefined || isUsed) return [];
  const fix = "Set NODE_USE_ENV_PROXY=1, which needs Node 22.21 or 24.";
  return [toResult("proxy", `${name} is set, but Node does not use it.`, fix)];
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
