import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import type { ResolvedConfig, SourceState } from "../hub/index.ts";
import { readHubToken } from "../hub/state-folder.ts";
import { exitCodes } from "./failures.ts";

/** The result of one check of `operations doctor`. */
export interface CheckResult {
  /** What was checked, such as `node` or `source github`. */
  readonly check: string;
  /** `problem` makes commands fail; `warning` may. */
  readonly status: "ok" | "warning" | "problem";
  /** What was found. */
  readonly message: string;
  /** What to do about it. */
  readonly fix?: string;
  /** The exit code of commands that meet the problem. */
  readonly exitCode?: number;
}

/** The name of this package. */
const packageName = "@alkdev/operations";

/** The minimum version of Node. */
const minNode = "20.19.0";

/** Checks the version of Node. */
export function checkNode(version: string): CheckResult {
  if (compareVersions(version, minNode) >= 0) return { check: "node", status: "ok", message: `Node ${version}.` };
  const message = `Node ${version} is too old.`;
  const fix = `Install Node ${minNode} or later.`;
  return { check: "node", status: "problem", message, fix, exitCode: exitCodes.unexpected };
}

/** Checks the packages that a project has installed: its copy of this package, and the optional peers. */
export async function checkPackages(folder: string, version: string): Promise<CheckResult[]> {
  const installed = await findPackage(folder, packageName);
  const own = installed === undefined || installed.version === version ? [] : [otherCopy(installed.version, version)];
  const peers = Object.entries(installed?.peerDependencies ?? {}).map(async ([name, range]) => {
    const peer = await findPackage(folder, name);
    if (peer === undefined || satisfiesCaret(peer.version, range)) return [];
    const message = `${name} ${peer.version} is installed, but ${packageName} needs ${range}.`;
    return [{ check: name, status: "warning" as const, message, fix: `npm install ${name}@${range}` }];
  });
  const found = [...own, ...(await Promise.all(peers)).flat()];
  const message =
    installed === undefined ? `${packageName} ${version}, not installed in this folder.` : `${packageName} ${version}.`;
  return found.length > 0 ? found : [{ check: "packages", status: "ok", message }];
}

function otherCopy(installed: string, running: string): CheckResult {
  const message = `This command is version ${running}, and the project has installed ${installed}.`;
  return { check: packageName, status: "warning", message, fix: "Run `npx operations` to use that of the project." };
}

interface Manifest {
  version: string;
  peerDependencies?: Record<string, string>;
}

/** Finds an installed package as Node does: in the folder and in those above it. */
async function findPackage(folder: string, name: string): Promise<Manifest | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, "node_modules", name, "package.json"), "utf8"));
  } catch {
    const parent = dirname(folder);
    return parent === folder ? undefined : findPackage(parent, name);
  }
}

/** Returns whether a version is in a range such as `^1.2.3`. */
function satisfiesCaret(version: string, range: string): boolean {
  const least = range.replace(/^\^/, "");
  const fixed = least.startsWith("0.") ? 2 : 1; // Below 1.0.0 the second number is the one that breaks.
  const head = (text: string) => text.split(".").slice(0, fixed).join(".");
  return head(version) === head(least) && compareVersions(version, least) >= 0;
}

function compareVersions(left: string, right: string): number {
  const [a, b] = [left, right].map((version) => version.split(/[.-]/, 3).map(Number));
  const index = a!.findIndex((part, position) => part !== b![position]);
  return index === -1 ? 0 : a![index]! - b![index]!;
}

/** Checks that trust and tokens can be stored. */
export function checkStateFolder(stateFolder: string | undefined): CheckResult {
  if (stateFolder !== undefined)
    return { check: "state", status: "ok", message: `Trust and tokens are in ${stateFolder}.` };
  const message = "There is no home folder, so trust and tokens of hubs cannot be stored.";
  return { check: "state", status: "warning", message, fix: "Set HOME, or XDG_STATE_HOME to the path of a folder." };
}

/** Checks that the database of the history can be opened: before Node 22.13 that needs a package. */
export async function checkHistory({ history }: ResolvedConfig, folder: string): Promise<CheckResult[]> {
  if (history?.file === undefined || compareVersions(process.versions.node, "22.13.0") >= 0) return [];
  const name = "node-sqlite3-wasm";
  if ((await findPackage(folder, name)) !== undefined) return [];
  const message = `The history needs ${name}, because Node ${process.versions.node} has no SQLite.`;
  return [{ check: "history", status: "problem", message, fix: `npm install ${name}`, exitCode: exitCodes.usage }];
}

/** Node sends requests directly, also where a proxy is configured. */
export function checkProxy(
  { sources = {} }: ResolvedConfig,
  environment: Readonly<Record<string, string | undefined>>,
): CheckResult[] {
  const name = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"].find((it) => environment[it]);
  if (name === undefined || environment["NODE_USE_ENV_PROXY"] === "1" || !JSON.stringify(sources).includes('"https://'))
    return [];
  const message = `${name} is set, but Node does not use it.`;
  const fix = "Set NODE_USE_ENV_PROXY=1, which needs Node 22.21 or 24.";
  return [{ check: "proxy", status: "warning", message, fix }];
}

/** Checks that the hub can listen where the configuration says. */
export async function checkPort(
  { serve = {} }: ResolvedConfig,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<CheckResult> {
  const { host = "127.0.0.1", port = 4_000 } = serve;
  const place = `Port ${port} of ${host}`;
  const code = await tryListen(host, port);
  if (code === undefined) return { check: "port", status: "ok", message: `${place} is free.` };
  const url = `http://${host}:${port}`;
  if (code === "EADDRINUSE" && (await readHubToken(url, { ...environment })) !== undefined) {
    return { check: "port", status: "ok", message: `A hub of yours is running at ${url}.` };
  }
  const [message, fix] = portProblems[code] ?? [`cannot be used: ${code}.`, "Set another serve.port."];
  return { check: "port", status: "problem", message: `${place} ${message}`, fix, exitCode: exitCodes.usage };
}

const portProblems: Readonly<Record<string, [message: string, fix: string]>> = {
  EADDRINUSE: ["is used by another program.", "End that program, or set another serve.port."],
  EACCES: ["needs more permissions.", "Set serve.port to a number above 1023."],
  EADDRNOTAVAIL: ["cannot be used: this machine does not have that address.", "Set serve.host to 127.0.0.1."],
};

function tryListen(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
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

/** Checks the state of a source. */
export function checkSource({ name, kind, status, reason, operations }: SourceState): CheckResult {
  const check = `source ${name}`;
  if (status === "ready") {
    const message = `${kind}, ${operations} ${operations === 1 ? "operation" : "operations"}.`;
    if (operations > 0) return { check, status: "ok", message };
    return { check, status: "warning", message, fix: "Check `include` and `exclude`, and what the source offers." };
  }
  const message = `${kind}, ${status}: ${reason ?? "it did not become ready in time."}`;
  return { check, status: "problem", message, fix: sourceFixes[kind], exitCode: exitCodes.unreachable };
}
