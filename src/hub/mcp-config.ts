import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname, extname, resolve } from "node:path";
import type { MCPClientConfig } from "../from/mcp/index.ts";
import { getOwn, isObject } from "../internal/objects.ts";
import { quote, toReason } from "../internal/text.ts";
import { CallError } from "../operation/index.ts";
import { invalidConfig } from "./config-resolve.ts";
import { parseJSONText, parseTOMLText, TextError } from "./config-text.ts";
import { ConfigEntry, EntryProblem } from "./mcp-config-entry.ts";
import { inputVariable, type MCPVariables, type VariableDialect } from "./mcp-config-variables.ts";

/** Options of {@link readMCPConfig}. */
export interface MCPConfigOptions extends MCPVariables {
  /** Whether the file belongs to Gemini CLI, which also expands `$NAME`. @default false */
  gemini?: boolean | undefined;
}

/** A value that a VS Code configuration file requests from its user. */
export interface MCPConfigInput {
  /** Name of the value in `inputs` of {@link MCPVariables}. */
  id: string;
  /** Prompt to show to the user. */
  description?: string;
  /** Whether to hide the value while the user types it. */
  password: boolean;
  /** Used unless `inputs` has a value. */
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
  /** Values that the file requests from its user. Pass them as the option `inputs` and read the file again. */
  inputs: MCPConfigInput[];
  /** Servers that cannot be used, and those that are disabled. */
  skipped: MCPConfigNotice[];
  /** Fields that have no effect. */
  warnings: MCPConfigNotice[];
  /** Values of the fields that have no effect, by server and field, as they are written. They may be secret. */
  unused: Record<string, Record<string, unknown>>;
}

/** Options of {@link loadMCPConfig}. */
export interface LoadMCPConfigOptions {
  /** Names of the servers to read. @default all */
  servers?: readonly string[] | undefined;
  /**
   * Variables that the file may use. `OPERATIONS_INPUT_<ID>` is the value of `${input:id}`. @default the environment of
   * this process
   */
  environment?: Readonly<Record<string, string | undefined>> | undefined;
}

/** Folders of editors in a project. */
const editorFolders = [".cursor", ".vscode", ".gemini", ".codex", ".windsurf"];

/**
 * Reads the MCP servers of a configuration file of an editor or agent: JSON, or TOML for Codex. Programs run in the folder
 * of the file, or in the project if the file is in a folder such as `.vscode`, unless the file sets another one. Throws
 * `VALIDATION_ERROR` if the file cannot be read.
 */
export async function loadMCPConfig(file: string, options: LoadMCPConfigOptions = {}): Promise<MCPConfigFile> {
  const { servers: names, environment: env } = options;
  const folder = dirname(resolve(file));
  const workspaceFolder = editorFolders.includes(basename(folder)) ? dirname(folder) : folder;
  const document = parseFile(file, await readText(file));
  const content = readMCPConfig(document, {
    env,
    workspaceFolder,
    readFile: (path) => readFileSync(resolve(workspaceFolder, path), "utf8"),
    gemini: basename(folder) === ".gemini",
  });
  const isSelected = (server: string) => names === undefined || names.includes(server);
  const select = <T>(values: Record<string, T>) => Object.entries(values).filter(([server]) => isSelected(server));
  return {
    inputs: content.inputs,
    servers: Object.fromEntries(select(content.servers).map(([name, it]) => [name, withFolder(it, workspaceFolder)])),
    skipped: content.skipped.filter(({ server }) => isSelected(server)),
    warnings: content.warnings.filter(({ server }) => isSelected(server)),
    unused: Object.fromEntries(select(content.unused)),
  };
}

function withFolder(config: MCPClientConfig, folder: string): MCPClientConfig {
  return config.command === undefined ? config : { ...config, cwd: resolve(folder, config.cwd ?? ".") };
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const message = `The MCP configuration ${quote(file)} cannot be read: ${toReason(error)}. Check the path.`;
    throw new CallError("VALIDATION_ERROR", message, { file }, { mayHaveRun: false, cause: error });
  }
}

function parseFile(file: string, text: string): object {
  try {
    return parse(text, extname(file) === ".toml");
  } catch (error) {
    if (!(error instanceof TextError)) throw error;
    throw invalidConfig(file, [{ path: [], message: error.message }], () => error.position);
  }
}

/** Paths of the servers in a file, and the syntax of their variables. */
const serverPaths: ReadonlyArray<{ path: string[]; dialect: VariableDialect }> = [
  { path: ["mcpServers"], dialect: "claude" },
  { path: ["servers"], dialect: "vscode" },
  { path: ["mcp", "servers"], dialect: "vscode" },
  { path: ["mcp_servers"], dialect: "codex" },
];

/**
 * Reads the MCP servers of an existing configuration: `mcpServers` of Claude, Cursor, Windsurf and Gemini CLI, `servers` and
 * `inputs` of VS Code, `mcp_servers` of Codex. A string is JSON with comments and trailing commas; pass TOML as the parsed
 * object. Variables are expanded. An invalid server is reported in `skipped`; a file without servers throws
 * `VALIDATION_ERROR`. Messages never contain values of the file.
 */
