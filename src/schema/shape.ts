import { applicators, type Holding, isRecord, type SchemaObject } from "./keywords.ts";
import { describe, joinPointer, SchemaError } from "./schema-error.ts";

/** The types of JSON Schema, and those that TypeBox adds for values outside JSON. */
const typeNames = new Set([
  ...["array", "boolean", "integer", "null", "number", "object", "string"],
  ...["bigint", "constructor", "function", "symbol", "undefined", "void"],
]);

interface Shape {
  /** Finishes the sentence "`minLength` must be …". */
  expected: string;
  fits(value: unknown): boolean;
}

const isCount = (value: unknown) => Number.isInteger(value) && (value as number) >= 0;
const isNames = (value: unknown) => Array.isArray(value) && value.every((name) => typeof name === "string");

const text: Shape = { expected: "a string", fits: (value) => typeof value === "string" };
const flag: Shape = { expected: "true or false", fits: (value) => typeof value === "boolean" };
const count: Shape = { expected: "a whole number from 0", fits: isCount };
const number: Shape = { expected: "a number", fits: Number.isFinite };
const bound: Shape = {
  expected: "a number (or true or false, in draft 4)",
  fits: (value) => Number.isFinite(value) || typeof value === "boolean",
};

/** What a keyword with several sub-schemas holds. Single ones are checked when they are visited. */
const holdingShapes: Readonly<Partial<Record<Holding, Shape>>> = {
  map: { expected: "an object of schemas", fits: isRecord },
  list: { expected: "an array of schemas", fits: Array.isArray },
  mapOrNames: {
    expected: "an object of schemas or arrays of property names",
    fits: (value) => isRecord(value) && Object.values(value).every((entry) => !Array.isArray(entry) || isNames(entry)),
  },
};

const shapes: ReadonlyMap<string, Shape | undefined> = new Map([
  ...Array.from(applicators, ([keyword, holding]) => [keyword, holdingShapes[holding]] as const),
  ["$anchor", text],
  ["$dynamicAnchor", text],
  ["$dynamicRef", text],
  ["$id", text],
  ["$recursiveAnchor", flag],
  ["$recursiveRef", text],
  ["$ref", text],
  ["$schema", text],
  ["enum", { expected: "an array of the allowed values", fits: Array.isArray }],
  ["exclusiveMaximum", bound],
  ["exclusiveMinimum", bound],
  ["format", text],
  ["maxContains", count],
  ["maximum", number],
  ["maxItems", count],
  ["maxLength", count],
  ["maxProperties", count],
  ["minContains", count],
  ["minimum", number],
  ["minItems", count],
  ["minLength", count],
  ["minProperties", count],
  ["multipleOf", { expected: "a number above 0", fits: (value) => Number.isFinite(value) && (value as number) > 0 }],
  ["nullable", flag],
  ["pattern", text],
  ["required", { expected: "an array of property names", fits: isNames }],
  ["type", { expected: `one of ${[...typeNames].slice(0, 7).join(", ")}, or an array of these`, fits: isType }],
  ["uniqueItems", flag],
  [
    "dependentRequired",
    {
      expected: "an object of arrays of property names",
      fits: (value) => isRecord(value) && Object.values(value).every(isNames),
    },
  ],
]);

function isType(value: unknown): boolean {
  const names = Array.isArray(value) ? value : [value];
  return names.length > 0 && names.every((name) => typeNames.has(name as string));
}

/** Throws when a value cannot be a schema, or when one of its own keywords holds something impossible. */
export function assertShape(schema: unknown, pointer: string): asserts schema is SchemaObject | boolean {
  if (typeof schema === "boolean") return;
  if (!isRecord(schema)) {
    throw new SchemaError(pointer, `a schema must be an object, true or false, not ${describe(schema)}.`);
  }
  for (const keyword of Object.keys(schema)) {
    const value = schema[keyword];
    const shape = shapes.get(keyword);
    if (shape === undefined || value === undefined || shape.fits(value)) continue;
    throw new SchemaError(
      joinPointer(pointer, keyword),
      `"${keyword}" must be ${shape.expected}, not ${describe(value)}.`,
    );
  }
}
