import type { MCPClientConfig } from "../from/mcp/index.ts";
import { isObject } from "../internal/objects.ts";
import type { MCPConfigOptions } from "./mcp-config.ts";
import { expandVariables, MissingVariable, type VariableDialect } from "./mcp-config-variables.ts";

/** The reason why a server cannot be used. Names the field, never its value. */
export class EntryProblem extends Error {
  readonly field: string | undefined;

  constructor(field: string | undefined, message: string) {
    super(message);
    this.field = field;
  }
}

/** Additional fields of `MCPClientConfig` that a file may set, with their types. */
const ownFields = {
  protocol: "string",
  trustAnnotations: "boolean",
  pinned: "boolean",
  resources: "boolean",
  prompts: "boolean",
  outputPolicy: "string",
  tools: "object",
  timeouts: "object",
  limits: "object",
  accessControl: "object",
} as const;

/** Converts one server of a configuration file. */
export class ConfigEntry {
  /** Fields that are not supported. Set by {@link read}. */
  unused: string[] = [];
  readonly #entry: Record<string, unknown>;
  readonly #options: MCPConfigOptions;
  readonly #dialect: VariableDialect;
  readonly #used = new Set(["disabled", "enabled", "description"]);

  constructor(entry: Record<string, unknown>, options: MCPConfigOptions, dialect: VariableDialect) {
    this.#entry = entry;
    this.#options = options;
    this.#dialect = dialect;
  }

  /** Throws an {@link EntryProblem} if the entry is invalid. */
  read(): MCPClientConfig {
    const command = this.#string("command");
    // Other programs use other names for this field.
    const url = this.#string("url") ?? this.#string("serverUrl") ?? this.#string("httpUrl");
    const type = this.#type();
    if (command === undefined && url === undefined) {
      throw new EntryProblem(undefined, 'it has neither "command" nor "url".');
    }
    if (command !== undefined && url !== undefined) {
      throw new EntryProblem(undefined, 'it has both "command" and "url".');
    }
    const config = command === undefined ? this.#remote(url!, type) : this.#local(command);
    const all = { ...config, ...this.#own() };
    this.unused = Object.keys(this.#entry).filter((field) => !this.#used.has(field));
    return all;
  }

  #local(command: string): MCPClientConfig {
    const args = this.#list("args");
    const cwd = this.#string("cwd");
    const env = { ...this.#envFile(), ...this.#strings("env") };
    const inheritEnv = this.#list("inheritEnv");
    return {
      command,
      ...(args && { args }),
      ...(Object.keys(env).length > 0 && { env }),
      ...(cwd !== undefined && { cwd }),
      ...(inheritEnv && { inheritEnv }),
    };
  }

  #remote(url: string, type: string | undefined): MCPClientConfig {
    if (!URL.canParse(url)) throw new EntryProblem("url", "it is not a URL.");
    const headers = this.#strings("headers");
    const auth = this.#auth();
    return {
      url,
      ...(type === "sse" && { transport: "sse" as const }),
      ...(headers && { headers }),
      ...(auth && { auth }),
    };
  }

  /** Returns the transport of the entry. All names of Streamable HTTP mean the default. */
  #type(): string | undefined {
    const type = this.#string("type") ?? this.#string("transport");
    const known = [undefined, "stdio", "http", "sse", "streamable-http", "streamableHttp"];
    if (!known.includes(type)) throw new EntryProblem("type", 'it must be "stdio", "http" or "sse".');
    return type;
  }

