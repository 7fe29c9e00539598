import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { driftOf, normalise, passesQuickCheck } from "../testing.ts";

describe("filling and inventing", () => {
  test("fills a declared default with a copy", () => {
    const declared = { list: [1] };
    const schema = { type: "object", properties: { a: { default: declared }, b: {} } };

    const data = normalise(schema, { b: 1 }).data as { a: typeof declared };

    expect(data).toEqual({ a: { list: [1] }, b: 1 });
    expect(data.a).not.toBe(declared);
    expect(data.a.list).not.toBe(declared.list);
    expect(driftOf(schema, { b: 1 })).toEqual(["filled /a"]);
    expect(passesQuickCheck(schema, { b: 1 })).toBe(false);
  });

  test("fills the defaults inside a default", () => {
    const inner = { type: "object", properties: { n: { type: "integer", default: 1 } }, default: {} };

    expect(normalise({ type: "object", properties: { inner } }, {}).data).toEqual({ inner: { n: 1 } });
  });

  test("an invalid default is not used", () => {
    expect(normalise({ type: "object", properties: { a: { type: "integer", default: "null" } } }, {})).toEqual({
      data: {},
    });
  });

  test("a default that contains itself is not used", () => {
    const schema = { type: "object", properties: { next: { $ref: "#", default: {} }, a: {} } };

    expect(normalise(schema, { a: 1 })).toEqual({ data: { a: 1 } });
  });

  test.each([
    ["null where it is allowed", { type: ["string", "null"] }, null],
    ["null for anything", {}, null],
    ["an empty string", { type: "string" }, ""],
    ["zero", { type: "integer" }, 0],
    ["false", { type: "boolean" }, false],
    ["an empty array", { type: "array", items: { type: "string" } }, []],
    ["an empty object", { type: "object" }, {}],
  ])("a missing required property becomes %s", (_, property, expected) => {
    const schema = { type: "object", properties: { a: property, b: {} }, required: ["a"] };

    expect(normalise(schema, { b: 1 })).toEqual({
      data: { a: expected, b: 1 },
      drift: [{ path: "/a", kind: "invented", message: "missing, set to its empty value" }],
    });
  });

  test.each([
    [{ type: "string", minLength: 1 }],
    [{ type: "string", format: "date-time" }],
    [{ enum: ["red", "green"] }],
    [{ const: "circle" }],
    [{ type: "integer", minimum: 1 }],
    [{ type: "object", required: ["x"] }],
    [false],
  ])("one without a valid empty value (%j) stays missing", (property) => {
    const schema = { type: "object", properties: { a: property, b: {} }, required: ["a"] };

    expect(normalise(schema, { b: 1 })).toEqual({
      data: { b: 1 },
      drift: [{ path: "/a", kind: "mismatch", message: "required, missing" }],
    });
  });

  test("an undefined property counts as missing", () => {
    const schema = Type.Object({ a: Type.String(), b: Type.Number({ default: 7 }) });

    expect(normalise(schema, { a: undefined, b: undefined }).data).toEqual({ a: "", b: 7 });
  });
});

describe("converting", () => {
  const converted = (type: unknown, value: unknown) =>
    normalise({ type: "object", properties: { v: { type } } }, { v: value });

  test.each<[string | string[], unknown, unknown]>([
    ["number", "42.5", 42.5],
    ["number", "-1e3", -1000],
    ["number", "1.10", 1.1],
    ["integer", "42", 42],
    ["integer", "9007199254740991", 9007199254740991],
    ["boolean", "true", true],
    ["boolean", "false", false],
    ["string", 42.5, "42.5"],
    ["string", false, "false"],
    [["integer", "null"], "7", 7],
    [["number", "boolean"], "true", true],
  ])("to %s: %j", (type, value, expected) => {
    const { data, drift } = converted(type, value);

    expect(data).toEqual({ v: expected });
    expect(drift).toEqual([{ path: "/v", kind: "converted", message: `${typeof value} to ${typeof expected}` }]);
  });

  test.each<[string | string[], unknown]>([
    ["integer", "42.5"],
    ["number", ""],
    ["number", " 1 "],
    ["number", "0x10"],
    ["number", "1e400"],
    ["number", "007"],
    ["number", "+1"],
    ["number", "-0"],
    ["number", "NaN"],
    ["number", "1_000"],
    ["number", "12345678901234567890"],
    ["number", "0.10000000000000000555"],
    ["number", "9".repeat(500)],
    ["number", true],
    ["number", null],
    ["number", 5n],
    ["boolean", "TRUE"],
    ["boolean", 1],
    ["string", Number.NaN],
    ["string", 2 ** 53],
    ["string", -(2 ** 60)],
    ["string", Number.POSITIVE_INFINITY],
    ["string", -0],
    ["string", null],
    ["null", "null"],
    ["array", "[]"],
    ["object", "{}"],
  ])("never to %s: %o", (type, value) => {
    const data = { v: value };
    const result = normalise({ type: "object", properties: { v: { type } } }, data);

    expect(result.data).toBe(data);
    expect(result.drift).toEqual([{ path: "/v", kind: "mismatch", message: expect.stringMatching(/^expected /) }]);
  });

  test("leaves valid values unchanged", () => {
    expect(converted(["string", "number"], "42")).toEqual({ data: { v: "42" } });
  });

  test("never swaps an enum member", () => {
    const schema = Type.Object({ colour: Type.Enum(["red", "blue"]) });

    expect(normalise(schema, { colour: "green" })).toEqual({
      data: { colour: "green" },
      drift: [{ path: "/colour", kind: "mismatch", message: "does not match the schema" }],
    });
  });

  test.each([
    [{ type: "string", format: "date-time" }, "2024-01-01T00:00:00Z"],
    [{ type: "string", format: "uuid" }, "123e4567-e89b-12d3-a456-426614174000"],
    [{ type: "string", format: "binary" }, "anything"],
    [{ type: "string", format: "made-up" }, "anything"],
  ])("accepts a value of format %j unchanged", (property, value) => {
    expect(normalise({ type: "object", properties: { v: property } }, { v: value })).toEqual({ data: { v: value } });
  });

  test("converts values for a schema of additional properties", () => {
    expect(normalise({ type: "object", additionalProperties: { type: "integer" } }, { a: "1" }).data).toEqual({ a: 1 });
  });
});
