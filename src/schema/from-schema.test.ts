import {
  IsEnum,
  IsLiteral,
  IsNever,
  IsObject,
  IsOptional,
  IsRef,
  IsString,
  IsTuple,
  IsUnion,
  IsUnknown,
} from "typebox";
import { describe, expect, test } from "vitest";
import { compileSchema, FromSchema } from "./index.ts";
import { accepts, deepFreeze, errorOf } from "./testing.ts";

describe("a converted schema accepts and rejects the values of", () => {
  test.each<[name: string, schema: unknown, fits: unknown[], not: unknown[]]>([
    ["an object", { type: "object", properties: { a: { type: "string" } }, required: ["a"] }, [{ a: "" }], [{}, []]],
    ["an enum of any values", { enum: ["a", 1, null, { b: 1 }] }, ["a", 1, null, { b: 1 }], ["b", {}]],
    ["a tuple", { type: "array", items: [{ type: "string" }], additionalItems: false }, [[""], []], [[1], ["", 1]]],
    ["prefixItems", { prefixItems: [{ type: "string" }], items: false }, [[""]], [[1], ["", 1]]],
    ["a primitive const", { const: 1 }, [1], [2, "1"]],
    ["an object const", { const: { a: [1] } }, [{ a: [1] }], [{ a: [2] }]],
    ["an exclusive oneOf", { oneOf: [{ type: "number" }, { minimum: 5 }] }, [1, "a"], [6]],
    ["anyOf", { anyOf: [{ type: "number" }, { type: "string" }] }, [1, ""], [true]],
    ["allOf", { allOf: [{ type: "number" }, { minimum: 1 }] }, [1], [0, ""]],
    ["a list of types", { type: ["string", "null"] }, ["", null], [1]],
    ["not", { not: { type: "string" } }, [1], [""]],
    ["if, then, else", { if: { type: "string" }, then: { minLength: 1 }, else: { const: 1 } }, ["a", 1], ["", 2]],
    ["patternProperties", { patternProperties: { "^x": { type: "number" } } }, [{ x: 1, y: "" }], [{ x: "" }]],
    ["OpenAPI's nullable", { type: "string", nullable: true }, ["", null], [1]],
    [
      "draft 4's exclusive bounds",
      { minimum: 1, exclusiveMinimum: true, maximum: 3, exclusiveMaximum: true },
      [2],
      [1, 3],
    ],
    ["draft 4's inclusive bounds", { minimum: 1, exclusiveMinimum: false }, [1], [0]],
    [
      "dependencies",
      { dependencies: { a: ["b"], c: { required: ["d"] } } },
      [{ a: 1, b: 1 }, {}],
      [{ a: 1 }, { c: 1 }],
    ],
    ["false below the root", { properties: { a: false } }, [{}], [{ a: 1 }]],
    [
      "unevaluatedProperties",
      { allOf: [{ properties: { a: {} } }], unevaluatedProperties: false },
      [{ a: 1 }],
      [{ b: 1 }],
    ],
    ["a property named (", { type: "object", properties: { "(": { type: "string" } } }, [{ "(": "" }], [{ "(": 1 }]],
    ["an unknown format", { type: "string", format: "x-mine" }, ["anything"], [1]],
    ["a known format", { type: "string", format: "uuid" }, ["6b1f0d2c-8e43-4c9d-9a70-3d8c1f1f1a11"], ["x"]],
  ])("%s", (_name, schema, fits, not) => {
    expect(accepts(schema, fits)).toEqual(fits.map(() => true));
    expect(accepts(schema, not)).toEqual(not.map(() => false));
  });

  test("true (every value) and false (none)", () => {
    expect(accepts(true, [1, null, {}])).toEqual([true, true, true]);
    expect(accepts(false, [1, null, {}])).toEqual([false, false, false]);
    expect(IsUnknown(FromSchema(true))).toBe(true);
    expect(IsNever(FromSchema(false))).toBe(true);
  });

  test("nullable, which adds null to a type only, as in OpenAPI 3.0.3", () => {
    expect(accepts({ nullable: true, enum: ["a"], type: "string" }, ["a", null])).toEqual([true, false]);
    expect(accepts({ nullable: true, allOf: [{ type: "string" }] }, [null])).toEqual([false]);
  });

  test("property names such as __proto__", () => {
    const schema = JSON.parse('{"properties":{"__proto__":{"type":"number"},"constructor":{"type":"number"}}}');

    const wrong = [JSON.parse('{"__proto__":""}'), { constructor: "" }];

    expect(accepts(schema, wrong)).toEqual([false, false]);
    expect(accepts(schema, [{}, JSON.parse('{"__proto__":1,"constructor":1}')])).toEqual([true, true]);
    expect(JSON.stringify(FromSchema(schema))).toBe(JSON.stringify(schema));
  });

  test("names of inherited methods", () => {
    const optional = compileSchema(
      FromSchema({ properties: { toString: { type: "string" } }, additionalProperties: false }),
    );
    const required = compileSchema(FromSchema({ required: ["valueOf"] }));

    expect([optional.check({}), optional.check({ toString: "a" }), optional.check({ toString: 1 })]).toEqual([
      true,
      true,
      false,
    ]);
    expect([required.check({}), required.check({ valueOf: 1 })]).toEqual([false, true]);
    expect(required.errors({}).errors).toEqual([{ path: "", message: 'must have the required properties "valueOf"' }]);
  });
});

