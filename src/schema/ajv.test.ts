import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileSchema, type Dialect, FromSchema } from "./index.ts";

// Inherited names are omitted: Ajv ignores assertions about `__proto__`.
const name = fc.constantFrom("a", "b", "c", "x-y", "(");
const names = fc.uniqueArray(name, { maxLength: 3 });
const count = fc.integer({ min: 0, max: 3 });
const number = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constantFrom(0.5, 1.5));
// Few different numbers: TypeBox tolerates rounding in `multipleOf`, Ajv does not.
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    fc.oneof(number, fc.boolean(), fc.constant(null), fc.constantFrom("", "a", "abc", "b1", "😀"), fc.string()),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(name, tie("value"), { maxKeys: 3, noNullPrototype: true }),
  ),
}));
const pattern = fc.constantFrom("^a", "b$", "^[a-c]+$", "^(a|b)*c?$", "\\d", "x-", "(?=a)a", ".", "^.*$");
// A pattern that the linear-time engine cannot express is not enforced; Ajv would enforce it.
const expressible = pattern.filter((text) => !text.includes("?="));
const type = fc.constantFrom("array", "boolean", "integer", "null", "number", "object", "string");

function keywords(schema: fc.Arbitrary<unknown>, dialect: Dialect): Record<string, fc.Arbitrary<unknown>> {
  const schemas = fc.array(schema, { minLength: 1, maxLength: 3 });
  const isModern = dialect === "2020-12";
  return {
    type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
    enum: fc.uniqueArray(value, {
      minLength: 1,
      maxLength: 3,
      comparator: (a, b) => JSON.stringify(a) === JSON.stringify(b),
    }),
    const: value,
    minimum: number,
    maximum: number,
    exclusiveMinimum: number,
    exclusiveMaximum: number,
    multipleOf: fc.constantFrom(1, 2, 0.5),
    minLength: count,
    maxLength: count,
    pattern: expressible,
    minItems: count,
    maxItems: count,
    uniqueItems: fc.boolean(),
    contains: schema,
    minProperties: count,
    maxProperties: count,
    required: names,
    properties: fc.dictionary(name, schema, { maxKeys: 3 }),
    patternProperties: fc.dictionary(expressible, schema, { maxKeys: 2 }),
    additionalProperties: schema,
    propertyNames: schema,
    allOf: schemas,
    anyOf: schemas,
    oneOf: schemas,
    not: schema,
    if: schema,
    then: schema,
    else: schema,
    title: fc.string(),
    default: value,
    $ref: fc.constantFrom("#/definitions/leaf", "#/definitions/list"),
    ...(isModern
      ? {
          prefixItems: schemas,
          items: schema,
          dependentRequired: fc.dictionary(name, names, { maxKeys: 2 }),
          dependentSchemas: fc.dictionary(name, schema, { maxKeys: 2 }),
        }
      : {
          items: fc.oneof(schema, schemas),
          additionalItems: schema,
          dependencies: fc.dictionary(name, fc.oneof(schema, names), { maxKeys: 2 }),
        }),
  };
}

function schemas(dialect: Dialect): fc.Arbitrary<Record<string, unknown>> {
  const { schema } = fc.letrec<{ schema: unknown }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.oneof({ weight: 1, arbitrary: fc.boolean() }, { weight: 4, arbitrary: type.map((name) => ({ type: name })) }),
      toObject(keywords(tie("schema"), dialect)),
    ),
  }));
  return toObject(keywords(schema, dialect)).map((root) => ({
    ...root,
    definitions: {
      leaf: { type: ["string", "integer"] },
      list: { type: "array", items: { $ref: "#/definitions/list" }, maxItems: 2 },
    },
  }));
}

/** At most four keywords each, because a schema with all of them accepts nothing. */
function toObject(all: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Record<string, unknown>> {
  return fc
    .uniqueArray(fc.constantFrom(...Object.keys(all)), { minLength: 1, maxLength: 4 })
    .map(withoutDisputed)
    .chain((chosen) => fc.record(Object.fromEntries(chosen.map((keyword) => [keyword, all[keyword]!]))));
}

/** Ajv also reads keywords beside a `$ref` in draft 7, and ignores `contains` for an empty array beside a tuple. */
function withoutDisputed(chosen: string[]): string[] {
  if (chosen.includes("$ref")) return ["$ref"];
  const hasTuple = chosen.includes("prefixItems") || chosen.includes("items");
  return hasTuple ? chosen.filter((keyword) => keyword !== "contains") : chosen;
}

describe.each([
  { dialect: "2020-12", ajv: new Ajv2020({ strict: false, logger: false }) },
  { dialect: "draft-07", ajv: new Ajv({ strict: false, logger: false }) },
] as const)("FromSchema in $dialect", ({ dialect, ajv }) => {
  test("accepts exactly the same values as Ajv", () => {
    fc.assert(
      fc.property(schemas(dialect), fc.array(value, { minLength: 1, maxLength: 8 }), (schema, values) => {
        const expected = ajv.compile(schema);
        const compiled = compileSchema(FromSchema(schema, { dialect }));

        expect(values.map((item) => compiled.check(item))).toEqual(values.map((item) => expected(item)));
      }),
      { numRuns: 300 },
    );
  });

  test("returns a type whose JSON behaves the same", () => {
    fc.assert(
      fc.property(schemas(dialect), fc.array(value, { minLength: 1, maxLength: 5 }), (schema, values) => {
        const type = FromSchema(schema, { dialect });
        const parsed = compileSchema(JSON.parse(JSON.stringify(type)));

        expect(values.map((item) => parsed.check(item))).toEqual(values.map((item) => compileSchema(type).check(item)));
      }),
      { numRuns: 100 },
    );
  });
});
