import type { SchemaObject } from "./keywords.ts";

/** Adds a property that stays out of JSON and of `Object.keys`, as TypeBox does with its own marks. */
export function hide(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: false, configurable: true, writable: true });
}

/** Marks a schema as the TypeBox type that it is, so that TypeBox's own functions know what to do with it. */
export function mark(schema: SchemaObject): void {
  const kind = kindOf(schema);
  if (kind === undefined) hide(schema, "~unsafe", null);
  else hide(schema, "~kind", kind);
}

/** Tells whether TypeBox or this package marked a schema. Marks are hidden; what looks like one in JSON is none. */
export function isMarked(schema: object): boolean {
  return isHidden(schema, "~kind") || isHidden(schema, "~unsafe");
}

function isHidden(schema: object, key: string): boolean {
  return key in schema && !Object.prototype.propertyIsEnumerable.call(schema, key);
}

/** The keywords that say something about values. Everything else annotates. */
export const assertions: ReadonlySet<string> = new Set([
  ...[
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "const",
    "enum",
    "type",
  ],
  ...["properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames"],
  ...["required", "minProperties", "maxProperties", "dependencies", "dependentRequired", "dependentSchemas"],
  ...["items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"],
  ...["minItems", "maxItems", "uniqueItems", "minContains", "maxContains"],
  ...["minLength", "maxLength", "pattern", "format"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
]);

/** Tells whether a schema accepts every value because nothing in it asserts anything. */
export function assertsNothing(schema: SchemaObject): boolean {
  return !Object.getOwnPropertyNames(schema).some((key) => assertions.has(key) || key === "~refine");
}

const simpleKinds: Readonly<Record<string, string>> = {
  bigint: "BigInt",
  boolean: "Boolean",
  integer: "Integer",
  null: "Null",
  number: "Number",
  string: "String",
  symbol: "Symbol",
  undefined: "Undefined",
  void: "Void",
};

function kindOf(schema: SchemaObject): string | undefined {
  if (assertsNothing(schema)) return "Unknown";
  const has = (keyword: string) => Object.hasOwn(schema, keyword);
  if (["oneOf", "if", "not", "$dynamicRef", "$recursiveRef"].some(has)) return undefined;
  const { type } = schema;
  const combined = ["$ref", "allOf", "anyOf", "enum", "const"].filter(has);
  // TypeBox's kinds stand for one keyword each; what combines several has no kind of its own.
  if (combined.length > 1 || (combined.length === 1 && (has("properties") || has("items")))) return undefined;
  switch (combined[0]) {
    case "$ref":
      return "Ref";
    case "allOf":
      return "Intersect";
    case "anyOf":
      return "Union";
    case "enum":
      return "Enum";
    case "const":
      return typeof schema["const"] === "object" ? undefined : "Literal";
  }
  if (type === "object" && has("properties")) return "Object";
  if (type === "array" && Array.isArray(schema["items"])) return "Tuple";
  if (type === "array" && has("items") && !has("prefixItems")) return "Array";
  return typeof type === "string" && Object.hasOwn(simpleKinds, type) ? simpleKinds[type] : undefined;
}
