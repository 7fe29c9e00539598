import { createHash } from "node:crypto";
import { readFile, realpath } from "node:fs/promises";
import { dirname, isAbsolute, resolve } from "node:path";
import { isProgram, readConfigData } from "../hub/config-load.ts";
import { toPath } from "../hub/config-variables.ts";
import type { Environment } from "../hub/index.ts";
import { readState, removeState, writeState } from "../hub/state-folder.ts";
import { getOwn } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { isLoopbackHost } from "../internal/urls.ts";
import { CallError } from "../operation/index.ts";
import { usageError } from "./failures.ts";

/** What a configuration would do, and whether its user allowed it. */
export interface ConfigTrust {
  /** Real path of the configuration. */
  readonly file: string;
  /** Hash of its path and content, and of the MCP files that it names with relative paths. */
  readonly hash: string;
  /** What it would do that needs trust, one sentence part each, such as `run the modules in "./operations"`. */
  readonly actions: readonly string[];
  /** Whether the user trusts exactly this content at this path. */
  readonly isStored: boolean;
}

/**
 * Reports what a configuration would run or read, and whether its user trusts it. A configuration in TypeScript or
 * JavaScript is not loaded. Without a home folder nothing is trusted.
 */
export async function checkTrust(config: string, environment: Environment): Promise<ConfigTrust> {
  const file = await realpath(config);
  const data = isProgram(file) ? undefined : await readConfigData(file);
  const sources = Object.entries(getOwn(data, "sources") ?? {});
  const history = getOwn(getOwn(data, "history"), "file");
  const host = getOwn(getOwn(data, "serve"), "host") ?? "localhost";
  const actions = sources.flatMap(([name, source]) => listActions(name, source));
  if (isProgram(file)) actions.push("run it, because it is a program");
  if (!isLoopbackHost(String(host))) actions.push(`accept connections from other machines on ${quote(String(host))}`);
  if (history !== undefined) actions.push(`write the history of calls to ${quote(String(history))}`);
  const hash = createHash("sha256").update(`${file}\n`);
  for (const path of [file, ...sources.flatMap(([, source]) => listMCPFiles(source, dirname(file)))]) {
    // A file that is missing now must not appear later with commands. Lengths keep bytes from moving to the next file.
    const bytes = await readFile(path).catch(() => undefined);
    hash.update(`${bytes?.length ?? "missing"}\n`).update(bytes ?? "");
  }
  const digest = hash.digest("hex");
  const isStored = (await readState(recordName(file), environment)) === digest;
  return { file, hash: digest, actions, isStored };
}

/** Stores that the user trusts a configuration as it is now. A change of its content ends the trust. */
export async function storeTrust({ file, hash }: ConfigTrust, environment: Environment): Promise<void> {
  await writeState(recordName(file), hash, environment).catch((error: Error) => {
    throw usageError(error.message);
  });
}

/** Ends the trust in a configuration. Returns whether it was trusted, whatever its content. */
export async function revokeTrust(config: string, environment: Environment): Promise<boolean> {
  const file = await realpath(config).catch(() => resolve(config));
  const isStored = async () => (await readState(recordName(file), environment)) !== undefined;
  if (!(await isStored())) return false;
  await removeState(recordName(file), environment);
  if (!(await isStored())) return true;
  throw new Error(`The trust in ${file} cannot be ended: ${recordName(file)} in the state folder cannot be removed.`);
}

/** Name of the file in the state folder that stores the trust in a configuration. */
function recordName(file: string): string {
  return `trusted/${createHash("sha256").update(file).digest("hex")}`;
}

/**
 * Returns the trust in a configuration that was found, not named, if it may run. Load the real path: relative paths of a
 * trusted configuration must not start at the folder of a link to it, which may be in a cloned repository. Throws
 * `CONFIG_NOT_TRUSTED`, which lists what it would do.
 * @param confirm returns whether it may run although its trust is not stored
 */
export async function requireTrust(
  config: string,
  environment: Environment,
  confirm?: (trust: ConfigTrust) => Promise<boolean>,
): Promise<ConfigTrust> {
  const trust = await checkTrust(config, environment);
  const { file, actions } = trust;
  if (actions.length === 0 || trust.isStored || (await confirm?.(trust))) return trust;
  const message = `${describeActions(trust)}\nIt is not trusted, so nothing was run. Read it, then run \`operations trust\`, or name it with --config.`;
  throw new CallError("CONFIG_NOT_TRUSTED", message, { file, actions }, { mayHaveRun: false });
}

/** Describes what a configuration would do, in one line for each action. */
export function describeActions({ file, actions }: ConfigTrust): string {
  return [`The configuration ${quote(file, 1_000)} would:`, ...actions.map((action) => `  - ${action}`)].join("\n");
}

/** Sources through which other programs send calls or operations. */
const peers = { nats: "NATS", redis: "Redis", websocket: "WebSocket" };

/** What a source would run, open to other programs, or read from the user's environment and files to send it to a server. */
function listActions(name: string, source: unknown): string[] {
  const modules = getOwn(source, "modules");
  const mcpConfig = getOwn(source, "mcpConfig");
  const server = getOwn(source, "mcp");
  const command = getOwn(server, "command");
  const words = [command, getOwn(server, "args") ?? []].flat().map((word) => quote(String(word), 1_000));
  // The same pattern as that with which a configuration is resolved.
  const references = (JSON.stringify(source) ?? "").matchAll(/\$\{(file:)?([^{}]*)\}/g);
  const actions = [
    modules !== undefined && `run the modules in ${quote(String(modules))}`,
    mcpConfig !== undefined && `run the MCP servers of ${quote(String(getOwn(mcpConfig, "file")))}`,
    command !== undefined && `run ${words.join(" ")}`,
    ...Object.entries(peers).map(
      ([kind, title]) => getOwn(source, kind) !== undefined && `exchange calls with other programs over ${title}`,
    ),
    ...Array.from(references, ([, file, what = ""]) => `read the ${file ? "file" : "variable"} ${quote(what)}`),
  ];
  return actions.filter((action) => action !== false).map((action) => `${action} for the source ${quote(name)}`);
}

/**
 * The MCP file that a source names with a relative path. It contains commands too, and may be part of a cloned repository.
 * One with an absolute path or below `~` belongs to the user: editors write to it all the time.
 */
function listMCPFiles(source: unknown, folder: string): string[] {
  const file = getOwn(getOwn(source, "mcpConfig"), "file");
  if (typeof file !== "string" || isAbsolute(file)) return [];
  const path = toPath(file, folder);
  return path === resolve(folder, file) ? [path] : [];
}
