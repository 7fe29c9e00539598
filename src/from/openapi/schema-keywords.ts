import { getOwn, isObject, type JSONObject } from "../../internal/objects.ts";

/** The form in which a keyword contains sub-schemas: one, a list, or a map by name. */
export type Holding = "one" | "list" | "map";

/** Keywords that contain sub-schemas. `$defs` and `definitions` contain only targets of references. */
const holdings: ReadonlyMap<string, Holding> = new Map<string, Holding>([
  ["properties", "map"],
  ["items", "one"],
  ["allOf", "list"],
  ["anyOf", "list"],
  ["oneOf", "list"],
  ["additionalProperties", "one"],
  ["not", "one"],
  ["patternProperties", "map"],
  ["prefixItems", "list"],
  ["contains", "one"],
  ["propertyNames", "one"],
  ["if", "one"],
  ["then", "one"],
  ["else", "one"],
  ["dependentSchemas", "map"],
  ["unevaluatedItems", "one"],
  ["unevaluatedProperties", "one"],
  ["contentSchema", "one"],
]);

/**
 * Returns the form in which `keyword` contains sub-schemas, or `undefined` if it does not. An array under `items` is a
 * list.
 */
export function holdingOf(keyword: string, value: unknown): Holding | undefined {
  const holding = holdings.get(keyword);
  return holding === "one" && Array.isArray(value) ? "list" : holding;
}

/** Whether the value of a keyword has the expected form. */
export function isWellFormed(holding: Holding, value: unknown): boolean {
  if (holding === "list") return Array.isArray(value);
  return isObject(value) || (holding === "one" && typeof value === "boolean");
}

/** The types of JSON Schema, and `file` for binary values in Swagger 2. */
const types = new Set(["null", "boolean", "object", "array", "number", "string", "integer", "file"]);

/**
 * Returns the `type` of a schema as a list of known types, or `undefined` without a `type`. Unknown types are ignored.
 */
export function knownTypes(schema: JSONObject): string[] | undefined {
  const type = Object.hasOwn(schema, "type") ? schema["type"] : undefined;
  if (type === undefined) return undefined;
  const list = Array.isArray(type) ? type : [type];
  return list.filter((item): item is string => typeof item === "string" && types.has(item));
}

/** Whether a schema has `nullable` (3.0) or `x-nullable`, a convention of Swagger 2. */
export function isNullable(schema: JSONObject): boolean {
  return getOwn(schema, "nullable") === true || getOwn(schema, "x-nullable") === true;
}

/** Returns a JSON Schema that also accepts `null`. */
export function allowNull(schema: unknown): unknown {
  if (!isObject(schema)) return schema === false ? { type: "null" } : schema;
  const { type } = schema;
  const hasNoComposition = !["$ref", "allOf", "anyOf", "oneOf", "not", "const"].some((keyword) =>
    Object.hasOwn(schema, keyword),
  );
  if (hasNoComposition && type !== undefined) {
    const types = Array.isArray(type) ? type : [type];
    return {
      ...schema,
      type: types.includes("null") ? types : [...types, "null"],
      ...(Array.isArray(schema["enum"]) && !schema["enum"].includes(null) && { enum: [...schema["enum"], null] }),
    };
  }
  if (hasNoComposition && schema["enum"] === undefined) return schema;
  const { title, description, default: fallback, deprecated, readOnly, writeOnly, ...rest } = schema;
  const outside = Object.fromEntries(
    Object.entries({ title, description, default: fallback, deprecated, readOnly, writeOnly }).filter(
      ([, value]) => value !== undefined,
    ),
  );
  return { ...outside, anyOf: [rest, { type: "null" }] };
}
