import { basename, dirname, resolve } from "node:path";
import type { MCPClientConfig } from "../from/mcp/index.ts";
import { getOwn, isObject } from "../internal/objects.ts";
import { type ConfigPath, formatPath, malformed, parseText, readText } from "./config-text.ts";
import { type Environment, inputVariable, type VariableContext, type VariableSyntax } from "./config-variables.ts";
import { editors } from "./editors.ts";
import { readEntry } from "./mcp-config-entry.ts";

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

/** A value that a VS Code configuration file requests from its user. Set the variable `OPERATIONS_INPUT_<ID>` to it. */
export interface MCPConfigInput {
  /** Name of the value. */
  id: string;
  /** Prompt to show to the user. */
  description?: string;
  /** Whether to hide the value while the user types it. */
  password: boolean;
  /** Used unless the variable is set. */
  default?: string;
  /** The values to choose from. */
  options?: string[];
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
  /** Values that the servers request from the user. */
  inputs: MCPConfigInput[];
  /** Servers that cannot be used, and those that are disabled. */
  skipped: MCPConfigNotice[];
  /** Fields that have no effect. */
  warnings: MCPConfigNotice[];
  /** Values of the fields that have no effect, by server and field, as they are written. They may be secret. */
  unused: Record<string, Record<string, unknown>>;
}

/** Paths of the servers in a file. In settings of VS Code, they are in `mcp`. */
const serverPaths = [["mcpServers"], ["servers"], ["mcp", "servers"], ["mcp_servers"]];

/**
 * Reads the MCP servers of a configuration file of an editor or agent: TOML for Codex, otherwise JSON with comments and trailing
 * commas. Variables are expanded. Programs run in the folder of the file, or in the project if the file is in a folder such
 * as `.vscode`, unless the file sets another one. An invalid server is reported in `skipped`. Throws `VALIDATION_ERROR` if
 * the file cannot be read or has no servers. Messages never contain values of the file.
 */
export async function loadMCPConfig(file: string, options: LoadMCPConfigOptions = {}): Promise<MCPConfigFile> {
  const { servers: names, environment = process.env } = options;
  const document = parseText(file, await readText(file)).value;
  const folder = dirname(resolve(file));
  const known = Object.values(editors);
  const editor = known.find(({ projectFile = "" }) => dirname(projectFile) === basename(folder));
  const inputs = readInputs(document);
  const presets = Object.fromEntries(inputs.map(({ id, default: preset }) => [inputVariable(id), preset]));
  const context = {
    environment: { ...presets, ...environment },
    folder: editor === undefined ? folder : dirname(folder),
  };
  const content: MCPConfigFile = { servers: record(), inputs, skipped: [], warnings: [], unused: record() };
  const entries: unknown[] = [];
  const isSelected = (server: string) => names?.includes(server) ?? true;
  const found = serverPaths.filter((path) => read(document, path) !== undefined);
  if (found.length === 0) throw malformed(file, 'must have the key "mcpServers", "servers" or "mcp_servers".');
  for (const path of found) {
    const servers = read(document, path);
    if (!isObject(servers)) throw malformed(file, `must have an object of servers in ${path.join(".")}.`);
    const { syntax } = [editor, ...known].find((it) => it?.serversKey === path.at(-1))!;
    for (const [server, entry] of Object.entries(servers)) {
      if (!isSelected(server)) continue;
      const allowed = isAllowed(document, server) ? entry : { disabled: true };
      addServer(content, [...path, server], allowed, syntax, context);
      entries.push(allowed);
    }
  }
  const texts = JSON.stringify(entries);
  content.inputs = inputs.filter(({ id }) => texts.includes(JSON.stringify(`\${input:${id}}`).slice(1, -1)));
  content.warnings.push(...listProjectServers(document).filter(({ server }) => isSelected(server)));
  return content;
}

function addServer(
  content: MCPConfigFile,
  path: readonly string[],
  entry: unknown,
  syntax: VariableSyntax,
  context: VariableContext,
): void {
  const server = path.at(-1)!;
  const skip = (reason: string, field: ConfigPath = []) =>
    void content.skipped.push({ server, where: formatPath([...path, ...field]), reason });
  if (Object.hasOwn(content.servers, server)) return skip("another server has the same name.");
  if (!isObject(entry)) return skip("it must be an object.");
  if (entry["disabled"] === true || entry["enabled"] === false) {
    content.skipped.push({ server, where: formatPath(path), reason: "it is disabled.", isDisabled: true });
    return;
  }
  const { config, problems, unused } = readEntry(entry, syntax, context);
  const [problem] = problems;
  if (problem !== undefined) return skip(problem.message, problem.path);
  if (config.command !== undefined) config.cwd = resolve(context.folder, config.cwd ?? ".");
  content.servers[server] = config;
  for (const { field, reason } of unused) {
    content.warnings.push({ server, where: formatPath([...path, field]), reason });
    content.unused[server] ??= record();
    content.unused[server][field] = entry[field];
  }
}

/** In Gemini CLI, `mcp.allowed` and `mcp.excluded` list servers. */
function isAllowed(document: unknown, server: string): boolean {
  const allowed = read(document, ["mcp", "allowed"]);
  const excluded = read(document, ["mcp", "excluded"]);
  if (Array.isArray(excluded) && excluded.includes(server)) return false;
  return !Array.isArray(allowed) || allowed.includes(server);
}

/** In `~/.claude.json`, projects have servers of their own. Which project is meant is not known here. */
function listProjectServers(document: unknown): MCPConfigNotice[] {
  const reason = 'servers of single projects are not read. Copy it to "mcpServers".';
  return Object.entries(getOwn(document, "projects") ?? {}).flatMap(([folder, project]) =>
    Object.keys(getOwn(project, "mcpServers") ?? {}).map((server) => ({
      server,
      where: formatPath(["projects", folder, "mcpServers", server]),
      reason,
    })),
  );
}

function readInputs(document: unknown): MCPConfigInput[] {
  const listed = getOwn(document, "inputs") ?? read(document, ["mcp", "inputs"]);
  return (Array.isArray(listed) ? listed : []).flatMap((input: unknown) => {
    const [id, description, preset] = ["id", "description", "default"].map((key) => toText(getOwn(input, key)));
    const options = getOwn(input, "options");
    if (id === undefined) return [];
    return [
      {
        id,
        password: getOwn(input, "password") === true,
        ...(description !== undefined && { description }),
        ...(preset !== undefined && { default: preset }),
        ...(Array.isArray(options) && { options: options.flatMap((it) => toText(getOwn(it, "value") ?? it) ?? []) }),
      },
    ];
  });
}

function toText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function read(document: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => getOwn(value, key), document);
}

/** Returns a record in which `__proto__` is an ordinary key. */
function record<T>(): Record<string, T> {
  return Object.create(null);
}
