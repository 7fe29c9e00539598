import fc from "fast-check";
import { type TSchema, Type } from "typebox";
import { describe, expect, test } from "vitest";
import { compileSchema } from "../compile.ts";
import { toCallerView } from "./caller-view.ts";
import { createDefaultFiller } from "./input-defaults.ts";

const json = (schema: TSchema): unknown => JSON.parse(JSON.stringify(toCallerView(schema)));

describe("the caller's view of a schema", () => {
  test("does not require properties with a default, at any depth", () => {
    const schema = Type.Object({
      id: Type.String(),
      size: Type.Number({ default: 1 }),
      tags: Type.Array(Type.Object({ name: Type.String(), color: Type.String({ default: "red" }) })),
    });

    expect(json(schema)).toEqual({
      type: "object",
      required: ["id", "tags"],
      properties: {
        id: { type: "string" },
        size: { type: "number", default: 1 },
        tags: {
          type: "array",
          items: {
            type: "object",
            required: ["name"],
            properties: { name: { type: "string" }, color: { type: "string", default: "red" } },
          },
        },
      },
    });
  });

  test("is the schema itself where nothing changes", () => {
    const schemas = [
      Type.Object({ a: Type.String() }),
      Type.Object({ a: Type.Optional(Type.String({ default: "x" })) }),
      Type.Unknown(),
    ];

    for (const schema of schemas) expect(toCallerView(schema)).toBe(schema);
  });

  test.each<[string, object, unknown]>([
    [
      "a default behind a reference",
      { $defs: { n: { default: 1 } }, properties: { a: { $ref: "#/$defs/n" } }, required: ["a"] },
      {},
    ],
    [
      "a default in another member of allOf",
      { allOf: [{ properties: { a: { default: 1 } } }, { required: ["a"] }] },
      {},
    ],
    ["a requirement beside the alternatives", { required: ["a"], anyOf: [{ properties: { a: { default: 1 } } }] }, {}],
    [
      "one alternative of two",
      { oneOf: [{ properties: { x: { default: 1 } }, required: ["x"] }, { required: ["y"] }] },
      { y: "s" },
    ],
    [
      "a property that another one needs",
      { properties: { b: { default: 1 } }, dependentRequired: { a: ["b"] } },
      { a: 1 },
    ],
    ["a minimum number of properties", { properties: { a: { default: 1 } }, minProperties: 1 }, {}],
    [
      "a condition on a filled property",
      {
        type: "object",
        properties: { a: { default: 1 } },
        if: { required: ["a"] },
        then: {},
        else: { required: ["b"] },
      },
      {},
    ],
    [
      "a negation of a filled property",
      { properties: { a: { default: 1 } }, not: { properties: { a: { const: 2 } } } },
      {},
    ],
  ])("accepts values that filling makes valid: %s", (_, schema, value) => {
    const fill = createDefaultFiller(schema as TSchema);

    expect(compileSchema(schema as TSchema).check(fill?.(value))).toBe(true);
    expect(compileSchema(toCallerView(schema as TSchema)).check(value)).toBe(true);
  });

  test("accepts every value that is valid after its defaults are filled", () => {
    const keys = fc.constantFrom("a", "b", "c");
    const schemas = fc.letrec<{ schema: object }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 3, withCrossShrink: true },
        fc.constantFrom<object>(
          { type: "string" },
          { type: "number", default: 1 },
          { const: "a" },
          { default: "a" },
          {},
        ),
        fc.record({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
        fc.record({ oneOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
        fc.record({ allOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
        fc.record({ items: tie("schema") }),
        fc.record(
          {
            type: fc.constant("object"),
            properties: fc.dictionary(keys, tie("schema"), { maxKeys: 3 }),
            required: fc.uniqueArray(keys, { maxLength: 3 }),
            additionalProperties: fc.boolean(),
            minProperties: fc.nat(2),
          },
          { requiredKeys: ["properties"] },
        ),
      ),
    })).schema;
    const values = fc.anything({ key: keys, maxDepth: 3, values: [fc.constantFrom<unknown>("a", "b", 1, null)] });
    fc.assert(
      fc.property(schemas, fc.array(values, { minLength: 1, maxLength: 5 }), (schema, given) => {
        const fill = createDefaultFiller(schema as TSchema) ?? ((value: unknown) => value);
        const real = compileSchema(schema as TSchema);
        const view = compileSchema(toCallerView(schema as TSchema));

        for (const value of given) {
          if (value !== undefined && real.check(fill(value))) expect(view.check(value)).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });
});