export function readMCPConfig(source: string | object, options: MCPConfigOptions = {}): MCPConfigFile {
  let document: object;
  try {
    document = typeof source === "string" ? parse(source, false) : source;
  } catch (error) {
    if (!(error instanceof TextError)) throw error;
    const { line, column } = error.position ?? {};
    throw invalid(`${error.message.replace(/\.$/, "")} at line ${line}, column ${column}`);
  }
  const inputs = readInputs(document);
  const variables: MCPConfigOptions = { ...options, inputs: { ...valuesOf(inputs, options), ...options.inputs } };
  const file: MCPConfigFile = { servers: record(), inputs, skipped: [], warnings: [], unused: record() };
  const mayRun = readServerLists(document);
  let found = false;
  for (const { path, dialect } of serverPaths) {
    const servers = path.reduce<unknown>((value, key) => getOwn(value, key), document);
    if (servers === undefined) continue;
    const where = path.join(".");
    if (!isObject(servers)) throw invalid(`"${where}" must be an object with one entry for each server`);
    found = true;
    const syntax = options.gemini === true && dialect === "claude" ? "gemini" : dialect;
    for (const [server, entry] of Object.entries(servers)) {
      readServer(file, { server, where: `${where}.${server}` }, entry, mayRun(server), variables, syntax);
    }
  }
  reportProjects(document, file);
  if (!found) throw invalid('it has neither "mcpServers" nor "servers" nor "mcp_servers"');
  return file;
}

function readServer(
  file: MCPConfigFile,
  place: { server: string; where: string },
  value: unknown,
  mayRun: boolean,
  options: MCPVariables,
  dialect: VariableDialect,
): void {
  const { server, where } = place;
  const skip = (reason: string, field?: string) =>
    void file.skipped.push({ server, where: field === undefined ? where : `${where}.${field}`, reason });
  if (Object.hasOwn(file.servers, server)) return skip("another server has the same name.");
  if (!isObject(value)) return skip("it must be an object.");
  if (value["disabled"] === true || value["enabled"] === false || !mayRun) {
    file.skipped.push({ ...place, reason: "it is disabled.", isDisabled: true });
    return;
  }
  const entry = new ConfigEntry(value, options, dialect);
  try {
    file.servers[server] = entry.read();
  } catch (error) {
    if (!(error instanceof EntryProblem)) throw error;
    return skip(error.message, error.field);
  }
  for (const { field, value: unused, reason } of entry.unused()) {
    file.warnings.push({ server, where: `${where}.${field}`, reason });
    file.unused[server] ??= record();
    file.unused[server][field] = unused;
  }
}

/** In `~/.claude.json`, projects have servers of their own. Which project is meant is not known here. */
function reportProjects(document: object, { warnings }: MCPConfigFile): void {
  const projects = getOwn(document, "projects");
  for (const [folder, project] of Object.entries(isObject(projects) ? projects : {})) {
    const servers = getOwn(project, "mcpServers");
    for (const server of Object.keys(isObject(servers) ? servers : {})) {
      const where = `projects[${quote(folder)}].mcpServers.${server}`;
      warnings.push({ server, where, reason: 'servers of single projects are not read. Copy it to "mcpServers".' });
    }
  }
}

/** In Gemini CLI, `mcp.allowed` and `mcp.excluded` list servers. */
function readServerLists(document: object): (server: string) => boolean {
  const allowed = getOwn(getOwn(document, "mcp"), "allowed");
  const excluded = getOwn(getOwn(document, "mcp"), "excluded");
  return (server) =>
    (!Array.isArray(allowed) || allowed.includes(server)) && !(Array.isArray(excluded) && excluded.includes(server));
}

function parse(text: string, isTOML: boolean): object {
  const document = isTOML ? parseTOMLText(text) : parseJSONText(text).value;
  if (!isObject(document)) throw invalid("it must be an object");
  return document;
}

function readInputs(document: object): MCPConfigInput[] {
  const listed = getOwn(document, "inputs") ?? getOwn(getOwn(document, "mcp"), "inputs");
  if (!Array.isArray(listed)) return [];
  return listed.filter(isObject).flatMap((input) => {
    const { id, description, password, default: preset, options } = input;
    if (typeof id !== "string") return [];
    return [
      {
        id,
        ...(typeof description === "string" && { description }),
        password: password === true,
        ...(typeof preset === "string" && { default: preset }),
        ...(Array.isArray(options) && { options: options.flatMap(optionOf) }),
      },
    ];
  });
}

function optionOf(option: unknown): string[] {
  const value = isObject(option) ? option["value"] : option;
  return typeof value === "string" ? [value] : [];
}

/** Returns the values of inputs that the environment or the file itself provides. */
function valuesOf(inputs: readonly MCPConfigInput[], { env = process.env }: MCPVariables): Record<string, string> {
  const values = inputs.map(({ id, default: preset }) => [id, env[inputVariable(id)] ?? preset] as const);
  return Object.fromEntries(values.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Returns a record in which `__proto__` is an ordinary key. */
function record<T>(): Record<string, T> {
  return Object.create(null);
}

function invalid(problem: string): CallError {
  return new CallError("VALIDATION_ERROR", `The MCP configuration cannot be read: ${problem}.`, undefined, {
    mayHaveRun: false,
  });
}
