import { basename, dirname, resolve } from "node:path";
import type { MCPClientConfig } from "../from/mcp/index.ts";
import { getOwn, isObject, type JSONObject } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { findServerProblems } from "./config-check.ts";
import { type ConfigPath, type ConfigProblem, formatPath, malformed, parseText, readText } from "./config-text.ts";
import {
  collect,
  type Environment,
  expandEditorVariables,
  mapValues,
  type VariableContext,
} from "./config-variables.ts";

/** Options of {@link loadMCPConfig}. */
export interface LoadMCPConfigOptions {
  /** Names of the servers to read. @default all */
  servers?: readonly string[] | undefined;
  /**
   * Variables that the file may use. `OPERATIONS_INPUT_<ID>` is the value of `${input:id}`. @default the environment of
   * this process
   */
  environment?: Environment | undefined;
}

/** A part of a configuration file that cannot be used, and why. */
export interface MCPConfigNotice {
  /** Name of the server. */
  server: string;
  /** Server and field, such as `mcpServers.github.env.TOKEN`. */
  where: string;
  /** A sentence about the field or server. It never contains values of the file. */
  reason: string;
  /** Whether the file disables the server. @default false */
  isDisabled?: boolean;
}

/** Content of a configuration file. */
export interface MCPConfigFile {
  /** Configurations by server name, for `MCPClientLoader.load`. */
  servers: Record<string, MCPClientConfig>;
  /** Servers that cannot be used, and those that are disabled. */
  skipped: MCPConfigNotice[];
  /** Servers with fields that have no effect. */
  warnings: MCPConfigNotice[];
}

/** The properties of a file that contain servers. */
const serverKeys = ["mcpServers", "servers", "mcp_servers"];

/** Folders of settings in a project. Programs run in the project. */
const settingsFolders = [".cursor", ".vscode", ".gemini", ".codex"];

/** The fields with an effect, by their names in a file. */
const fields: Readonly<Record<string, keyof MCPClientConfig>> = {
  command: "command",
  args: "args",
  env: "env",
  url: "url",
  serverUrl: "url", // Windsurf
  httpUrl: "url", // Gemini CLI
  headers: "headers",
  http_headers: "headers", // Codex
};

/** Fields whose effect is not missed. The transport of a URL is found automatically. */
const silentFields = ["type", "description", "disabled", "enabled"];

/**
 * Reads the MCP servers of a configuration file of an editor or agent: TOML if its name ends with `.toml`, otherwise JSON with
 * comments and trailing commas. Of each server, the program with its arguments and environment, or the URL with its headers is
 * used. Variables are expanded. Programs run in the folder of the file, or in the project if the file is in a folder such as
 * `.vscode`. An invalid server is reported in `skipped`. Throws `VALIDATION_ERROR` if the file cannot be read or has no
 * servers. Messages never contain values of the file.
 */
export async function loadMCPConfig(file: string, options: LoadMCPConfigOptions = {}): Promise<MCPConfigFile> {
  const { servers: names, environment = process.env } = options;
  const document = parseText(file, await readText(file)).value;
  const found = serverKeys.filter((key) => getOwn(document, key) !== undefined);
  if (found.length === 0) throw malformed(file, 'must have the key "mcpServers", "servers" or "mcp_servers".');
  const location = dirname(resolve(file));
  const folder = settingsFolders.includes(basename(location)) ? dirname(location) : location;
  const content: MCPConfigFile = { servers: Object.create(null), skipped: [], warnings: [] };
  for (const key of found) {
    const servers = getOwn(document, key);
    if (!isObject(servers)) throw malformed(file, `must have an object of servers in ${key}.`);
    for (const [server, entry] of Object.entries(servers)) {
      const used = isExcluded(document, server) ? { disabled: true } : entry;
      if (names?.includes(server) ?? true) addServer(content, [key, server], used, { environment, folder });
    }
  }
  return content;
}

/** In Gemini CLI, `mcp.allowed` and `mcp.excluded` list servers. */
function isExcluded(document: unknown, server: string): boolean {
  const { allowed, excluded } = (getOwn(document, "mcp") ?? {}) as JSONObject;
  if (Array.isArray(excluded) && excluded.includes(server)) return true;
  return Array.isArray(allowed) && !allowed.includes(server);
}

function addServer(
  { servers, skipped, warnings }: MCPConfigFile,
  path: readonly [key: string, server: string],
  entry: unknown,
  context: VariableContext,
): void {
  const [, server] = path;
  const skip = (reason: string, field: ConfigPath = []) =>
    void skipped.push({ server, where: formatPath([...path, ...field]), reason });
  if (Object.hasOwn(servers, server)) return skip("another server has the same name.");
  if (!isObject(entry)) return skip("it must be an object.");
  if (entry["disabled"] === true || entry["enabled"] === false) {
    skipped.push({ server, where: formatPath(path), reason: "it is disabled.", isDisabled: true });
    return;
  }
  const problems: ConfigProblem[] = [];
  const config = readFields(entry, problems, context);
  for (const { path: field, message } of findServerProblems(config)) {
    problems.push({ path: field, message: `it ${message}` });
  }
  if (problems.length === 0 && (config.command === undefined) === (config.url === undefined)) {
    problems.push({ path: [], message: 'it must have either "command" or "url".' });
  }
  if (config.url !== undefined && problems.length === 0 && !/^https?:/i.test(config.url)) {
    problems.push({ path: ["url"], message: "it must begin with http:// or https://." });
  }
  const [problem] = problems;
  if (problem !== undefined) return skip(problem.message, problem.path);
  servers[server] = config.command === undefined ? config : { ...config, cwd: context.folder };
  const ignored = Object.keys(entry).filter((it) => !Object.hasOwn(fields, it) && !silentFields.includes(it));
  if (ignored.length === 0) return;
  const names = ignored.map((field) => quote(field)).join(", ");
  const reason = ignored.length === 1 ? `the field ${names} is ignored.` : `the fields ${names} are ignored.`;
  warnings.push({ server, where: formatPath(path), reason });
}

/** Returns the fields of a server that have an effect, without a check. */
function readFields(entry: JSONObject, problems: ConfigProblem[], context: VariableContext): MCPClientConfig {
  const config: JSONObject = {};
  for (const [field, name] of Object.entries(fields)) {
    if (!Object.hasOwn(entry, field)) continue;
    config[name] = mapValues(entry[field], [field], (part, path) => {
      if (typeof part === "string") return collect(problems, path, () => expandEditorVariables(part, context)) ?? "-";
      const isText = path.length > 1 && (typeof part === "number" || typeof part === "boolean");
      return isText ? String(part) : part;
    });
  }
  return config;
}
