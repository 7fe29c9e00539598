import { JSONCError, parseJSONC } from "../../internal/jsonc.ts";
import { CallError } from "../../operation/index.ts";
import type { MCPClientConfig } from "./config.ts";
import { ConfigEntry, EntryProblem } from "./config-entry.ts";
import type { MCPVariables, VariableDialect } from "./config-variables.ts";
import { isObject, textOf } from "./values.ts";

/** How a configuration file is read. */
export interface MCPConfigOptions extends MCPVariables {
  /** Reads the files that `envFile` names. Without it such a server is left out. */
  readFile?: (path: string) => string;
}

/** A value that a file of VS Code wants to be asked for. */
export interface MCPConfigInput {
  id: string;
  description?: string;
  /** Must not be shown while it is typed. */
  password: boolean;
  default?: string;
  /** What can be chosen from. */
  options?: string[];
}

/** What a configuration file says. */
export interface MCPConfigFile {
  /** By name. */
  servers: Record<string, MCPClientConfig>;
  /** Asked for by the file; give their values as `inputs` and read it again. */
  inputs: MCPConfigInput[];
  /** Servers that were left out, and why. `where` names server and field, such as `mcpServers.github.env.TOKEN`. */
  skipped: Array<{ where: string; reason: string }>;
  /** Fields that are not used. */
  warnings: Array<{ where: string; reason: string }>;
}

/** Where servers stand, and whose variables they use. */
const places: ReadonlyArray<{ path: string[]; dialect: VariableDialect }> = [
  { path: ["mcpServers"], dialect: "claude" },
  { path: ["servers"], dialect: "vscode" },
  { path: ["mcp", "servers"], dialect: "vscode" },
];

/**
 * Reads the servers of a file that people already have: `mcpServers` as Claude and Cursor write it, `servers` and
 * `inputs` as VS Code does. Comments and trailing commas are fine; variables are replaced. One wrong server does not
 * harm the others; a text that is no configuration at all throws `VALIDATION_ERROR`. No value is ever in a message.
 */
export function readMCPConfig(source: string | object, options: MCPConfigOptions = {}): MCPConfigFile {
  const document = typeof source === "string" ? parse(source) : source;
  const inputs = readInputs(document);
  const variables: MCPConfigOptions = { ...options, inputs: { ...defaultsOf(inputs), ...options.inputs } };
  const file: MCPConfigFile = { servers: Object.create(null), inputs, skipped: [], warnings: [] };
  let found = false;
  for (const { path, dialect } of places) {
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
  for (const field of entry.unused) file.warnings.push({ where: `${where}.${field}`, reason: "it is not used here." });
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
  const value = isObject(option) ? textOf(option["value"]) : textOf(option);
  return value === undefined ? [] : [value];
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
