import { readPointer } from "../internal/json-pointer.ts";
import { getOwn, isObject, type JSONObject } from "../internal/objects.ts";

/** Maximum number of references and unions on the path to one schema. Schemas may be recursive. */
const maxDepth = 32;

/**
 * Converts the string of a `key=value` argument to the type that a schema requires. The string itself wins if the schema
 * allows it. Otherwise it is read as JSON. A string that the schema does not allow in either form is returned
 * unchanged: the check of the input then reports what is expected.
 * @param root the schema in which references are found
 */
export function coerce(text: string, schema: unknown, root: unknown): unknown {
  if (accepts(schema, text, root)) return text;
  try {
    const { value, isRounded } = parseNumbers(text);
    return !isRounded && accepts(schema, value, root) ? value : text;
  } catch {
    return text;
  }
}

/** Parses JSON. `isRounded`: whether it contains a number beyond 2^53, which may be rounded. Throws if it is malformed. */
export function parseNumbers(text: string): { value: unknown; isRounded: boolean } {
  let isRounded = false;
  const value: unknown = JSON.parse(text, (_key, part: unknown) => {
    isRounded ||= typeof part === "number" && Math.abs(part) > Number.MAX_SAFE_INTEGER;
    return part;
  });
  return { value, isRounded };
}

/** Returns whether a schema allows the type of a value, or the value itself where it lists values. */
function accepts(schema: unknown, value: unknown, root: unknown, depth = 0): boolean {
  if (!isObject(schema) || depth > maxDepth) return schema !== false;
  const { type, enum: values, anyOf, oneOf, allOf, $ref } = schema;
  const check = (part: unknown) => accepts(part, value, root, depth + 1);
  const listed = Object.hasOwn(schema, "const") ? [schema["const"]] : values;
  return (
    (type === undefined || [type].flat().some((name) => hasType(value, name))) &&
    (!Array.isArray(listed) || listed.includes(value) || isObject(value)) &&
    [anyOf, oneOf].every((union) => !Array.isArray(union) || union.some(check)) &&
    (!Array.isArray(allOf) || allOf.every(check)) &&
    (typeof $ref !== "string" || check(findReference($ref, schema, root)))
  );
}

/** Returns whether a value has a type of JSON Schema. */
export function hasType(value: unknown, name: unknown): boolean {
  if (name === "integer") return Number.isInteger(value);
  return name === (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);
}

/** Names of the properties that a schema describes, also in its references and unions. */
export function propertyNames(schema: unknown, root: unknown): string[] {
  return variantsOf(schema, root).flatMap((variant) => Object.keys(getOwn(variant, "properties") ?? {}));
}

/** Returns whether a schema describes properties that it does not list. */
export function describesOthers(schema: unknown): boolean {
  const keywords = ["additionalProperties", "patternProperties"];
  return variantsOf(schema, schema).some((variant) => keywords.some((keyword) => getOwn(variant, keyword)));
}

/** Returns the schema of a property. A property that is not described may have any value. */
export function propertyOf(schema: unknown, name: string, root: unknown): unknown {
  const found = variantsOf(schema, root)
    .map((variant) => getOwn(getOwn(variant, "properties"), name) ?? getOwn(variant, "additionalProperties"))
    .filter(isObject);
  return found.length === 0 ? {} : { anyOf: found };
}

/** Returns a schema and everything that its references and combinations lead to. */
function variantsOf(schema: unknown, root: unknown, depth = 0): JSONObject[] {
  if (!isObject(schema) || depth > maxDepth) return [];
  const { anyOf, oneOf, allOf, $ref } = schema;
  const target = typeof $ref === "string" ? findReference($ref, schema, root) : undefined;
  const parts: unknown[] = [anyOf, oneOf, allOf, target].flat();
  return [schema, ...parts.flatMap((part) => variantsOf(part, root, depth + 1))];
}

/** Finds the target of a reference: a pointer into the root, or a name in the definitions of the schema or the root. */
function findReference(reference: string, schema: JSONObject, root: unknown): unknown {
  if (reference.startsWith("#")) return readPointer(root, decodeURIComponent(reference.slice(1)));
  return getOwn(getOwn(schema, "$defs"), reference) ?? getOwn(getOwn(root, "$defs"), reference);
}
