import { getOwn, isObject, setOwn } from "../../internal/objects.ts";
import type { SchemaObject } from "../../schema/index.ts";

// Clients compile the schemas of tools with Ajv, as draft-07 or 2020-12. A client of version 1 of the SDK loses all tools
// of a page if one of its schemas does not compile, and every client refuses a result that does not match.

/** Keywords that every validator reads in the same manner, and annotations. A schema without the others accepts more. */
const commonKeywords: ReadonlySet<string> = new Set(
  (
    "$ref $defs definitions type enum const allOf anyOf properties required additionalProperties items prefixItems " +
    "minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems maxProperties " +
    "title description default examples deprecated readOnly writeOnly"
  ).split(" "),
);

/** Changes a schema into one that clients can compile. */
export function adaptInput(copy: SchemaObject): void {
  const { type, nullable, pattern, patternProperties, properties } = copy;
  // The server does not check the headers that clients send because of this annotation of imported tools.
  delete copy["x-mcp-header"];
  if (type === undefined || nullable === false) delete copy["nullable"];
  // Ajv takes a definition of this name for the id of the definitions. A reference to it is defined under another name.
  if (isObject(copy["$defs"])) delete copy["$defs"]["$id"];
  if (Array.isArray(copy["enum"]) && copy["enum"].length === 0) {
    delete copy["enum"];
    copy["not"] = {};
  }
  if (pattern !== undefined && !isPattern(pattern)) delete copy["pattern"];
  if (isObject(patternProperties) && !Object.keys(patternProperties).every(isPattern)) {
    for (const keyword of ["patternProperties", "additionalProperties"]) delete copy[keyword];
  }
  // Clients of version 1 of the SDK refuse a boolean here, and Ajv cannot compile names that are not Unicode.
  for (const [name, property] of Object.entries(properties ?? {})) {
    if (property === true || /\p{Surrogate}/u.test(name)) setOwn(properties as SchemaObject, name, {});
    else if (property === false) setOwn(properties as SchemaObject, name, { not: {} });
  }
}

/**
 * Changes a schema into one that clients can compile, and that accepts the JSON of every value that the schema accepts.
 * Validators disagree about formats, patterns, tuples and multiples of fractions.
 */
export function adaptOutput(copy: SchemaObject, source: Readonly<SchemaObject>): void {
  adaptInput(copy);
  const { oneOf, anyOf = oneOf, patternProperties, prefixItems, properties, required } = copy;
  // Without some keywords, a value may match several branches.
  if (anyOf !== undefined) copy["anyOf"] = anyOf;
  if (patternProperties !== undefined) delete copy["additionalProperties"];
  if (prefixItems !== undefined) delete copy["items"];
  for (const keyword of Object.keys(copy)) if (!commonKeywords.has(keyword)) delete copy[keyword];
  // JSON does not have properties that are undefined.
  const isRequired = (name: string) => !mayBeUndefined(getOwn(source["properties"], name) ?? false);
  if (Array.isArray(required)) copy["required"] = required.filter(isRequired);
  // Ajv takes the methods of every object for properties.
  for (const name of Object.keys(properties ?? {})) {
    if (name in Object.prototype) setOwn(properties as SchemaObject, name, {});
  }
}

/** Returns whether a schema accepts `undefined`. The target of a reference is not read; it seldom does. */
export function mayBeUndefined(schema: unknown): boolean {
  if (!isObject(schema)) return schema === true;
  const { type, anyOf, oneOf = anyOf, allOf } = schema;
  if (type !== undefined) return type === "undefined" || type === "void";
  if (["const", "enum", "$ref"].some((keyword) => Object.hasOwn(schema, keyword))) return false;
  if (Array.isArray(oneOf) && !oneOf.some(mayBeUndefined)) return false;
  return !Array.isArray(allOf) || allOf.every(mayBeUndefined);
}

function isPattern(text: unknown): boolean {
  try {
    return new RegExp(text as string, "u") !== undefined;
  } catch {
    return false;
  }
}
