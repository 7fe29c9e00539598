import { parseEnv } from "node:util";
import type { MCPClientConfig } from "../from/mcp/index.ts";
import { nearest } from "../internal/nearest.ts";
import { getOwn, isObject, type JSONObject } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { findServerProblems } from "./config-check.ts";
import type { ConfigProblem } from "./config-text.ts";
import {
  collect,
  expandVariables,
  mapValues,
  readTextFile,
  readVariable,
  UnusableValue,
  type VariableContext,
  type VariableSyntax,
} from "./config-variables.ts";

/** Converts the value of a field of an editor, in which variables have been expanded, to fields of `MCPClientConfig`. */
type Translation = (value: unknown, context: VariableContext) => JSONObject;

/** Fields of `MCPClientConfig` that files may contain, as they are. */
const ownFields =
  "command cwd inheritEnv auth protocol trustAnnotations pinned resources prompts outputPolicy tools timeouts limits restart";

/** The fields with an effect. Where two set the same, the later one in this table overrides the earlier one. */
const translations: Readonly<Record<string, Translation>> = {
  ...Object.fromEntries(ownFields.split(" ").map((field) => [field, (value: unknown) => ({ [field]: value })])),
  transport: toTransport,
  type: toTransport,
  args: (value) => ({ args: Array.isArray(value) ? value.map(toText) : value }),
  baseUrl: toURL,
  url: toURL,
  serverUrl: toURL,
  httpUrl: toURL,
  env_vars: (value, { environment }) => ({ env: pickVariables(value, environment) }),
  envFile: (value, context) => ({ env: { ...parseEnv(readTextFile(assertString(value), context)) } }),
  env: (value) => ({ env: mapMembers(value, toText) }),
  headers: (value) => ({ headers: mapMembers(value, toText) }),
  http_headers: (value) => ({ headers: mapMembers(value, toText) }),
  env_http_headers: (names, context) => ({
    headers: mapMembers(names, (name) => readVariable(assertString(name), context)),
  }),
  bearer_token_env_var: (name, context) => ({
    auth: { type: "bearer", token: readVariable(assertString(name), context) },
  }),
  enabled_tools: (include) => ({ tools: { include } }),
  includeTools: (include) => ({ tools: { include } }),
  disabled_tools: (exclude) => ({ tools: { exclude } }),
  disabledTools: (exclude) => ({ tools: { exclude } }),
  excludeTools: (exclude) => ({ tools: { exclude } }),
  startup_timeout_sec: (seconds) => ({ timeouts: { connect: toMs(seconds) } }),
  startup_timeout_ms: (connect) => ({ timeouts: { connect } }),
  tool_timeout_sec: (seconds) => ({ timeouts: { request: toMs(seconds) } }),
  timeout: (request) => ({ timeouts: { request } }),
};

/** Fields that were read elsewhere. */
const otherFields = ["disabled", "enabled", "description"];

/** Fields of other programs that have no effect here, because they control that program or log in to servers. */
const inertFields = [
  "auth oauth headersHelper alwaysLoad dev sandbox sandboxEnabled gallery version", // Claude Code, Cursor, VS Code
  "alwaysAllow autoApprove trust extension authProviderType targetAudience targetServiceAccount", // Windsurf, Gemini CLI
  "required scopes oauth_resource default_tools_approval_mode supports_parallel_tool_calls", // Codex
  "experimental_environment tools",
]
  .join(" ")
  .split(" ");

/** A server of a configuration file of an editor. */
export interface MCPConfigEntry {
  /** Its configuration. Do not use it if there are problems. */
  config: MCPClientConfig;
  /** Why it cannot be used. The paths begin in the entry. */
  problems: ConfigProblem[];
  /** Fields that have no effect, and why. */
  unused: Array<{ field: string; reason: string }>;
}

/** Converts one server of a configuration file. */
export function readEntry(entry: JSONObject, syntax: VariableSyntax, context: VariableContext): MCPConfigEntry {
  const config: JSONObject = {};
  const problems: ConfigProblem[] = [];
  const used = Object.keys(translations).filter(
    (field) => Object.hasOwn(entry, field) && !isInert(field, entry, syntax),
  );
  for (const field of used) {
    const value = mapValues(entry[field], [field], (part, path) =>
      typeof part === "string" ? collect(problems, path, () => expandVariables(part, syntax, context)) : part,
    );
    if (value === null || problems.length > 0) continue;
    const part = collect(problems, [field], () => translations[field]!(value, context)) ?? {};
    for (const { path, message } of findServerProblems(part)) {
      problems.push({ path: path[0] === field ? path : [field], message: `it ${message}` });
    }
    for (const [key, added] of Object.entries(part)) {
      const before = config[key];
      config[key] = isObject(before) && isObject(added) ? { ...before, ...added } : added;
    }
  }
  if (problems.length === 0 && "command" in config === "url" in config) {
    problems.push({ path: [], message: 'it must have either "command" or "url".' });
  }
  const unused = Object.keys(entry).filter((field) => ![...used, ...otherFields].includes(field));
  return { config, problems, unused: unused.map((field) => ({ field, reason: explain(field) })) };
}

function isInert(field: string, entry: JSONObject, syntax: VariableSyntax): boolean {
  // In files of Codex, `tools` has the approvals of single tools. In those of Cursor, `auth` has the client of a login.
  if (field === "tools") return syntax === "codex";
  return field === "auth" && getOwn(entry["auth"], "CLIENT_ID") !== undefined;
}

function explain(field: string): string {
  if (inertFields.includes(field)) return "this field has no effect here.";
  const near = nearest(field, Object.keys(translations));
  return `this field is not known.${near === undefined ? "" : ` Did you mean ${quote(near)}?`}`;
}

function assertString(value: unknown): string {
  if (typeof value !== "string") throw new UnusableValue("it must be a string");
  return value;
}

function toURL(value: unknown): JSONObject {
  const url = assertString(value);
  if (/^https?:/i.test(url) && URL.canParse(url)) return { url };
  throw new UnusableValue("it must begin with http:// or https://");
}

/** All names of Streamable HTTP mean the default. */
function toTransport(type: unknown): JSONObject {
  if (type === "sse") return { transport: "sse" };
  const names: unknown[] = ["stdio", "http", "streamable-http", "streamableHttp", "streamable_http"];
  if (names.includes(type)) return {};
  throw new UnusableValue('it must be "stdio", "http" or "sse"');
}

function toText(value: unknown): unknown {
  return typeof value === "number" || typeof value === "boolean" ? String(value) : value;
}

/** Returns an object with other values. In VS Code, null removes a variable. */
function mapMembers(members: unknown, map: (value: unknown) => unknown): unknown {
  if (!isObject(members)) return members;
  const kept = Object.entries(members).filter(([, value]) => value !== null);
  return Object.fromEntries(kept.map(([name, value]) => [name, map(value)]));
}

/** Returns the variables in a list of names that are set. */
function pickVariables(names: unknown, environment: VariableContext["environment"]): JSONObject {
  if (!Array.isArray(names)) throw new UnusableValue("it must be an array of names");
  const listed = names.map((name) => assertString(isObject(name) ? name["name"] : name));
  return Object.fromEntries(
    listed.flatMap((name) => (Object.hasOwn(environment, name) ? [[name, environment[name]]] : [])),
  );
}

function toMs(seconds: unknown): unknown {
  return typeof seconds === "number" ? seconds * 1_000 : seconds;
}
