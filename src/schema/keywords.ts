/** A schema that is an object, not `true` or `false`. */
export type SchemaObject = Record<string, unknown>;

/** Tells objects from everything else that can stand where a schema is expected. Arrays are not records. */
export function isRecord(value: unknown): value is SchemaObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** How a keyword holds sub-schemas: one, a list, or by name. `items` and `dependencies` hold either of two. */
export type Holding = "one" | "list" | "oneOrList" | "map" | "mapOrNames";

/** Every keyword of draft-04 to 2020-12 that holds sub-schemas. */
export const applicators: ReadonlyMap<string, Holding> = new Map<string, Holding>([
  ["$defs", "map"],
  ["additionalItems", "one"],
  ["additionalProperties", "one"],
  ["allOf", "list"],
  ["anyOf", "list"],
  ["contains", "one"],
  ["contentSchema", "one"],
  ["definitions", "map"],
  ["dependencies", "mapOrNames"],
  ["dependentSchemas", "map"],
  ["else", "one"],
  ["if", "one"],
  ["items", "oneOrList"],
  ["not", "one"],
  ["oneOf", "list"],
  ["patternProperties", "map"],
  ["prefixItems", "list"],
  ["properties", "map"],
  ["propertyNames", "one"],
  ["then", "one"],
  ["unevaluatedItems", "one"],
  ["unevaluatedProperties", "one"],
]);

/** Calls `visit` for every direct sub-schema, with the way to it. Values that are no schema are visited too. */
export function forEachSubschema(
  schema: SchemaObject,
  visit: (subschema: unknown, keyword: string, key?: string | number) => void,
): void {
  for (const keyword of Object.keys(schema)) {
    const holding = applicators.get(keyword);
    if (holding === undefined) continue;
    const value = schema[keyword];
    if (Array.isArray(value)) {
      if (holding !== "list" && holding !== "oneOrList") continue;
      for (const [index, item] of value.entries()) visit(item, keyword, index);
    } else if (holding === "one" || holding === "oneOrList") {
      visit(value, keyword);
    } else if (isRecord(value) && holding !== "list") {
      for (const key of Object.keys(value)) {
        if (holding !== "mapOrNames" || !Array.isArray(value[key])) visit(value[key], keyword, key);
      }
    }
  }
}