describe("FromSchema keeps", () => {
  const schema = {
    title: "T",
    description: "D",
    "x-vendor": { a: 1 },
    examples: [1],
    default: { a: "b" },
    $comment: "C",
    type: "object",
    properties: { a: { type: "string", title: "A", deprecated: true } },
    required: ["a"],
  };

  test("every annotation in its order", () => {
    expect(JSON.stringify(FromSchema(schema))).toBe(JSON.stringify(schema));
    expect(Object.keys(FromSchema(schema))).toEqual(Object.keys(schema));
  });

  test("its argument unchanged", () => {
    const frozen = deepFreeze(structuredClone({ ...schema, properties: { a: { type: "string", nullable: true } } }));

    const type = FromSchema(frozen);

    expect(type).not.toBe(frozen);
    expect(frozen.properties.a).toEqual({ type: "string", nullable: true });
  });

  test("a converted schema equal", () => {
    const once = FromSchema({ type: "number", minimum: 1, exclusiveMinimum: true, nullable: true });

    expect(JSON.stringify(FromSchema(once))).toBe(JSON.stringify(once));
  });
});

describe("marks", () => {
  test("make TypeBox recognise a schema", () => {
    const object = FromSchema({ type: "object", properties: { a: { type: "string" }, b: {} }, required: ["a"] });
    const { properties } = object as unknown as { properties: Record<string, never> };

    expect(IsObject(object)).toBe(true);
    expect([IsString(properties["a"]), IsOptional(properties["a"]), IsOptional(properties["b"])]).toEqual([
      true,
      false,
      true,
    ]);
    expect(IsUnion(FromSchema({ anyOf: [{ type: "string" }] }))).toBe(true);
    expect(IsEnum(FromSchema({ enum: ["a"] }))).toBe(true);
    expect(IsLiteral(FromSchema({ const: "a" }))).toBe(true);
    expect(IsTuple(FromSchema({ type: "array", items: [{}] }))).toBe(true);
    expect(IsRef(FromSchema({ $defs: { a: {} }, $ref: "#/$defs/a" }))).toBe(true);
    expect(IsUnknown(FromSchema({ title: "nothing is asserted" }))).toBe(true);
  });
});

describe("FromSchema refuses", () => {
  test.each<[schema: unknown, pointer: string, message: string]>([
    [42, "", "Schema: a schema must be an object, true or false, not 42."],
    [null, "", "Schema: a schema must be an object, true or false, not null."],
    [[], "", "Schema: a schema must be an object, true or false, not an array."],
    [
      { type: 42 },
      "/type",
      'Schema, at "/type": "type" must be one of array, boolean, integer, null, number, object, string, or an array of these, not 42.',
    ],
    [
      { properties: [] },
      "/properties",
      'Schema, at "/properties": "properties" must be an object of schemas, not an array.',
    ],
    [{ required: "x" }, "/required", 'Schema, at "/required": "required" must be an array of property names, not "x".'],
    [
      { properties: { "a/b": { items: { minLength: -1 } } } },
      "/properties/a~1b/items/minLength",
      'Schema, at "/properties/a~1b/items/minLength": "minLength" must be an integer of at least 0, not -1.',
    ],
    [{ anyOf: [{}, "x"] }, "/anyOf/1", 'Schema, at "/anyOf/1": a schema must be an object, true or false, not "x".'],
  ])("%j", (schema, pointer, message) => {
    const error = errorOf(schema);

    expect({ pointer: error.pointer, message: error.message }).toEqual({ pointer, message });
  });

  test("an object that contains itself", () => {
    const schema: Record<string, unknown> = { type: "object" };
    schema["properties"] = { self: schema };

    expect(errorOf(schema).pointer).toBe("/properties/self");
  });

  test("a schema that exceeds a limit by one, but not a smaller one", () => {
    const nested = (depth: number): unknown => (depth === 0 ? {} : { items: nested(depth - 1) });
    const wide = (count: number) => ({ anyOf: Array.from({ length: count - 1 }, () => ({})) });

    expect(FromSchema(nested(64))).toBeDefined();
    expect(errorOf(nested(65)).pointer).toBe("/items".repeat(65));
    expect(FromSchema(wide(10_000))).toBeDefined();
    expect(errorOf(wide(10_001)).pointer).toBe("/anyOf/9999");
    expect(FromSchema({ pattern: "a".repeat(50_000) })).toBeDefined();
    expect(errorOf({ pattern: "a".repeat(50_001) }).message).toContain("limits.patternLength");
    expect(errorOf(nested(3), { limits: { schemaDepth: 2 } }).pointer).toBe("/items/items/items");
    expect(errorOf(nested(65), { limits: { schemaDepth: undefined } }).pointer).toBe("/items".repeat(65));
  });

  test("a schema that is nested too deeply for the stack, whatever the limits", () => {
    let schema: unknown = {};
    for (let depth = 0; depth < 20_000; depth += 1) schema = { not: schema };

    const limits = { schemaDepth: Number.POSITIVE_INFINITY, subschemas: Number.POSITIVE_INFINITY };
    expect(errorOf(schema, { limits }).message).toBe("Schema: the schema is nested too deeply to be read.");
  });

  test("a shared object that exceeds the limits when it is expanded", () => {
    let schema: unknown = {};
    for (let level = 0; level < 30; level += 1) schema = { anyOf: [schema, schema] };

    expect(errorOf(schema).message).toContain("limits.subschemas");
  });
});
