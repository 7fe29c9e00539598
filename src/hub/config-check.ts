import type { TSchema } from "typebox";
import { Value } from "typebox/value";
import { nearest as nearestName } from "../internal/nearest.ts";
import { isObject, type JSONObject } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { namespacePattern } from "../operation/inside.ts";
import type { ResolvedConfig } from "./config.ts";
import { configSchema } from "./config-schema.ts";
import type { ConfigPath, ConfigProblem } from "./config-text.ts";

/** The keywords of JSON Schema that the description of a configuration uses, and the refinements of TypeBox. */
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
  "~refine"?: Array<{ check(value: unknown): boolean; error(value: unknown): string }>;
}

/** Finds all mistakes in a configuration whose variables have been replaced. */
export function findConfigProblems(config: unknown): ConfigProblem[] {
  const problems = findProblems(configSchema, config);
  return problems.length > 0 ? problems : findNameProblems(config as ResolvedConfig);
}

/** Finds the parts of a value that a description does not allow. */
export function findProblems(schema: TSchema, value: unknown): ConfigProblem[] {
  return check(schema as Description, value, []);
}

/** Whether a value is valid is decided by TypeBox. For an invalid one, its parts are checked. */
function check(schema: Description, value: unknown, path: ConfigPath): ConfigProblem[] {
  // In a program a limit may be `Infinity`, which JSON Schema does not have.
  if (Value.Check(schema as TSchema, value === Number.POSITIVE_INFINITY ? Number.MAX_VALUE : value)) return [];
  const alternatives = alternativesOf(schema);
  const [item] = alternatives.flatMap(({ items = [] }) => items);
  const [member] = alternatives.flatMap(({ patternProperties = {} }) => Object.values(patternProperties));
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
  const { properties = {}, required = [], "~refine": refinements = [] } = schema;
  const missing = new Set(required.filter((key) => !Object.hasOwn(value, key)));
  const problems = Object.entries(value).flatMap(([key, member]) => {
    if (Object.hasOwn(properties, key)) {
      return member === undefined && !required.includes(key) ? [] : check(properties[key]!, member, [...path, key]);
    }
    missing.delete(nearest(key, missing) ?? ""); // A mistyped key is one mistake, not two.
    return [unknownKey(key, Object.keys(properties), path)];
  });
  for (const key of missing) problems.push({ path, message: `must have the key ${quote(key)}.` });
  if (problems.length > 0) return problems;
  return refinements.filter((it) => !it.check(value)).map((it) => ({ path, message: it.error(value) }));
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

/** Finds sources whose names or namespaces are invalid or used by the hub itself, also as a path over HTTP. */
function findNameProblems({ sources = {}, serve }: ResolvedConfig): ConfigProblem[] {
  const reserved = ["hub"];
  if (serve !== undefined && serve.http !== false) {
    if (serve.mcp !== false) reserved.push("mcp");
    if (serve.websocket !== false) reserved.push("calls");
  }
  return Object.entries(sources).flatMap(([name, source]) => {
    const path = ["sources", name];
    const isNamespace = name === "hub" || "openapi" in source || "mcp" in source;
    const namespace = source.namespace ?? (isNamespace ? name : undefined);
    if (namespace !== undefined && reserved.includes(namespace)) {
      const message = `needs another namespace, because the hub itself uses ${quote(namespace)}. Set "namespace" to another name.`;
      return [{ path, message }];
    }
    if (namespacePattern.test(name)) return [];
    return [{ path, message: "must have a name of 1 to 64 characters without dots or control characters." }];
  });
}
