import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { MCPClientConfig } from "../from/mcp/index.ts";
import { isObject } from "../internal/objects.ts";
import { CallError } from "../operation/index.ts";
import { JSONCError, parseJSONC } from "./jsonc.ts";
import { ConfigEntry, EntryProblem } from "./mcp-config-entry.ts";
import type { MCPVariables, VariableDialect } from "./mcp-config-variables.ts";

/** Options of {@link readMCPConfig}. */
export interface MCPConfigOptions extends MCPVariables {
  /** Reads the file that `envFile` of a server names. Without this option such a server is skipped. */
  readFile?: (path: string) => string;
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

/** Content of a configuration file. */
export interface MCPConfigFile {
  /** Configurations by server name, for `MCPClientLoader.load`. */
  servers: Record<string, MCPClientConfig>;
  /** Values that the file requests from its user. Pass them as the option `inputs` and read the file again. */
  inputs: MCPConfigInput[];
  /** Servers that cannot be used. `where` names server and field, such as `mcpServers.github.env.TOKEN`. */
  skipped: Array<{ where: string; reason: string }>;
  /** Fields that are not supported. */
  warnings: Array<{ where: string; reason: string }>;
}

/** Options of {@link loadMCPConfig}. */
export interface LoadMCPConfigOptions {
  /** Names of the servers to read. @default all */
  servers?: readonly string[];
  /**
   * Variables that the file may use. `OPERATIONS_INPUT_<ID>` is the value of `${input:id}`. @default the environment of
   * this process
   */
  environment?: Readonly<Record<string, string | undefined>>;
}

/**
 * Reads the MCP servers of a configuration file of an editor or agent. Programs run in the folder of the file, unless it
 * sets another one. Throws `VALIDATION_ERROR` if the file cannot be read.
 */
export async function loadMCPConfig(file: string, options: LoadMCPConfigOptions = {}): Promise<MCPConfigFile> {
  const { servers: names, environment = process.env } = options;
  const folder = dirname(resolve(file));
  const text = await readFile(file, "utf8");
  const content = readMCPConfig(text, {
    env: environment,
    workspaceFolder: folder,
    readFile: (path) => readFileSync(resolve(folder, path), "utf8"),
  });
  const selected = Object.entries(content.servers).filter(([name]) => names === undefined || names.includes(name));
  return { ...content, servers: Object.fromEntries(selected) };
}

/** Paths of the servers in a file, and the syntax of their variables. */
const serverPaths: ReadonlyArray<{ path: string[]; dialect: VariableDialect }> = [
  { path: ["mcpServers"], dialect: "claude" },
  { path: ["servers"], dialect: "vscode" },
  { path: ["mcp", "servers"], dialect: "vscode" },
];

/**
 * Reads the MCP servers of an existing configuration file: `mcpServers` of Claude and Cursor, `servers` and `inputs` of
 * VS Code. Comments and trailing commas are allowed, and variables are expanded. An invalid server is reported in
 * `skipped`; a file without servers throws `VALIDATION_ERROR`. Messages never contain values of the file.
 */
export function readMCPConfig(source: string | object, options: MCPConfigOptions = {}): MCPConfigFile {
  const document = typeof source === "string" ? parse(source) : source;
  const inputs = readInputs(document);
  const variables: MCPConfigOptions = { ...options, inputs: { ...defaultsOf(inputs), ...options.inputs } };
  const file: MCPConfigFile = { servers: Object.create(null), inputs, skipped: [], warnings: [] };
  let found = false;
  for (const { path, dialect } of serverPaths) {
    const servers = path.reduce<unknown>((value, key) => (isObject(value) ? value[key] : undefined), document);
    if (servers === undefined) continue;
    const where = path.join(".");
    if (!isObject(servers)) throw invalid(`"${where}" must be an object with one entry for each server`);
    found = true;
    for (const [name, entry] of Object.entries(servers))
      readServer(file, `${where}.${name}`, name, entry, variables, dialect);
  }
  if (!found) throw invalid('it has neither "mcpServers" nor "servers"');
  return file;
}

function readServer(
  file: MCPConfigFile,
  where: string,
  name: string,
  value: unknown,
  options: MCPConfigOptions,
  dialect: VariableDialect,
): void {
  const skip = (reason: string, field?: string) =>
    void file.skipped.push({ where: field === undefined ? where : `${where}.${field}`, reason });
  if (Object.hasOwn(file.servers, name)) return skip("another server has the same name.");
  if (!isObject(value)) return skip("it must be an object.");
  if (value["disabled"] === true || value["enabled"] === false) return skip("it is disabled.");
  const entry = new ConfigEntry(value, options, dialect);
  try {
    file.servers[name] = entry.read();
  } catch (error) {
    if (!(error instanceof EntryProblem)) throw error;
    skip(error.message, error.field);
  }
  for (const field of entry.unused)
    file.warnings.push({ where: `${where}.${field}`, reason: "this field is not supported." });
}

function parse(text: string): object {
  let document: unknown;
  try {
    document = parseJSONC(text);
  } catch (error) {
    if (error instanceof JSONCError) throw invalid(`it is ${error.message}`);
    throw error;
  }
  if (!isObject(document)) throw invalid("it must be an object");
  return document;
}

function readInputs(document: object): MCPConfigInput[] {
  const { inputs, mcp } = document as { inputs?: unknown; mcp?: { inputs?: unknown } };
  const listed = inputs ?? (isObject(mcp) ? mcp["inputs"] : undefined);
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

function defaultsOf(inputs: readonly MCPConfigInput[]): Record<string, string> {
  const defaults = inputs.flatMap(({ id, default: preset }) => (preset === undefined ? [] : [[id, preset] as const]));
  return Object.fromEntries(defaults);
}

function invalid(problem: string): CallError {
  return new CallError("VALIDATION_ERROR", `The MCP configuration cannot be read: ${problem}.`, undefined, {
    mayHaveRun: false,
  });
}
