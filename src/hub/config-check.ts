import type { TSchema } from "typebox";
import { Value } from "typebox/value";
import type { HTTPAuth } from "../from/openapi/index.ts";
import { nearest as nearestName } from "../internal/nearest.ts";
import { isObject, type JSONObject } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { namespacePattern } from "../operation/inside.ts";
import schema from "./config.schema.json" with { type: "json" };
import type { BusTrust, ResolvedConfig, WithoutEnv } from "./config.ts";
import type { ConfigPath, ConfigProblem } from "./config-text.ts";

/** The keywords of JSON Schema that the description of a configuration uses. The type `function` exists in programs only. */
interface Description {
  type?: string;
  anyOf?: Description[];
  enum?: string[];
  const?: unknown;
  items?: Description;
  properties?: Record<string, Description>;
  additionalProperties?: Description | boolean;
  required?: string[];
  errorMessage?: string;
}

const configSchema = schema as object as Description;
const [mcpServerSchema] = alternativesOf(
  configSchema.properties!["sources"]!.additionalProperties as Description,
).flatMap(({ properties = {} }) => properties["mcp"] ?? []);

/** Finds all mistakes in a configuration whose variables have been replaced. */
export function findConfigProblems(config: unknown): ConfigProblem[] {
  const problems = check(configSchema, config, []);
  return problems.length > 0 ? problems : findContradictions(config as ResolvedConfig);
}

/** Finds the fields of an MCP server that are invalid. */
export function findServerProblems(server: unknown): ConfigProblem[] {
  return check(mcpServerSchema!, server, []);
}

/** Whether a value is valid is decided by TypeBox. For an invalid one, its parts are checked. */
function check(schema: Description, value: unknown, path: ConfigPath): ConfigProblem[] {
  // In a program a limit may be `Infinity`, which JSON Schema does not have.
  if (Value.Check(schema as TSchema, value === Number.POSITIVE_INFINITY ? Number.MAX_VALUE : value)) return [];
  const alternatives = alternativesOf(schema);
  const [item] = alternatives.flatMap(({ items = [] }) => items);
  const [member] = alternatives.flatMap(({ additionalProperties: it }) => (typeof it === "object" ? it : []));
  const objects = alternatives.filter(({ properties }) => properties !== undefined);
  if (Array.isArray(value) && item !== undefined) {
    return value.flatMap((part, index) => check(item, part, [...path, index]));
  }
  if (isObject(value) && objects.length > 0) return checkObject(objects, value, path);
  if (isObject(value) && member !== undefined) {
    return Object.entries(value).flatMap(([key, part]) => check(member, part, [...path, key]));
  }
  return [invalidValue(schema, value, path)];
}

/**
 * Checks an object against the alternative that it was probably meant to be. Each has a first key that the others do not
 * have, such as `openapi`, or other names for that key, such as `"type": "bearer"`.
 */
function checkObject(objects: readonly Description[], value: JSONObject, path: ConfigPath): ConfigProblem[] {
  const keys = [...new Set(objects.map(firstKey))];
  const present = keys.filter((key) => Object.hasOwn(value, key));
  if (objects.length === 1) return checkMembers(objects[0]!, value, path);
  if (present.length > 1) {
    return [{ path, message: `has the keys ${list(present, " and ")}. Remove all but one of them.` }];
  }
  const [key] = present;
  if (key === undefined) {
    const mistyped = Object.keys(value).find((it) => nearest(it, keys) !== undefined);
    if (mistyped !== undefined) return [unknownKey(mistyped, keys, path)];
    return [{ path, message: `must have one of the keys ${list(keys, ", ")}.` }];
  }
  const candidates = objects.filter((it) => firstKey(it) === key);
  const chosen = candidates.find(
    (it) => candidates.length === 1 || it.properties![key]!.enum?.includes(String(value[key])),
  );
  if (chosen !== undefined) return checkMembers(chosen, value, path);
  return [invalidValue({ anyOf: candidates.map((it) => it.properties![key]!) }, value[key], [...path, key])];
}

function checkMembers(schema: Description, value: JSONObject, path: ConfigPath): ConfigProblem[] {
  const { properties = {}, required = [] } = schema;
  const missing = new Set(required.filter((key) => !Object.hasOwn(value, key)));
  const problems = Object.entries(value).flatMap(([key, member]) => {
    if (Object.hasOwn(properties, key)) {
      return member === undefined && !required.includes(key) ? [] : check(properties[key]!, member, [...path, key]);
    }
    missing.delete(nearest(key, missing) ?? ""); // A mistyped key is one mistake, not two.
    return [unknownKey(key, Object.keys(properties), path)];
  });
  for (const key of missing) problems.push({ path, message: `must have the key ${quote(key)}.` });
  return problems;
}

/** Returns the name that was probably meant, also for a short one with swapped letters, such as `prot`. */
function nearest(name: string, candidates: Iterable<string>): string | undefined {
  const sorted = (text: string) => [...text].sort().join("");
  const names = [...candidates];
  return nearestName(name, names) ?? names.find((candidate) => sorted(candidate) === sorted(name));
}

function firstKey({ required: [key] = [] }: Description): string {
  return key ?? "";
}

