import { isObject, type JSONObject, setOwn } from "../../internal/objects.ts";
import { SchemaReader, source, type TypeSchema } from "./read-schema.ts";

/** Maximum depth of an example, because schemas may be recursive. */
const maxDepth = 8;
/** Maximum number of elements of an array. */
const maxItems = 10;
/** Maximum length of a string that is lengthened. */
const maxStringLength = 100;

/** Values of the formats of JSON Schema that do not depend on the time. */
const formats = new Map<unknown, string>([
  ["date-time", "2026-01-31T12:00:00Z"],
  ["date", "2026-01-31"],
  ["time", "12:00:00Z"],
  ["duration", "P1D"],
  ["email", "ada@example.com"],
  ["hostname", "example.com"],
  ["ipv4", "127.0.0.1"],
  ["ipv6", "::1"],
  ["uri", "https://example.com"],
  ["uuid", "123e4567-e89b-42d3-a456-426614174000"],
]);

/**
 * Creates an input for a schema, for a person to start from: examples and defaults of the schema where it has some, and
 * otherwise small values of the right type. Optional properties without example are omitted. It may violate a pattern.
 */
export function createExample(schema: unknown): unknown {
  return create(new SchemaReader(schema, "", "").read(schema), "value", 0);
}

/** @param name - the property that the value is for, which is also the value of a string */
function create(type: TypeSchema, name: string, depth: number): unknown {
  const given = examplesOf(type)[0] ?? type[source]?.["default"] ?? type.enum?.[0];
  if (given !== undefined) return given;
  if (depth > maxDepth) return name;
  const next = (part: TypeSchema) => create(part, name, depth + 1);
  const { $ref, anyOf, oneOf, allOf } = type;
  const choice = (anyOf ?? oneOf)?.find((part) => part.enum?.[0] !== null);
  if ($ref !== undefined) return next($ref.schema);
  if (choice !== undefined) return next(choice);
  if (allOf !== undefined) {
    const values = allOf.map(next);
    const objects = values.filter(isObject);
    return objects.length > 0 ? Object.assign({}, ...objects) : values[0];
  }
  switch (type.type) {
    case "object":
      return createObject(type, depth);
    case "array":
      return createArray(type, name, depth);
    case "string":
      return createString(type, name);
    case "integer":
    case "number":
      return createNumber(type);
    case "boolean":
      return true;
    default:
      return name;
  }
}

function createObject({ properties = {}, required = [] }: TypeSchema, depth: number): JSONObject {
  const value: JSONObject = {};
  for (const [name, type] of Object.entries(properties)) {
    const isShown = required.includes(name) || (depth < 2 && examplesOf(type).length > 0);
    if (isShown) setOwn(value, name, create(type, name, depth + 1));
  }
  return value;
}

function createArray({ prefixItems = [], items = {}, minItems }: TypeSchema, name: string, depth: number): unknown[] {
  const length = Math.min(Math.max(Number(minItems ?? 1), prefixItems.length), maxItems);
  return Array.from({ length }, (_, index) => create(prefixItems[index] ?? items, name, depth + 1));
}

function createString({ format, minLength = 0, maxLength }: TypeSchema, name: string): string {
  const value = (formats.get(format) ?? name).padEnd(Math.min(Number(minLength), maxStringLength), "x");
  return value.slice(0, Number(maxLength ?? value.length));
}

function createNumber({ minimum, exclusiveMinimum, maximum, multipleOf }: TypeSchema): number {
  const lowest = typeof exclusiveMinimum === "number" ? exclusiveMinimum + 1 : Number(minimum ?? 1);
  const step = typeof multipleOf === "number" && multipleOf > 0 ? multipleOf : undefined;
  const value = step === undefined ? lowest : Math.ceil(lowest / step) * step;
  return typeof maximum === "number" && value > maximum ? maximum : value;
}

function examplesOf({ [source]: schema = {} }: TypeSchema): unknown[] {
  const { examples, example } = schema;
  return Array.isArray(examples) ? examples : example === undefined ? [] : [example];
}
