import type { TSchema } from "typebox";
import { Value } from "typebox/value";
import { nearest as nearestName } from "../internal/nearest.ts";
import { isObject, type JSONObject } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { namespacePattern } from "../operation/index.ts";
import type { BusTrust, MCPServerSourceConfig, ResolvedConfig, WithoutEnv } from "./config.ts";
import { configSchema } from "./config-schema.ts";
import type { ConfigPath } from "./config-text.ts";

/** A mistake in a configuration. The message contains keys, never values. */
export interface ConfigProblem {
  /** Keys that lead to the mistake. */
  path: ConfigPath;
  /** What is invalid, and what to do. */
  message: string;
  /** Whether the key is invalid, not its value. */
  atKey?: boolean;
}

/** The keywords of JSON Schema that the description of a configuration uses. */
interface Description {
  type?: string;
  anyOf?: Description[];
  enum?: string[];
  const?: unknown;
  items?: Description;
  properties?: Record<string, Description>;
  patternProperties?: Record<string, Description>;
  required?: string[];
  errorMessage?: string;
}

/** Finds all mistakes in a configuration whose variables have been replaced. */
export function findConfigProblems(config: unknown): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  check(configSchema as Description, config, [], problems);
  return problems.length > 0 ? problems : [...findContradictions(config as ResolvedConfig)];
}

/** Returns a path as it is written in a program, such as `sources["my api"].include[0]`. */
export function formatPath(path: ConfigPath): string {
  return path.reduce<string>((before, key) => {
    if (typeof key === "number") return `${before}[${key}]`;
    if (/^[\w$-]+$/.test(key)) return before === "" ? key : `${before}.${key}`;
    return `${before}[${quote(key)}]`;
  }, "");
}

/** Finds the invalid parts of a value. Whether a value is valid is decided by TypeBox. */
function check(schema: Description, value: unknown, path: ConfigPath, problems: ConfigProblem[]): void {
  // In a program a limit may be `Infinity`, which JSON Schema does not have.
  if (Value.Check(schema as TSchema, value === Number.POSITIVE_INFINITY ? Number.MAX_VALUE : value)) return;
  const { anyOf, properties, patternProperties = {}, items } = schema;
  const [member] = Object.values(patternProperties);
  if (anyOf !== undefined) checkUnion(schema, value, path, problems);
  else if (properties !== undefined && isObject(value)) checkMembers(schema, value, path, problems);
  else if (member !== undefined && isObject(value)) {
    for (const [key, item] of Object.entries(value)) check(member, item, [...path, key], problems);
  } else if (items !== undefined && Array.isArray(value)) {
    for (const [index, item] of value.entries()) check(items, item, [...path, index], problems);
  } else problems.push(invalidValue(schema, value, path));
}

function checkMembers(schema: Description, value: JSONObject, path: ConfigPath, problems: ConfigProblem[]): void {
  const { properties = {}, required = [] } = schema;
  const missing = new Set(required.filter((key) => !Object.hasOwn(value, key)));
  for (const [key, member] of Object.entries(value)) {
    if (!Object.hasOwn(properties, key)) {
      problems.push(unknownKey(path, key, Object.keys(properties)));
      missing.delete(nearest(key, missing) ?? ""); // A mistyped key is one mistake, not two.
    } else if (member !== undefined || required.includes(key)) {
      check(properties[key]!, member, [...path, key], problems);
    }
  }
  for (const key of missing) problems.push({ path, message: `${nameOf(path)} must have the key ${quote(key)}.` });
}

/** Checks a value against the alternative that it was probably meant to be. */
function checkUnion(schema: Description, value: unknown, path: ConfigPath, problems: ConfigProblem[]): void {
  const alternatives = alternativesOf(schema);
  const objects = alternatives.filter((it) => it.properties !== undefined);
  const other = alternatives.find((it) => (Array.isArray(value) ? it.items : isObject(value) && it.patternProperties));
  if (isObject(value) && objects.length > 0) checkAlternatives(objects, value, path, problems);
  else if (other !== undefined) check(other, value, path, problems);
  else problems.push(invalidValue(schema, value, path));
}