function list(names: readonly string[], separator: string): string {
  return names.map((name) => quote(name)).join(separator);
}

function alternativesOf(schema: Description): Description[] {
  return schema.anyOf?.flatMap(alternativesOf) ?? [schema];
}

function unknownKey(key: string, keys: readonly string[], path: ConfigPath): ConfigProblem {
  const near = nearest(key, keys);
  const hint = near === undefined ? `Valid keys are ${keys.join(", ")}.` : `Did you mean ${quote(near)}?`;
  return { path: [...path, key], message: `is not a known key. ${hint}` };
}

function invalidValue(schema: Description, value: unknown, path: ConfigPath): ConfigProblem {
  const names = alternativesOf(schema).flatMap((it) => it.enum ?? []);
  const near = typeof value === "string" ? nearest(value, names) : undefined;
  const hint = near === undefined ? "" : ` Did you mean ${quote(near)}?`;
  return { path, message: `must be ${describe(schema)}.${hint}` };
}

/** Returns what a value must be, as the end of a sentence. */
function describe(schema: Description): string {
  const { errorMessage, type, items } = schema;
  if (errorMessage !== undefined) return errorMessage.replace(/^must be /, "");
  if (schema.anyOf !== undefined) {
    const inJSON = alternativesOf(schema).filter((it) => it.type !== "function");
    return [...new Set(inJSON.map(describe))].join(" or ");
  }
  if (schema.enum !== undefined) return list(schema.enum, " or ");
  if (schema.const !== undefined) return String(schema.const);
  if (type === "array") return items?.type === "string" ? "a list of strings" : "a list";
  return type === "boolean" ? "true or false" : type === "object" ? "an object" : `a ${type}`;
}

/** Finds parts of a configuration that contradict each other, or that have no effect. */
function findContradictions(config: ResolvedConfig): ConfigProblem[] {
  const { sources = {}, serve, access, rules = [] } = config;
  const problems: ConfigProblem[] = [];
  const refuse = (path: ConfigPath, isAllowed: boolean, message: string) => {
    if (!isAllowed) problems.push({ path, message });
  };
  const { http = true, mcp = true, websocket = true } = serve ?? {};
  refuse(
    ["serve"],
    http || mcp || websocket,
    'disables http, mcp and websocket. Enable one of them, or remove "serve".',
  );
  const hashes = (access?.tokens ?? []).map(({ hash }) => hash.toLowerCase());
  const isUnique = new Set(hashes).size === hashes.length;
  refuse(["access"], isUnique, "contains a hash twice. Create one token per caller.");
  for (const [index, { requiredScopes, deny }] of rules.entries()) {
    const isEffective = requiredScopes !== undefined || deny === true;
    refuse(["rules", index], isEffective, 'has no effect. Set "requiredScopes" or "deny": true.');
  }
  const reserved = ["hub", ...(serve && http ? [...(mcp ? ["mcp"] : []), ...(websocket ? ["calls"] : [])] : [])];
  for (const [name, source] of Object.entries(sources)) {
    const path = ["sources", name];
    if ("mcp" in source) {
      const { command, url, transport } = source.mcp;
      const isComplete = typeof transport === "function" || (command === undefined) !== (url === undefined);
      refuse([...path, "mcp"], isComplete, 'must have either "command" or "url".');
    }
    if ("openapi" in source && typeof source.auth === "object") {
      const all = "schemes" in source.auth ? Object.entries(source.auth.schemes) : [["", source.auth] as const];
      for (const [scheme, auth] of all) {
        const place = scheme === "" ? [...path, "auth"] : [...path, "auth", "schemes", scheme];
        refuse(place, hasCredentials(auth), credentialsMissing);
      }
    }
    if ("nats" in source) refuse([...path, "nats"], isTrusted(source.nats), trustMissing);
    if ("redis" in source) refuse([...path, "redis"], isTrusted(source.redis), trustMissing);
    const isNamespace = name === "hub" || "openapi" in source || "mcp" in source;
    const namespace = source.namespace ?? (isNamespace ? name : "");
    const isFree = !reserved.includes(namespace);
    const used = `needs another namespace, because the hub itself uses ${quote(namespace)}. Set "namespace" to another name.`;
    refuse(path, isFree, used);
    const isName = !isFree || namespacePattern.test(name);
    refuse(path, isName, "must have a name of 1 to 64 characters without dots or control characters.");
  }
  return problems;
}

function isTrusted({ sign, trustedBus }: WithoutEnv<BusTrust>): boolean {
  return sign !== undefined || trustedBus === true;
}

const trustMissing =
  'is a bus, on which calls have to be signed. Set "sign" to a key that its peers share, or "trustedBus" to true if ' +
  "every program on the bus may act as any caller.";

function hasCredentials({ type, token, username, tokenUrl, clientId }: WithoutEnv<HTTPAuth>): boolean {
  if (type === "oauth2") return tokenUrl !== undefined && clientId !== undefined;
  return token !== undefined || (type === "basic" && username !== undefined);
}

const credentialsMissing =
  'has no credentials. Set "token" for bearer and apiKey, "username" and "password" for basic, "tokenUrl" and "clientId" for oauth2.';
