import { parseEnv } from "node:util";
import type { MCPClientConfig } from "../from/mcp/index.ts";
import { nearest } from "../internal/nearest.ts";
import { isObject } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import {
  expandVariables,
  type MCPVariables,
  MissingVariable,
  readVariable,
  type VariableDialect,
} from "./mcp-config-variables.ts";

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

/** Fields of other programs that are known and have no effect here, because they control that program or log in to servers. */
const otherFields = new Set([
  // Claude Code, VS Code, Cursor
  "auth",
  "oauth",
  "headersHelper",
  "alwaysLoad",
  "dev",
  "sandbox",
  "sandboxEnabled",
  "gallery",
  "version",
  // Windsurf and others
  "alwaysAllow",
  "autoApprove",
  // Gemini CLI
  "trust",
  "extension",
  "authProviderType",
  "targetAudience",
  "targetServiceAccount",
  // Codex
  "required",
  "scopes",
  "oauth_resource",
  "default_tools_approval_mode",
  "supports_parallel_tool_calls",
  "experimental_environment",
  "tools",
]);

/** Converts one server of a configuration file. */
export class ConfigEntry {
  readonly #entry: Record<string, unknown>;
  readonly #options: MCPVariables;
  readonly #dialect: VariableDialect;
  readonly #used = new Set(["disabled", "enabled", "description"]);

  constructor(entry: Record<string, unknown>, options: MCPVariables, dialect: VariableDialect) {
    this.#entry = entry;
    this.#options = options;
    this.#dialect = dialect;
  }

  /** Throws an {@link EntryProblem} if the entry is invalid. */
  read(): MCPClientConfig {
    const command = this.#string("command");
    const url = this.#string("httpUrl") ?? this.#string("serverUrl") ?? this.#string("url") ?? this.#string("baseUrl");
    const type = this.#type();
    if (command === undefined && url === undefined) {
      throw new EntryProblem(undefined, 'it has neither "command" nor "url".');
    }
    if (command !== undefined && url !== undefined) {
      throw new EntryProblem(undefined, 'it has both "command" and "url".');
    }
    const config = command === undefined ? this.#remote(url!, type) : this.#local(command);
    return { ...config, ...this.#own(), ...this.#tools(), ...this.#timeouts() };
  }

  /** Fields that have no effect, as they are written, and why. Call it after {@link read}. */
  unused(): Array<{ field: string; value: unknown; reason: string }> {
    const fields = Object.entries(this.#entry).filter(([field]) => !this.#used.has(field));
    return fields.map(([field, value]) => {
      if (otherFields.has(field)) return { field, value, reason: "this field has no effect here." };
      const near = nearest(field, this.#used);
      const hint = near === undefined ? "" : ` Did you mean ${quote(near)}?`;
      return { field, value, reason: `this field is not known.${hint}` };
    });
  }

  #local(command: string): MCPClientConfig {
    const args = this.#list("args");
    const cwd = this.#string("cwd");
    const env = { ...this.#inherited("env_vars"), ...this.#envFile(), ...this.#strings("env") };
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
    if (!/^https?:/i.test(url)) throw new EntryProblem("url", "it must begin with http:// or https://.");
    const headers = {
      ...this.#strings("headers"),
      ...this.#strings("http_headers"),
      ...this.#named("env_http_headers"),
    };
    const auth = this.#auth();
    return {
      url,
      ...(type === "sse" && { transport: "sse" as const }),
      ...(Object.keys(headers).length > 0 && { headers }),
      ...(auth && { auth }),
    };
  }

  /** Returns the transport of the entry. All names of Streamable HTTP mean the default. */
  #type(): string | undefined {
    const type = this.#string("type") ?? this.#string("transport");
    const known = [undefined, "stdio", "http", "sse", "streamable-http", "streamableHttp", "streamable_http"];
    if (!known.includes(type)) throw new EntryProblem("type", 'it must be "stdio", "http" or "sse".');
    return type;
  }

  #auth(): MCPClientConfig["auth"] {
    const variable = this.#string("bearer_token_env_var");
    if (variable !== undefined) {
      return {
        type: "bearer",
        token: this.#resolve("bearer_token_env_var", () => readVariable(variable, this.#options)),
      };
    }
    const value = this.#entry["auth"];
    // The client of a login in the browser, which Cursor performs.
    if (value === undefined || (isObject(value) && Object.hasOwn(value, "CLIENT_ID"))) return undefined;
    this.#used.add("auth");
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
      // In files of Codex, `tools` has the approvals of single tools.
      const value = this.#dialect === "codex" && field === "tools" ? undefined : this.#take(field);
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
    return own;
  }

  #tools(): Pick<MCPClientConfig, "tools"> {
    const include = this.#list("includeTools") ?? this.#list("enabled_tools");
    const exclude = this.#list("excludeTools") ?? this.#list("disabledTools") ?? this.#list("disabled_tools");
    if (!include && !exclude) return {};
    return { tools: { ...(include && { include }), ...(exclude && { exclude }) } };
  }

  /** Time limits of other programs, in ms or seconds. */
  #timeouts(): Pick<MCPClientConfig, "timeouts"> {
    const connect = this.#duration("startup_timeout_ms", 1) ?? this.#duration("startup_timeout_sec", 1_000);
    const request = this.#duration("timeout", 1) ?? this.#duration("tool_timeout_sec", 1_000);
    if (connect === undefined && request === undefined) return {};
    return { timeouts: { ...(connect !== undefined && { connect }), ...(request !== undefined && { request }) } };
  }

  #duration(field: string, factor: number): number | undefined {
    const value = this.#take(field);
    if (value === undefined) return undefined;
    if (typeof value === "number" && value > 0 && Number.isFinite(value)) return value * factor;
    throw new EntryProblem(field, "it must be a number above 0.");
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
    return { ...parseEnv(text) } as Record<string, string>;
  }

  /** Values of the variables in a list of names, if they are set. */
  #inherited(field: string): Record<string, string> {
    const { env = process.env } = this.#options;
    const value = this.#take(field) ?? [];
    if (!Array.isArray(value)) throw new EntryProblem(field, "it must be an array of names.");
    const names = value.map((item: unknown) => (isObject(item) ? item["name"] : item));
    return Object.fromEntries(
      names.flatMap((name) => {
        if (typeof name !== "string") throw new EntryProblem(field, "it must be an array of names.");
        const found = Object.hasOwn(env, name) ? env[name] : undefined;
        return found === undefined ? [] : [[name, found]];
      }),
    );
  }

  /** Values of variables whose names are the members of an object. */
  #named(field: string): Record<string, string> {
    const names = Object.entries(this.#strings(field) ?? {});
    return Object.fromEntries(
      names.map(([key, name]) => [key, this.#resolve(`${field}.${key}`, () => readVariable(name, this.#options))]),
    );
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
    return this.#resolve(field, () => expandVariables(text, this.#options, this.#dialect));
  }

  #resolve(field: string, read: () => string): string {
    try {
      return read();
    } catch (error) {
      if (error instanceof MissingVariable) throw new EntryProblem(field, `${error.message}.`);
      throw error;
    }
  }
}
