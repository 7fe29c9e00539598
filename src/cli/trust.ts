import { createHash } from "node:crypto";
import { readFile, realpath } from "node:fs/promises";
import { dirname, isAbsolute, relative, resolve, sep } from "node:path";
import { isProgram, readConfigData } from "../hub/config-load.ts";
import { findStateFolder, readState, removeState, writeState } from "../hub/state-folder.ts";
import { getOwn, isObject } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { CallError } from "../operation/index.ts";

/** Variables of the environment. */
type Environment = Readonly<Record<string, string | undefined>>;

/** What a configuration would do, and whether its user allowed it. */
export interface ConfigTrust {
  /** Real path of the configuration. */
  readonly file: string;
  /** Hash of the configuration and of the MCP files in its folder that it names. */
  readonly hash: string;
  /** What it would run or read, one sentence part each, such as `run the modules in "./operations"`. */
  readonly actions: readonly string[];
  /** Whether it may do that: it does nothing that needs trust, or the user trusts exactly this content at this path. */
  readonly trusted: boolean;
}

/** Options of {@link requireTrust}. */
export interface RequireTrustOptions {
  /** Variables of the environment, which determine the state folder. Without a home folder nothing is trusted. */
  environment: Environment;
  /** Asks the user on a terminal whether the actions are allowed. Missing in a pipe. */
  ask?: ((question: string) => Promise<boolean>) | undefined;
}

/**
 * Reports what a configuration would run or read, and whether its user trusts it. A configuration in TypeScript or
 * JavaScript is not loaded.
 */
export async function checkTrust(file: string, environment: Environment): Promise<ConfigTrust> {
  const path = await realpath(file);
  const config = isProgram(path) ? undefined : await readConfigData(path);
  const sources = listSources(config);
  const actions = isProgram(path)
    ? ["run it, because it is a program"]
    : [...sources.flatMap(listActions), ...listFiles(config)];
  const hash = await hashFiles(path, listMCPFiles(sources, dirname(path)));
  const trusted = actions.length === 0 || (await readRecord(path, environment)) === hash;
  return { file: path, hash, actions, trusted };
}

/** Stores that the user trusts a configuration as it is now. A change of its content ends the trust. */
export async function storeTrust({ file, hash }: ConfigTrust, environment: Environment): Promise<void> {
  await writeState(recordName(file), `${JSON.stringify({ file, hash })}\n`, { ...environment });
}

/** Ends the trust in a configuration. Returns whether it was trusted, whatever its content. */
export async function revokeTrust(file: string, environment: Environment): Promise<boolean> {
  const path = await realpath(file).catch(() => resolve(file));
  if ((await readRecord(path, environment)) === undefined) return false;
  await removeState(recordName(path), { ...environment });
  if ((await readRecord(path, environment)) === undefined) return true;
  throw new Error(
    `The trust in ${path} cannot be ended, because ${recordName(path)} in the state folder cannot be removed.`,
  );
}

/**
 * Returns if a configuration that was found, not named, may run. On a terminal the user is asked, and a yes is stored. In
 * a pipe, or after a no, throws `CONFIG_NOT_TRUSTED`, which lists what it would run.
 */
export async function requireTrust(file: string, options: RequireTrustOptions): Promise<void> {
  const trust = await checkTrust(file, options.environment);
  if (trust.trusted) return;
  const question = `${describeActions(trust)}\nDo you trust it?`;
  if (options.ask !== undefined && (await options.ask(question))) {
    if (findStateFolder({ ...options.environment }) !== undefined) await storeTrust(trust, options.environment);
    return;
  }
  throw notTrusted(trust);
}

/** Describes what a configuration would do, in one line for each action. */
export function describeActions({ file, actions }: Pick<ConfigTrust, "file" | "actions">): string {
  const lines = actions.map((action) => `  - ${action}`);
  return [`The configuration ${quote(file, 1_000)} would:`, ...lines].join("\n");
}

