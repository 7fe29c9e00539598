import { isObject, type JSONObject } from "./values.ts";

/** Keywords of a schema that a server made around another one, because older clients only know objects. */
const wrapperKeywords = new Set(["$schema", "type", "properties", "required"]);
/** Marks schemas that FastMCP wrapped; they carry a title and definitions as well. */
const fastMCPMark = "x-fastmcp-wrap-result";

/**
 * Gives the schema inside of `{ result }`, when a server wrapped it for clients that only know objects; `undefined`
 * for a schema that was written so. An object is never wrapped, so one inside means that somebody meant it.
 */
export function unwrapSchema(schema: unknown): JSONObject | undefined {
  if (!isObject(schema) || schema["type"] !== "object") return undefined;
  const { properties, required } = schema;
  if (!isObject(properties) || !isOnly(Object.keys(properties), "result") || !isOnly(required, "result")) {
    return undefined;
  }
  const isWrapper = schema[fastMCPMark] === true || Object.keys(schema).every((key) => wrapperKeywords.has(key));
  const inner = properties["result"];
  if (!isWrapper || !isObject(inner) || inner["type"] === "object") return undefined;
  return hasReferences(inner) ? referTo(schema) : { ...pick(schema, "$schema"), ...inner };
}

/** References inside lead through the wrapper, so it stays, as a document of its own within the schema. */
function referTo(wrapper: JSONObject): JSONObject {
  const $id = "urn:mcp:wrapped-output";
  return {
    ...pick(wrapper, "$schema"),
    $ref: `${$id}#/properties/result`,
    $defs: { wrapped: { ...wrapper, $id } },
  };
}

function hasReferences(schema: JSONObject): boolean {
  return /"\$(?:ref|dynamicRef|recursiveRef)":/.test(JSON.stringify(schema));
}

function pick(object: JSONObject, key: string): JSONObject {
  return Object.hasOwn(object, key) ? { [key]: object[key] } : {};
}

function isOnly(list: unknown, item: string): boolean {
  return Array.isArray(list) && list.length === 1 && list[0] === item;
}