/** Each alternative has a required key that the others do not have, such as `openapi`, or other names for that key. */
function checkAlternatives(
  objects: readonly Description[],
  value: JSONObject,
  path: ConfigPath,
  problems: ConfigProblem[],
): void {
  const present = objects.filter(({ required = [] }) => required.some((key) => Object.hasOwn(value, key)));
  const matching = present.filter((it) => {
    const named = value[firstKey(it)];
    return named === undefined || (it.properties?.[firstKey(it)]?.enum?.includes(named as string) ?? true);
  });
  const keys = [...new Set((present.length > 0 ? matching : objects).map(firstKey))].map((key) => quote(key));
  if (keys.length === 1) return checkMembers(matching[0] ?? objects[0]!, value, path, problems);
  if (matching.length > 1) {
    problems.push({ path, message: `${nameOf(path)} has the keys ${keys.join(" and ")}. Remove all but one of them.` });
  } else if (present.length > 0) {
    const key = firstKey(present[0]!);
    const names = { enum: present.flatMap((it) => it.properties?.[key]?.enum ?? []) };
    problems.push(invalidValue(names, value[key], [...path, key]));
  } else {
    const mistyped = Object.keys(value).find((key) => nearest(key, objects.map(firstKey)) !== undefined);
    problems.push(
      mistyped === undefined
        ? { path, message: `${nameOf(path)} must have one of the keys ${keys.join(", ")}.` }
        : unknownKey(path, mistyped, objects.map(firstKey)),
    );
  }
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

function alternativesOf(schema: Description): Description[] {
  return schema.anyOf?.flatMap(alternativesOf) ?? [schema];
}

function unknownKey(path: ConfigPath, key: string, keys: readonly string[]): ConfigProblem {
  const near = nearest(key, keys);
  const hint = near === undefined ? `Valid keys are ${keys.join(", ")}.` : `Did you mean ${quote(near)}?`;
  const place = path.length === 0 ? "" : ` in ${nameOf(path)}`;
  return { path: [...path, key], message: `Unknown key ${quote(key)}${place}. ${hint}`, atKey: true };
}

function invalidValue(schema: Description, value: unknown, path: ConfigPath): ConfigProblem {
  const names = alternativesOf(schema).flatMap((it) => it.enum ?? []);
  const near = typeof value === "string" ? nearest(value, names) : undefined;
  const hint = near === undefined ? "" : ` Did you mean ${quote(near)}?`;
  return { path, message: `${nameOf(path)} must be ${describe(schema)}.${hint}` };
}

function nameOf(path: ConfigPath): string {
  return path.length === 0 ? "The configuration" : quote(formatPath(path), 400);
}

/** Returns what a value must be, as the end of a sentence. */
function describe(schema: Description): string {
  const { errorMessage, type, items } = schema;
  if (errorMessage !== undefined) return errorMessage.replace(/^must be /, "");
  if (schema.anyOf !== undefined) {
    const inJSON = alternativesOf(schema).filter((it) => it.type !== "function");
    return [...new Set(inJSON.map(describe))].join(" or ");
  }
  if (schema.enum !== undefined) return schema.enum.map((name) => quote(name)).join(" or ");
  if (schema.const !== undefined) return String(schema.const);
  if (type === "array") return items?.type === "string" ? "a list of strings" : "a list";
  return type === "boolean" ? "true or false" : type === "object" ? "an object" : `a ${type}`;
}

/** Finds mistakes that concern several keys. */
function* findContradictions({ sources = {}, serve, rules = [] }: ResolvedConfig): Iterable<ConfigProblem> {
  for (const [name, source] of Object.entries(sources)) {
    const path = ["sources", name];
    yield* checkName(name, source.namespace, path);
    yield* checkPath(name, source, serve, path);
    if ("mcp" in source) yield* checkServer(source.mcp, [...path, "mcp"]);
    if ("nats" in source) yield* checkTrust(source.nats, [...path, "nats"]);
    if ("redis" in source) yield* checkTrust(source.redis, [...path, "redis"]);
  }
  const { http, mcp, websocket } = serve ?? {};
  if (http === false && mcp === false && websocket === false) {
    yield {
      path: ["serve"],
      message: '"serve" disables http, mcp and websocket. Enable one of them, or remove "serve".',
    };
  }
  for (const [index, { requiredScopes, deny }] of rules.entries()) {
    if (requiredScopes !== undefined || deny === true) continue;
    const path = ["rules", index];
    yield { path, message: `${nameOf(path)} has no effect. Set "requiredScopes" or "deny": true.` };
  }
}

function* checkName(name: string, namespace: string | undefined, path: ConfigPath): Iterable<ConfigProblem> {
  if (name === "hub" || namespace === "hub") {
    const message = `The source ${quote(name)} needs another name: "hub" is the namespace of the hub's own operations.`;
    yield { path, message, atKey: true };
  } else if (!namespacePattern.test(name)) {
    const message = `The name of the source ${quote(name)} must have 1 to 64 characters and no dots or control characters.`;
    yield { path, message, atKey: true };
  }
}

/** Checks that the paths of operations over HTTP are not those of the other servers. */
function* checkPath(
  name: string,
  source: NonNullable<ResolvedConfig["sources"]>[string],
  serve: ResolvedConfig["serve"],
  path: ConfigPath,
): Iterable<ConfigProblem> {
  const namespace = source.namespace ?? ("openapi" in source || "mcp" in source ? name : undefined);
  if (serve === undefined || serve.http === false) return;
  const isTaken = (namespace === "mcp" && serve.mcp !== false) || (namespace === "calls" && serve.websocket !== false);
  if (!isTaken) return;
  const server = namespace === "mcp" ? "MCP" : "WebSockets";
  const message =
    `The operations of the source ${quote(name)} cannot be reached over HTTP: the hub serves ${server} at "/${namespace}". ` +
    'Set "namespace" to another name.';
  yield { path, message, atKey: true };
}

type Server = WithoutEnv<MCPServerSourceConfig>["mcp"];

function* checkServer({ command, url, transport }: Server, path: ConfigPath): Iterable<ConfigProblem> {
  if ((command === undefined) !== (url === undefined) || typeof transport === "function") return;
  const found = command === undefined ? 'neither "command" nor "url"' : 'both "command" and "url"';
  yield { path, message: `${nameOf(path)} has ${found}. Set one of them.` };
}

function* checkTrust({ sign, trustedBus }: WithoutEnv<BusTrust>, path: ConfigPath): Iterable<ConfigProblem> {
  if (sign !== undefined || trustedBus === true) return;
  const message =
    `${nameOf(path)} is a bus, on which calls have to be signed. Set "sign" to a key that its peers share, ` +
    'or "trustedBus" to true if every program on the bus may act as any caller.';
  yield { path, message };
}