function notTrusted(trust: ConfigTrust): CallError {
  const message =
    `${describeActions(trust)}\n` +
    "It is not trusted, so nothing was run. Read it, then run `operations trust`, or name it with --config.";
  const details = { file: trust.file, actions: trust.actions };
  return new CallError("CONFIG_NOT_TRUSTED", message, details, { mayHaveRun: false });
}

/** The files that a configuration would write. */
function listFiles(config: unknown): string[] {
  const file = getOwn(getOwn(config, "history"), "file");
  return file === undefined ? [] : [`write the history of calls to ${quote(String(file))}`];
}

/** A source of a configuration that nothing has checked yet. */
type UncheckedSource = readonly [name: string, source: unknown];

function listSources(config: unknown): UncheckedSource[] {
  const sources = getOwn(config, "sources");
  return isObject(sources) ? Object.entries(sources) : [];
}

/** What a source would run, or would read from the user's environment and files to send it to a server. */
function listActions([name, source]: UncheckedSource): string[] {
  const actions = [...listPrograms(source), ...listReferences(source)];
  return actions.map((action) => `${action} for the source ${quote(name)}`);
}

function listPrograms(source: unknown): string[] {
  const modules = getOwn(source, "modules");
  if (modules !== undefined) return [`run the modules in ${quote(String(modules))}`];
  const mcpConfig = getOwn(source, "mcpConfig");
  if (mcpConfig !== undefined) return [`run the MCP servers of ${quote(String(getOwn(mcpConfig, "file")))}`];
  const server = getOwn(source, "mcp");
  const command = getOwn(server, "command");
  if (command === undefined) return [];
  const words = [command, getOwn(server, "args") ?? []].flat().map((word) => quote(String(word), 1_000));
  return [`run ${words.join(" ")}`];
}

/** References such as `${NAME}` and `${file:…}`. Their values would be sent to a server that the configuration names. */
function listReferences(value: unknown): string[] {
  if (typeof value === "string") {
    return Array.from(value.matchAll(/\$\{([^}]*)\}/g), ([, name = ""]) =>
      name.startsWith("file:") ? `read the file ${quote(name.slice(5))}` : `read the variable ${quote(name)}`,
    );
  }
  if (Array.isArray(value)) return value.flatMap(listReferences);
  return isObject(value) ? Object.values(value).flatMap(listReferences) : [];
}

/**
 * The MCP files that a configuration names in its own folder. They contain commands too. A file elsewhere belongs to the
 * user: editors write to it all the time, and a cloned repository cannot.
 */
function listMCPFiles(sources: readonly UncheckedSource[], folder: string): string[] {
  return sources.flatMap(([, source]) => {
    const file = getOwn(getOwn(source, "mcpConfig"), "file");
    if (typeof file !== "string" || file.startsWith("~")) return [];
    const path = resolve(folder, file);
    const inside = relative(folder, path);
    return inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside) ? [] : [path];
  });
}

/** The hash of files and their number of bytes, so that bytes cannot move from one file to the next. */
async function hashFiles(config: string, others: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const path of [config, ...others]) {
    const bytes = await readFile(path).catch((error: unknown) => {
      if (path === config) throw error;
      return undefined; // A file that is missing now must not appear later with commands.
    });
    hash.update(`${bytes?.length ?? "missing"}\n`).update(bytes ?? "");
  }
  return `sha256:${hash.digest("hex")}`;
}

/** Name of the file in the state folder that stores the trust in a configuration. */
function recordName(file: string): string {
  return `trusted/${createHash("sha256").update(file).digest("hex")}.json`;
}

/** The hash that was stored for a path. A record that cannot be read is not trust. */
async function readRecord(file: string, environment: Environment): Promise<string | undefined> {
  try {
    const record: unknown = JSON.parse((await readState(recordName(file), { ...environment })) ?? "null");
    return isObject(record) && record["file"] === file ? String(record["hash"]) : undefined;
  } catch {
    return undefined;
  }
}
