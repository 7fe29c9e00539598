import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { Type } from "typebox";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import * as mini from "zod/mini";
import { assertIsSchema, compileSchema, SchemaError, toSchema } from "./index.ts";

const otherHint = ' JSON has no such values. Describe the value that is sent instead: type("string").';
const arkTypeHints: Record<string, string> = {
  symbol: otherHint,
  URL: otherHint,
  Date: ' JSON has no dates. Describe the string, and convert it where the handler needs a Date: type("string.date.iso.parse").',
  bigint:
    ' JSON has no bigints. Describe the digits as a string, and convert them where the handler needs a bigint: type("string.integer").pipe(BigInt).',
  Map: ' JSON has neither maps nor sets. Use a record or an array: "Record<string, unknown>".',
};

describe("toSchema", () => {
  test("returns TypeBox types and JSON Schema unchanged, without reading them", () => {
    const typed = Type.String();
    const plain = { type: "string" };

    expect(toSchema(typed, "input", "x")).toEqual({ schema: typed });
    expect(toSchema(typed, "input", "x").schema).toBe(typed);
    expect(toSchema(plain, "input", "x").schema).toBe(plain);
  });

  test.each([
    ["Zod", z.object({ name: z.string().min(1) })],
    ["ArkType", type({ name: "string >= 1" })],
    ["Valibot", toStandardJsonSchema(v.object({ name: v.pipe(v.string(), v.minLength(1)) }))],
  ])("accepts %s with its JSON Schema and its own validation", async (_name, standard) => {
    const { schema, validate } = toSchema(standard, "input", "inputSchema");

    const compiled = compileSchema(schema);
    expect([{ name: "a" }, { name: "" }, {}].map((value) => compiled.check(value))).toEqual([true, false, false]);
    expect(await validate?.({ name: "a" })).toMatchObject({ value: { name: "a" } });
    expect((await validate?.({ name: 1 }))?.issues).toHaveLength(1);
  });

  test("distinguishes the input of callers from the result", () => {
    const schema = z.object({ page: z.number().default(1) });

    const input = compileSchema(toSchema(schema, "input", "x").schema);
    const output = compileSchema(toSchema(schema, "output", "x").schema);

    expect([input.check({}), output.check({})]).toEqual([true, false]);
  });

  test("accepts what ArkType checks in addition to its JSON Schema", () => {
    const accepted = [
      type("string.date.iso.parse"),
      type("string").narrow((value) => value !== "no"),
      type({ "note?": "string | undefined", page: "number = 1" }),
    ];

    for (const schema of accepted) expect(() => toSchema(schema, "input", "x")).not.toThrow();
  });

  test("accepts what Valibot checks, and how it changes strings and lists, in addition to its JSON Schema", async () => {
    const schema = toStandardJsonSchema(
      v.object({
        name: v.pipe(
          v.string(),
          v.trim(),
          v.toLowerCase(),
          v.check((value) => value !== "no", "Say yes."),
        ),
        tags: v.pipe(v.array(v.string()), v.sortItems()),
      }),
    );
    const { schema: json, validate } = toSchema(schema, "input", "x");

    const compiled = compileSchema(json);
    expect([compiled.check({ name: " A", tags: [] }), compiled.check({ name: 1, tags: [] })]).toEqual([true, false]);
    expect(await validate?.({ name: " A", tags: ["b", "a"] })).toMatchObject({
      value: { name: "a", tags: ["a", "b"] },
    });
    expect((await validate?.({ name: "NO ", tags: [] }))?.issues).toMatchObject([{ message: "Say yes." }]);
    expect(() => toSchema(schema, "output", "x")).not.toThrow();
  });

  test.each([
    ["Zod", z.object({ at: z.date() }), z.object({ at: z.iso.datetime() })],
    [
      "Valibot",
      toStandardJsonSchema(v.object({ at: v.date() })),
      toStandardJsonSchema(v.object({ at: v.pipe(v.string(), v.isoTimestamp()) })),
    ],
    ["ArkType", type({ at: "Date" }), type({ at: "string.date.iso" })],
  ])("suggests for a date in an output of %s what it accepts", (_name, refused, accepted) => {
    const { message } = catchError(() => toSchema(refused, "output", "x"));

    expect(message).toMatch(/JSON has no dates\. Describe the string, and return date\.toISOString\(\): \S/);
    expect(message).not.toMatch(/transform|parse/);
    expect(() => toSchema(accepted, "output", "x")).not.toThrow();
  });

  test.each([
    [
      "Zod",
      z.object({ a: z.undefined() }),
      "JSON has no undefined. Make a property optional, and return null for no result: z.null().",
    ],
    ["Zod", z.void(), "JSON has no undefined. Make a property optional, and return null for no result: z.null()."],
    ["Zod", z.file(), "JSON has no bytes. Describe them as a string in base64: z.base64()."],
    ["Zod", z.instanceof(URL), "Code has no schema. Describe the value, and add the check: z.string().refine(check)."],
    ["Zod", z.symbol(), "JSON has no such values. Describe the value that is sent instead: z.string()."],
    ["Zod", z.nan(), "JSON has no such values. Describe the value that is sent instead: z.string()."],
    ["Valibot", toStandardJsonSchema(v.blob()), "Describe them as a string in base64: v.pipe(v.string(), v.base64())."],
    ["Valibot", toStandardJsonSchema(v.function()), "Describe the value that is sent instead: v.string()."],
    ["Valibot", toStandardJsonSchema(v.instance(URL)), "and add the check: v.pipe(v.string(), v.check(check))."],
    [
      "ArkType",
      type("TypedArray.Uint8"),
      'JSON has no bytes. Describe them as a string in base64: type("string.base64").',
    ],
    ["ArkType", type("RegExp"), 'JSON has no such values. Describe the value that is sent instead: type("string").'],
  ])("suggests for a type of %s that JSON does not have what to write: %#", (_name, schema, advice) => {
    const { message } = catchError(() => toSchema(schema, "output", "x"));

    expect(message.endsWith(` ${advice}`), message).toBe(true);
  });

  test.each([
    ["/properties/a", Type.Object({ a: undefined as never })],
    ["/properties/list/items", Type.Object({ list: Type.Array(undefined as never) })],
    ["/properties/a/properties/not", Type.Object({ a: Type.Object({ not: undefined as never }) })],
  ])("refuses undefined in place of a schema: %s", (pointer, schema) => {
    expect(() => toSchema(schema, "input", "x")).toThrow(
      expect.objectContaining({
        pointer,
        message: expect.stringContaining("the schema is undefined. Check that it is defined before it is used."),
      }),
    );
    expect(() => toSchema(Type.Object({}, { additionalProperties: undefined }), "input", "x")).not.toThrow();
  });

  test("keeps the native engine for patterns of schemas in the program", () => {
    const { schema } = toSchema(z.object({ a: z.string().regex(/^(?=x)/) }), "input", "x");

    expect([compileSchema(schema).check({ a: "x" }), compileSchema(schema).check({ a: "y" })]).toEqual([true, false]);
  });

  test.each<[name: string, value: unknown, pointer: string, message: string]>([
    [
      "a Standard Schema without JSON Schema",
      v.object({}),
      "",
      'inputSchema of "a.b": the schema of valibot does not provide its JSON Schema. Wrap it in toStandardJsonSchema() of @valibot/to-json-schema.',
    ],
    [
      "a Standard Schema of zod/mini",
      mini.object({}),
      "",
      'inputSchema of "a.b": the schema of zod does not provide its JSON Schema. Import it from "zod", version 4.2 or later: zod/mini has no JSON Schema.',
    ],
    [
      "a transformation of Valibot that changes the type",
      toStandardJsonSchema(v.pipe(v.array(v.string()), v.mapItems(Number))),
      "",
      'inputSchema of "a.b": valibot cannot convert it to JSON Schema: The "map_items" action cannot be converted to JSON Schema.',
    ],
    [
      "a Standard Schema that has no JSON form",
      z.object({ at: z.date() }),
      "",
      'inputSchema of "a.b": zod cannot convert it to JSON Schema: Date cannot be represented in JSON Schema. JSON has no dates. Describe the string, and convert it where the handler needs a Date: z.iso.datetime().transform((value) => new Date(value)).',
    ],
    ...(
      [
        ["Date", type({ at: "Date" })],
        ["Date", type("Date < d'2030-01-01'")],
        ["Date", type({ at: "string | Date" })],
        ["Date", type({ at: type.unit(new Date(0)) })],
        ["bigint", type({ count: "bigint[]" })],
        ["bigint", type({ count: "1n" })],
        ["Map", type({ entries: "Map" })],
        ["symbol", type({ key: "symbol" })],
        ["URL", type({ link: type.instanceOf(URL) })],
      ] as const
    ).map(([name, schema]): [string, unknown, string, string] => [
      `ArkType's ${schema.expression}`,
      schema,
      "",
      `inputSchema of "a.b": arktype cannot convert it to JSON Schema: ${name} cannot be represented in JSON Schema.${arkTypeHints[name] ?? ""}`,
    ]),
    [
      "a refinement",
      Type.Object({ a: Type.Refine(Type.String(), () => true) }),
      "/properties/a",
      'inputSchema of "a.b", at "/properties/a": Type.Refine is code and would be lost in JSON.',
    ],
    [
      "a codec",
      Type.Array(
        Type.Codec(Type.String())
          .Decode((value) => value)
          .Encode((value) => value),
      ),
      "/items",
      'inputSchema of "a.b", at "/items": Type.Codec is code and would be lost in JSON.',
    ],
    [
      "a RegExp",
      Type.String({ pattern: /a/ as never }),
      "",
      'inputSchema of "a.b": a RegExp as pattern (use its source) is code and would be lost in JSON.',
    ],
    ...Object.entries({
      "Type.Object({ … })": Type.String(),
      "z.object({ … })": z.string(),
      "v.object({ … })": v.string(),
      "type({ … })": type("string"),
    }).map(([wrapped, title]): [string, unknown, string, string] => [
      `properties without ${wrapped}`,
      { title, items: title },
      "",
      `inputSchema of "a.b": it is a list of properties, not a schema. Write ${wrapped}.`,
    ]),
    [
      "something else",
      () => {},
      "",
      'inputSchema of "a.b": it must be a TypeBox type, JSON Schema or Standard Schema, not a function.',
    ],
    [
      "nothing",
      undefined,
      "",
      'inputSchema of "a.b": it must be a TypeBox type, JSON Schema or Standard Schema, not undefined.',
    ],
  ])("refuses %s", (_name, value, pointer, message) => {
    const refused = catchError(() => toSchema(value, "input", 'inputSchema of "a.b"'));

    expect(refused).toBeInstanceOf(SchemaError);
    expect({ pointer: refused.pointer, message: refused.message }).toEqual({ pointer, message });
  });
});

describe("assertIsSchema", () => {
  test("accepts schemas that can be registered", () => {
    for (const schema of [Type.String(), {}, true, z.string(), type("string"), toStandardJsonSchema(v.string())]) {
      expect(() => assertIsSchema(schema)).not.toThrow();
    }
  });

  test("names the refused value", () => {
    expect(() => assertIsSchema("string", "outputSchema")).toThrow(
      'outputSchema: it must be a TypeBox type, JSON Schema or Standard Schema, not "string".',
    );
  });
});

function catchError(run: () => unknown): SchemaError {
  try {
    run();
  } catch (error) {
    return error as SchemaError;
  }
  throw new Error("expected an error");
}
