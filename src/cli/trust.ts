import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { isProgram, readConfigData } from "../hub/config-load.ts";
import type { Environment } from "../hub/index.ts";
import { readState, removeState, writeState } from "../hub/state-folder.ts";
import { getOwn, isObject } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { isLoopbackHost } from "../internal/urls.ts";
import { CallError } from "../operation/index.ts";
import { program, usageError } from "./failures.ts";
import { toPrintableLine } from "./output-stream.ts";

/** What a configuration would do, and whether its user trusts its folder. */
export interface ConfigTrust {
  /** Real path of the configuration. */
  readonly file: string;
  /** What it would run, open or read, one line each, such as `sources.tasks.modules: "./operations"`. */
  readonly actions: readonly string[];
  /** Whether the user trusts the folder of the file. Later changes of what is in it do not end that. */
  readonly isStored: boolean;
}

/**
 * Reports what a configuration would run, open or read, and whether its user trusts its folder. A configuration in
 * TypeScript or JavaScript is not loaded. Without a home folder nothing is trusted.
 */
export async function checkTrust(config: string, environment: Environment): Promise<ConfigTrust> {
  const file = await realpath(config);
  const actions = isProgram(file) ? ["It is a program, which runs."] : listActions(await readConfigData(file));
  const isStored = (await readState(recordName(file), environment)) !== undefined;
  return { file, actions, isStored };
}

/** Stores that the user trusts the folder of a configuration. */
export async function storeTrust({ file }: Pick<ConfigTrust, "file">, environment: Environment): Promise<void> {
  await writeState(recordName(file), dirname(file), environment).catch((error: Error) => {
    throw usageError(error.message);
  });
}

/** Ends the trust in the folder of a configuration. Returns whether it was trusted. */
export async function revokeTrust(config: string, environment: Environment): Promise<boolean> {
  const folder = await realpath(dirname(config)).catch(() => resolve(dirname(config)));
  const name = recordName(await realpath(config).catch(() => resolve(folder, "config")));
  const isStored = async () => (await readState(name, environment)) !== undefined;
  if (!(await isStored())) return false;
  await removeState(name, environment);
  if (!(await isStored())) return true;
  throw new Error(`The trust in ${folder} cannot be ended: ${name} in the state folder cannot be removed.`);
}

/** Name of the file in the state folder that stores the trust in the folder of a configuration, by its real path. */
function recordName(file: string): string {
  return `trusted/${createHash("sha256").update(dirname(file)).digest("hex")}`;
}

/**
 * Returns the trust in a configuration that was found, not named, if it may run. Load the real path: relative paths of a
 * trusted configuration must not start at the folder of a link to it, which may be in a cloned repository. Throws
 * `CONFIG_NOT_TRUSTED`, which lists what it would do.
 * @param confirm returns whether it may run although its folder is not trusted
 */
export async function requireTrust(
  config: string,
  environment: Environment,
  confirm?: (trust: ConfigTrust) => Promise<boolean>,
): Promise<ConfigTrust> {
  const trust = await checkTrust(config, environment);
  const { file, actions } = trust;
  if (actions.length === 0 || trust.isStored || (await confirm?.(trust))) return trust;
  const message = `${describeActions(trust)}\nIts folder is not trusted, so nothing was run. Read it, then run \`${program} trust\`, or name it with --config.`;
  throw new CallError("CONFIG_NOT_TRUSTED", message, { file, actions }, { mayHaveRun: false });
}

/** Describes what a configuration would do, in one line for each action. */
export function describeActions({ file, actions }: Pick<ConfigTrust, "file" | "actions">): string {
  const lines = actions.map((action) => `  - ${action}`);
  return [`The configuration ${quote(file, 1_000)} runs, opens or reads:`, ...lines].join("\n");
}

/** Fields that run, open and read nothing, unless they contain variables. Every other field is shown before it is used. */
const harmless = new Set(
  `$schema rules access sources serve.port serve.http serve.mcp serve.websocket serve.console history.keep history.limit
  history.payloads include exclude rename namespace accessControl openapi baseUrl allowedOrigins serverVariables auth headers
  refresh pinned retry timeout limits trust mcp.url mcp.headers mcp.auth mcp.protocol mcp.tools mcp.timeouts mcp.limits
  mcp.pinned mcp.trustAnnotations`.split(/\s+/),
);

/** Lists the fields that are not harmless, in full, with those of their source that say where its requests go. */
function listActions(data: unknown): string[] {
  const sources = getOwn(data, "sources");
  const ofSources = Object.entries(isObject(sources) ? sources : {}).flatMap(([name, source]) => {
    const fields = listFields(source, ["mcp"]);
    const isHarmless = fields.every(([field, value]) => isHarmlessField(field, value));
    return isHarmless ? [] : fields.map(([field, value]) => format(`sources.${name}.${field}`, value));
  });
  const others = listFields(data, ["serve", "history"]).filter(([field, value]) => !isHarmlessField(field, value));
  return [...ofSources, ...others.map(([field, value]) => format(field, value))];
}

/** The fields of an object, and instead of the `nested` ones their own. */
function listFields(value: unknown, nested: readonly string[]): Array<[field: string, value: unknown]> {
  return Object.entries(isObject(value) ? value : {}).flatMap(([field, member]) =>
    nested.includes(field) && isObject(member)
      ? Object.entries(member).map(([inner, own]): [string, unknown] => [`${field}.${inner}`, own])
      : [[field, member] satisfies [string, unknown]],
  );
}

function isHarmlessField(field: string, value: unknown): boolean {
  if (field === "serve.host") return isLoopbackHost(String(value));
  if (field !== "sources" && /\$\{/.test(JSON.stringify(value) ?? "")) return false;
  if (field === "openapi" && !/^https?:\/\//i.test(String(value))) return false; // A file.
  return harmless.has(field);
}

function format(field: string, value: unknown): string {
  return toPrintableLine(`${field}: ${JSON.stringify(value)}`);
}
