import { extendPointer } from "../internal/json-pointer.ts";
import { isObject } from "../internal/objects.ts";
import { describeValue, truncate } from "../internal/text.ts";
import { applicators, type Holding, type SchemaObject } from "./keywords.ts";

/** A schema that cannot be used. */
export class SchemaError extends Error {
  /** Always `SchemaError`. */
  override readonly name = "SchemaError";
  /** JSON pointer to the invalid part of the schema; `""` is the schema itself. */
  readonly pointer: string;

  constructor(pointer: string, problem: string, options: ErrorOptions & { where?: string } = {}) {
    const { where = "Schema", ...errorOptions } = options;
    super(`${where}${pointer === "" ? "" : `, at "${truncate(pointer, 100)}"`}: ${problem}`, errorOptions);
    this.pointer = pointer;
  }
}

/** The types of JSON Schema, and those that TypeBox adds for values outside JSON. */
const typeNames = new Set([
  ...["array", "boolean", "integer", "null", "number", "object", "string"],
  ...["bigint", "constructor", "function", "symbol", "undefined", "void"],
]);

/** The valid values of a keyword. */
interface KeywordShape {
  /** Completes the sentence "`minLength` must be …". */
  expected: string;
  isValid(value: unknown): boolean;
}

const isCount = (value: unknown) => Number.isInteger(value) && (value as number) >= 0;
const isPositive = (value: unknown) => Number.isFinite(value) && (value as number) > 0;
const isNames = (value: unknown) => Array.isArray(value) && value.every((name) => typeof name === "string");
const isMapOfNames = (value: unknown) => isObject(value) && Object.values(value).every(isNames);

const string: KeywordShape = { expected: "a string", isValid: (value) => typeof value === "string" };
const flag: KeywordShape = { expected: "true or false", isValid: (value) => typeof value === "boolean" };
const count: KeywordShape = { expected: "an integer of at least 0", isValid: isCount };
const number: KeywordShape = { expected: "a number", isValid: Number.isFinite };
const bound: KeywordShape = {
  expected: "a number (or true or false, in draft 4)",
  isValid: (value) => Number.isFinite(value) || typeof value === "boolean",
};

/** Shapes of keywords with several sub-schemas. A single sub-schema is checked when it is visited. */
const holdingShapes: Readonly<Partial<Record<Holding, KeywordShape>>> = {
  map: { expected: "an object of schemas", isValid: isObject },
  list: { expected: "an array of schemas", isValid: Array.isArray },
  mapOrNames: {
    expected: "an object of schemas or arrays of property names",
    isValid: (value) =>
      isObject(value) && Object.values(value).every((entry) => !Array.isArray(entry) || isNames(entry)),
  },
};

const shapesOf = (shape: KeywordShape, keywords: string) =>
  keywords.split(" ").map((keyword): [string, KeywordShape] => [keyword, shape]);

const shapes: ReadonlyMap<string, KeywordShape | undefined> = new Map([
  ...Array.from(applicators, ([keyword, holding]) => [keyword, holdingShapes[holding]] as const),
  ...shapesOf(string, "$anchor $dynamicAnchor $dynamicRef $id $recursiveRef $ref $schema format pattern"),
  ...shapesOf(flag, "$recursiveAnchor nullable uniqueItems"),
  ...shapesOf(count, "minContains maxContains minItems maxItems minLength maxLength minProperties maxProperties"),
  ...shapesOf(number, "minimum maximum"),
  ...shapesOf(bound, "exclusiveMinimum exclusiveMaximum"),
  ["multipleOf", { expected: "a number greater than 0", isValid: isPositive }],
  ["enum", { expected: "an array of the allowed values", isValid: Array.isArray }],
  ["required", { expected: "an array of property names", isValid: isNames }],
  ["dependentRequired", { expected: "an object of arrays of property names", isValid: isMapOfNames }],
  ["type", { expected: `one of ${[...typeNames].slice(0, 7).join(", ")}, or an array of these`, isValid: isType }],
]);

function isType(value: unknown): boolean {
  const names = Array.isArray(value) ? value : [value];
  return names.length > 0 && names.every((name) => typeNames.has(name as string));
}

/** Throws `SchemaError` for a value that is not a schema, and for a keyword with an invalid value. */
export function assertShape(schema: unknown, pointer: string): asserts schema is SchemaObject | boolean {
  if (typeof schema === "boolean") return;
  if (!isObject(schema)) {
    throw new SchemaError(pointer, `a schema must be an object, true or false, not ${describeValue(schema)}.`);
  }
  for (const keyword of Object.keys(schema)) {
    const value = schema[keyword];
    const shape = shapes.get(keyword);
    if (shape === undefined || value === undefined || shape.isValid(value)) continue;
    throw new SchemaError(
      extendPointer(pointer, keyword),
      `"${keyword}" must be ${shape.expected}, not ${describeValue(value)}.`,
    );
  }
}
