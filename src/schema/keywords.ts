import { isObject, setOwn } from "../internal/objects.ts";

/** A schema that is an object, as opposed to `true` or `false`. */
export type SchemaObject = Record<string, unknown>;

/** How a keyword holds sub-schemas: one, a list, or a map by name. `items` and `dependencies` have two forms each. */
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

/** The keywords that constrain values. All others annotate. */
export const assertions: ReadonlySet<string> = new Set(
  (
    "$ref $dynamicRef $recursiveRef allOf anyOf oneOf not if then else const enum type " +
    "properties patternProperties additionalProperties unevaluatedProperties propertyNames " +
    "required minProperties maxProperties dependencies dependentRequired dependentSchemas " +
    "items prefixItems additionalItems unevaluatedItems contains minItems maxItems uniqueItems minContains maxContains " +
    "minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf"
  ).split(" "),
);

/** Returns whether a schema accepts every value because it contains no assertion. */
export function assertsNothing(schema: SchemaObject): boolean {
  return !Object.getOwnPropertyNames(schema).some((key) => assertions.has(key) || key === "~refine");
}

/** A published version of JSON Schema. */
export type Dialect = "draft-04" | "draft-06" | "draft-07" | "2019-09" | "2020-12";

/** Reads the dialect from `$schema`. Returns `inherited` when `$schema` is missing or unknown. */
export function dialectOf(schema: unknown, inherited: Dialect = "2020-12"): Dialect {
  if (!isObject(schema) || !Object.hasOwn(schema, "$schema") || typeof schema["$schema"] !== "string") return inherited;
  const match = /^https?:\/\/json-schema\.org\/(?:draft\/)?(draft-0[3-7]|2019-09|2020-12)\//.exec(schema["$schema"]);
  if (match === null) return inherited;
  return match[1] === "draft-03" || match[1] === "draft-05" ? "draft-04" : (match[1] as Dialect);
}

/** Returns whether keywords beside a `$ref` are ignored, as in draft 7 and earlier. */
export function ignoresRefSiblings(dialect: Dialect): boolean {
  return dialect === "draft-04" || dialect === "draft-06" || dialect === "draft-07";
}

/** Returns the value of `$schema` for a dialect. */
export function dialectURI(dialect: Dialect): string {
  return dialect.startsWith("draft-")
    ? `http://json-schema.org/${dialect}/schema#`
    : `https://json-schema.org/draft/${dialect}/schema`;
}

/** Receives a direct sub-schema and its path: the keyword, then the name or index if the keyword holds several. */
type VisitSubschema<Result> = (subschema: unknown, keyword: string, ...key: Array<string | number>) => Result;

/** Calls `visit` for every direct sub-schema with its location. Visits invalid sub-schemas too. */
export function forEachSubschema(schema: SchemaObject, visit: VisitSubschema<void>): void {
  for (const keyword of Object.keys(schema)) {
    const holding = applicators.get(keyword);
    if (holding === undefined) continue;
    const value = schema[keyword];
    if (Array.isArray(value)) {
      if (holding !== "list" && holding !== "oneOrList") continue;
      for (const [index, item] of value.entries()) visit(item, keyword, index);
    } else if (holding === "one" || holding === "oneOrList") {
      visit(value, keyword);
    } else if (isObject(value) && holding !== "list") {
      for (const key of Object.keys(value)) {
        if (holding !== "mapOrNames" || !Array.isArray(value[key])) visit(value[key], keyword, key);
      }
    }
  }
}

/** Returns every schema object in these documents, each once. */
export function schemasIn(documents: readonly unknown[]): ReadonlySet<SchemaObject> {
  const found = new Set<SchemaObject>();
  const pending = [...documents];
  while (pending.length > 0) {
    const schema = pending.pop();
    if (!isObject(schema) || found.has(schema)) continue;
    found.add(schema);
    forEachSubschema(schema, (subschema) => pending.push(subschema));
  }
  return found;
}

/** Copies a schema: direct sub-schemas by `copy`, all other values by reference. `isKept` chooses the keywords. */
export function copySubschemas(
  schema: SchemaObject,
  copy: VisitSubschema<unknown>,
  isKept: (keyword: string) => boolean = () => true,
): SchemaObject {
  const result: SchemaObject = {};
  for (const keyword of Object.keys(schema)) {
    if (isKept(keyword)) setOwn(result, keyword, copyHeld(schema[keyword], keyword, copy));
  }
  return result;
}

function copyHeld(value: unknown, keyword: string, copy: VisitSubschema<unknown>): unknown {
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
