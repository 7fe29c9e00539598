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
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  const isRounded = typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
  return !isRounded && accepts(schema, value, root) ? value : text;
}

/** Returns whether a schema allows the type of a value, or the value itself where it lists values. */
function accepts(schema: unknown, value: unknown, root: unknown, depth = 0): boolean {
  if (schema === false) return false;
  if (!isObject(schema) || depth > maxDepth) return true;
  const check = (part: unknown) => accepts(part, value, root, depth + 1);
  const { type, const: constant, enum: values, anyOf, oneOf, allOf, $ref } = ownKeywords(schema);
  if (type !== undefined && ![type].flat().some((name) => hasType(value, name))) return false;
  if (constant !== undefined && constant !== value) return false;
  if (Array.isArray(values) && !values.some((one) => one === value) && !isObject(value)) return false;
  if (Array.isArray(anyOf) && !anyOf.some(check)) return false;
  if (Array.isArray(oneOf) && !oneOf.some(check)) return false;
  if (Array.isArray(allOf) && !allOf.every(check)) return false;
  return typeof $ref === "string" ? check(findReference($ref, schema, root)) : true;
}

function hasType(value: unknown, name: unknown): boolean {
  if (name === "null") return value === null;
  if (name === "array") return Array.isArray(value);
  if (name === "object") return isObject(value);
  if (name === "integer") return Number.isInteger(value);
  return typeof value === name;
}

/** Names of the properties that a schema describes, also in its references and unions. */
export function propertyNames(schema: unknown, root: unknown): string[] {
  return variantsOf(schema, root).flatMap((variant) => Object.keys(getOwn(variant, "properties") ?? {}));
}

/** Returns the schema of a property. A property that is not described may have any value. */
export function propertyOf(schema: unknown, name: string, root: unknown): unknown {
  const found = variantsOf(schema, root).flatMap((variant) => {
    const own = getOwn(getOwn(variant, "properties"), name);
    const other = getOwn(variant, "additionalProperties");
    return own === undefined ? (isObject(other) ? [other] : []) : [own];
  });
  return found.length === 1 ? found[0] : found.length === 0 ? {} : { anyOf: found };
}

/** Returns a schema and everything that its references and combinations lead to. */
function variantsOf(schema: unknown, root: unknown, depth = 0): JSONObject[] {
  if (!isObject(schema) || depth > maxDepth) return [];
  const { anyOf, oneOf, allOf, $ref } = ownKeywords(schema);
  const parts = [anyOf, oneOf, allOf].flatMap((list) => (Array.isArray(list) ? list : []));
  if (typeof $ref === "string") parts.push(findReference($ref, schema, root));
  return [schema, ...parts.flatMap((part) => variantsOf(part, root, depth + 1))];
}

/** Finds the target of a reference: a pointer into the root, or a name in the definitions of the schema or the root. */
function findReference(reference: string, schema: JSONObject, root: unknown): unknown {
  if (reference.startsWith("#")) return readPointer(root, decodeURIComponent(reference.slice(1)));
  return getOwn(getOwn(schema, "$defs"), reference) ?? getOwn(getOwn(root, "$defs"), reference);
}

/** Reads the keywords that decide about types. Inherited properties are not keywords. */
function ownKeywords(schema: JSONObject): JSONObject {
  return Object.hasOwn(schema, "__proto__") ? {} : Object.assign(Object.create(null), schema);
}
