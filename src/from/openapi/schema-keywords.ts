import { isObject, type JSONObject } from "./values.ts";

/** How a keyword holds sub-schemas: one, a list of them, or by name. */
export type Holding = "one" | "list" | "map";

/** Keywords that hold sub-schemas. `$defs` and `definitions` hold only what references lead to. */
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

/** How the value of `keyword` holds sub-schemas; `undefined` where it holds none. A list under `items` is one too. */
export function holdingOf(keyword: string, value: unknown): Holding | undefined {
  const holding = holdings.get(keyword);
  return holding === "one" && Array.isArray(value) ? "list" : holding;
}

/** Whether the value of a keyword has the form that its holding needs. */
export function isWellFormed(holding: Holding, value: unknown): boolean {
  if (holding === "list") return Array.isArray(value);
  return isObject(value) || (holding === "one" && typeof value === "boolean");
}

/** Types that JSON Schema knows. `file` is Swagger 2's word for binary. */
const types = new Set(["null", "boolean", "object", "array", "number", "string", "integer", "file"]);

/** The `type` of a schema as a list of known types; unknown ones are left out, no `type` gives `undefined`. */
export function knownTypes(schema: JSONObject): string[] | undefined {
  const type = Object.hasOwn(schema, "type") ? schema["type"] : undefined;
  if (type === undefined) return undefined;
  const list = Array.isArray(type) ? type : [type];
  return list.filter((item): item is string => typeof item === "string" && types.has(item));
}
