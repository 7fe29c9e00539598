import { extendPointer } from "../../internal/json-pointer.ts";
import { getOwn, isObject, type JSONObject } from "../../internal/objects.ts";
import { quote } from "../../internal/text.ts";
import type { OpenAPIDocument } from "./document.ts";
import type { Endpoint, MethodEntry, Warn } from "./endpoint.ts";
import { assignArguments } from "./input-schema.ts";
import { chooseOutput } from "./output-schema.ts";
import { readEntry } from "./read-entry.ts";
import { type Located, ReferenceProblem } from "./references.ts";
import { readSwagger2Entry } from "./swagger2.ts";
import { ownObject } from "./values.ts";
import { canSend } from "./wire/request.ts";
import { pathProblem } from "./wire/url.ts";

/** A path or method that cannot be imported. */
export interface UnusableEntry {
  where: string;
  reason: string;
}

const methods = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];
// Keys of a path item that are not methods.
const others = new Set(["$ref", "summary", "description", "servers", "parameters", "additionalOperations"]);

/** Finds every method of every path, in the document's order. */
export function findMethodEntries(document: OpenAPIDocument): { entries: MethodEntry[]; unusable: UnusableEntry[] } {
  const entries: MethodEntry[] = [];
  const unusable: UnusableEntry[] = [];
  const paths = ownObject(document.root, "paths") ?? {};
  // A document without paths is valid: it may only describe webhooks.
  const isMalformed = getOwn(document.root, "paths") !== undefined && !isObject(getOwn(document.root, "paths"));
  if (isMalformed) unusable.push({ where: "#/paths", reason: "It is not an object." });
  for (const path of Object.keys(paths)) {
    if (path.startsWith("x-")) continue;
    const pointer = extendPointer("#/paths", path);
    const reason = pathProblem(path);
    if (reason !== undefined) {
      unusable.push({ where: pointer, reason });
      continue;
    }
    const pathItem = openPathItem(document, { value: paths[path], pointer, base: "" }, unusable);
    if (pathItem !== undefined) readPathItem(path, pathItem, pointer, entries, unusable);
  }
  return { entries, unusable };
}

/** Follows the reference of a path item. Properties beside the reference take precedence. */
function openPathItem(
  document: OpenAPIDocument,
  item: Located,
  unusable: UnusableEntry[],
): Located<JSONObject> | undefined {
  try {
    const target = document.references.deref(item);
    if (!isObject(target.value)) {
      unusable.push({ where: item.pointer, reason: "The path item is not an object." });
      return undefined;
    }
    if (target.value === item.value) return target as Located<JSONObject>;
    const { $ref, ...siblings } = item.value as JSONObject;
    return { ...target, value: { ...target.value, ...siblings } };
  } catch (error) {
    if (!(error instanceof ReferenceProblem)) throw error;
    unusable.push({ where: item.pointer, reason: error.message });
    return undefined;
  }
}

function readPathItem(
  path: string,
  pathItem: Located<JSONObject>,
  pointer: string,
  entries: MethodEntry[],
  unusable: UnusableEntry[],
): void {
  const add = (method: string, value: unknown, ...keys: string[]): void => {
    const where = extendPointer(pointer, ...keys);
    if (!isObject(value)) unusable.push({ where, reason: "The operation is not an object." });
    else if (!canSend(method)) {
      unusable.push({ where, reason: `The method ${method} cannot be sent with fetch.` });
    } else {
      const operation = { value, pointer: extendPointer(pathItem.pointer, ...keys), base: pathItem.base };
      entries.push({ method, path, pathItem, operation, pointer: where });
    }
  };
  for (const key of Object.keys(pathItem.value)) {
    if (others.has(key) || key.startsWith("x-")) continue;
    const method = key.toLowerCase();
    if (methods.includes(method)) add(method.toUpperCase(), pathItem.value[key], key);
    else unusable.push({ where: extendPointer(pointer, key), reason: `${quote(key)} is not an HTTP method.` });
  }
  const additional = getOwn(pathItem.value, "additionalOperations");
  if (!isObject(additional)) return;
  for (const method of Object.keys(additional)) {
    if (/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(method)) {
      add(method, additional[method], "additionalOperations", method);
    } else {
      const where = extendPointer(pointer, "additionalOperations", method);
      unusable.push({ where, reason: `${quote(method)} is not an HTTP method.` });
    }
  }
}

/** Reads a method of any version of OpenAPI. Reading is cheap, so the result is not kept. @throws ReferenceProblem */
export function readEndpoint(document: OpenAPIDocument, found: MethodEntry, warn: Warn): Endpoint {
  const read = document.version === "2.0" ? readSwagger2Entry : readEntry;
  const entry = read(document, found, warn);
  if (entry.body !== undefined && (entry.method === "GET" || entry.method === "HEAD")) {
    warn(entry.body.pointer, `A body cannot be sent with ${entry.method}. The body is ignored.`);
    entry.body = undefined;
  }
  return { ...entry, parameters: assignArguments(entry, warn), output: chooseOutput(entry.responses) };
}