  #auth(): MCPClientConfig["auth"] {
    const value = this.#take("auth");
    if (value === undefined) return undefined;
    if (!isObject(value)) throw new EntryProblem("auth", "it must be an object.");
    const fields = this.#expandAll("auth", value);
    const { type, token, clientId, clientSecret } = fields;
    if (type === "bearer" && token !== undefined) return { type, token };
    if (type === "clientCredentials" && clientId !== undefined && clientSecret !== undefined) {
      return { type, clientId, clientSecret, scope: fields["scope"], expectedIssuer: fields["expectedIssuer"] };
    }
    throw new EntryProblem(
      "auth",
      'it must be { "type": "bearer", "token" } or { "type": "clientCredentials", "clientId", "clientSecret" }.',
    );
  }

  #own(): Partial<MCPClientConfig> {
    const own: Record<string, unknown> = {};
    for (const [field, kind] of Object.entries(ownFields)) {
      const value = this.#take(field);
      if (value === undefined) continue;
      const fits = kind === "object" ? isObject(value) : typeof value === kind;
      if (!fits) throw new EntryProblem(field, `it must be ${kind === "object" ? "an object" : `a ${kind}`}.`);
      own[field] = value;
    }
    const restart = this.#take("restart");
    if (restart !== undefined) {
      if (typeof restart !== "boolean" && !isObject(restart)) {
        throw new EntryProblem("restart", "it must be true, false or an object.");
      }
      own["restart"] = restart;
    }
    const include = this.#list("includeTools");
    const exclude = this.#list("excludeTools");
    if (include || exclude) own["tools"] ??= { ...(include && { include }), ...(exclude && { exclude }) };
    return own;
  }

  #envFile(): Record<string, string> {
    const path = this.#string("envFile");
    if (path === undefined) return {};
    const { readFile } = this.#options;
    if (readFile === undefined)
      throw new EntryProblem("envFile", "it requires the option readFile of readMCPConfig().");
    let text: string;
    try {
      text = readFile(path);
    } catch {
      throw new EntryProblem("envFile", "the file cannot be read. Check that it exists.");
    }
    return parseEnvFile(text);
  }

  #take(field: string): unknown {
    this.#used.add(field);
    return Object.hasOwn(this.#entry, field) ? this.#entry[field] : undefined;
  }

  #string(field: string): string | undefined {
    const value = this.#take(field);
    if (value === undefined || value === null) return undefined;
    if (typeof value !== "string") throw new EntryProblem(field, "it must be a string.");
    return this.#expand(field, value);
  }

  #list(field: string): string[] | undefined {
    const value = this.#take(field);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) throw new EntryProblem(field, "it must be an array of strings.");
    return value.map((item, index) => this.#expandValue(`${field}[${index}]`, item));
  }

  #strings(field: string): Record<string, string> | undefined {
    const value = this.#take(field);
    if (value === undefined) return undefined;
    if (!isObject(value)) throw new EntryProblem(field, "it must be an object of strings.");
    return this.#expandAll(field, value);
  }

  #expandAll(field: string, values: Record<string, unknown>): Record<string, string> {
    const expanded: Record<string, string> = Object.create(null);
    for (const [name, value] of Object.entries(values)) {
      // In VS Code null removes a variable.
      if (value !== null) expanded[name] = this.#expandValue(`${field}.${name}`, value);
    }
    return expanded;
  }

  #expandValue(field: string, value: unknown): string {
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    if (typeof value !== "string") throw new EntryProblem(field, "it must be a string.");
    return this.#expand(field, value);
  }

  #expand(field: string, text: string): string {
    try {
      return expandVariables(text, this.#options, this.#dialect);
    } catch (error) {
      if (error instanceof MissingVariable) throw new EntryProblem(field, `${error.message}.`);
      throw error;
    }
  }
}

/** Parses lines of `NAME=value`, with or without quotes and `export`. */
function parseEnvFile(text: string): Record<string, string> {
  const variables: Record<string, string> = Object.create(null);
  for (const line of text.split(/\r?\n/)) {
    const found =
      /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^#]*?))\s*(?:#.*)?$/.exec(
        line,
      );
    if (found === null) continue;
    const [, name, quoted, literal, bare] = found;
    variables[name!] = quoted?.replace(/\\n/g, "\n").replace(/\\(.)/g, "$1") ?? literal ?? bare ?? "";
  }
  return variables;
}
