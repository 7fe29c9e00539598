import { assertsNothing, type SchemaObject } from "./keywords.ts";

/** Adds a non-enumerable property, which JSON and `Object.keys` omit, like the marks of TypeBox. */
export function hide(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: false, configurable: true, writable: true });
}

/** Marks a schema as the TypeBox type that it corresponds to, so that the functions of TypeBox recognise it. */
export function mark(schema: SchemaObject): void {
  const kind = kindOf(schema);
  if (kind === undefined) hide(schema, "~unsafe", null);
  else hide(schema, "~kind", kind);
}

/** Returns whether TypeBox or this package marked a schema. An enumerable property of the same name is not a mark. */
export function isMarked(schema: object): boolean {
  return isHidden(schema, "~kind") || isHidden(schema, "~unsafe");
}

function isHidden(schema: object, key: string): boolean {
  return key in schema && !Object.prototype.propertyIsEnumerable.call(schema, key);
}

/** A check written in code, as attached by `Type.Refine` of TypeBox. */
export interface Refinement {
  check: (value: unknown) => boolean;
  error: (value: unknown) => string;
}

/** Returns the refinements of a schema, in a new array. */
export function refinementsOf(schema: SchemaObject): Refinement[] {
  return Array.isArray(schema["~refine"]) ? [...(schema["~refine"] as Refinement[])] : [];
}

/** Attaches refinements to a schema; by default to one without other assertions. */
export function refine(refinements: readonly Refinement[], schema: SchemaObject = {}): SchemaObject {
  hide(schema, "~refine", refinements);
  return schema;
}

const kindsByType: Readonly<Record<string, string>> = {
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

const kindsByKeyword: Readonly<Record<string, string>> = {
  $ref: "Ref",
  allOf: "Intersect",
  anyOf: "Union",
  enum: "Enum",
  const: "Literal",
};

function kindOf(schema: SchemaObject): string | undefined {
  if (assertsNothing(schema)) return "Unknown";
  const has = (keyword: string) => Object.hasOwn(schema, keyword);
  if (["oneOf", "if", "not", "$dynamicRef", "$recursiveRef"].some(has)) return undefined;
  const { type } = schema;
  const [combined, ...others] = Object.keys(kindsByKeyword).filter(has);
  // Each kind of TypeBox represents one of these keywords; a schema that combines several has no kind.
  if (others.length > 0 || (combined !== undefined && (has("properties") || has("items")))) return undefined;
  if (combined === "const" && typeof schema["const"] === "object") return undefined;
  if (combined !== undefined) return kindsByKeyword[combined];
  if (type === "object" && has("properties")) return "Object";
  if (type === "array" && Array.isArray(schema["items"])) return "Tuple";
  if (type === "array" && has("items") && !has("prefixItems")) return "Array";
  return typeof type === "string" && Object.hasOwn(kindsByType, type) ? kindsByType[type] : undefined;
}
