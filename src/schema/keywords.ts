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

/** Every schema in these documents, once each. */
export function schemasIn(documents: readonly unknown[]): ReadonlySet<SchemaObject> {
  const found = new Set<SchemaObject>();
  const pending = [...documents];
  while (pending.length > 0) {
    const schema = pending.pop();
    if (!isRecord(schema) || found.has(schema)) continue;
    found.add(schema);
    forEachSubschema(schema, (subschema) => pending.push(subschema));
  }
  return found;
}

/** Makes the copy of a direct sub-schema, given the way to it. */
type CopySubschema = (subschema: unknown, keyword: string, key?: string | number) => unknown;

/** Copies a schema, with `copy` called for every direct sub-schema and everything else taken over as it is. */
export function copySubschemas(
  schema: SchemaObject,
  copy: CopySubschema,
  isKept: (keyword: string) => boolean = () => true,
): SchemaObject {
  const result: SchemaObject = {};
  for (const keyword of Object.keys(schema)) {
    if (isKept(keyword)) setOwn(result, keyword, copyHeld(schema[keyword], keyword, copy));
  }
  return result;
}

function copyHeld(value: unknown, keyword: string, copy: CopySubschema): unknown {
  const holding = applicators.get(keyword);
  if (holding === undefined) return value;
  if (holding === "one" || (holding === "oneOrList" && !Array.isArray(value))) return copy(value, keyword);
  if (Array.isArray(value)) return value.map((item, index) => copy(item, keyword, index));
  const held = value as SchemaObject;
  const copies: SchemaObject = {};
  for (const key of Object.keys(held)) {
    const isNames = holding === "mapOrNames" && Array.isArray(held[key]);
    setOwn(copies, key, isNames ? held[key] : copy(held[key], keyword, key));
  }
  return copies;
}

/** Sets a property that may be called `__proto__`: assigning to that would set the prototype, and here it is data. */
export function setOwn(target: SchemaObject, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[key] = value;
  }
}
