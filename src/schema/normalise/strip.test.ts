import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { driftOf, normalise, normaliserOf, passesQuickCheck } from "../testing.ts";

const person = Type.Object({ name: Type.String(), age: Type.Optional(Type.Integer()) });

describe("stripping", () => {
  const a = { type: "object", properties: { a: { type: "number" } }, required: ["a"] };
  const b = { type: "object", properties: { b: { type: "number" } }, required: ["b"] };
  const text = (name: string, ...required: string[]) => ({
    type: "object",
    properties: { [name]: { type: "string" } },
    required: [name, ...required],
  });

  test.each([
    ["a closed object", { ...a, additionalProperties: false }, { a: 1, x: 1 }, { a: 1 }],
    ["keeps what allOf declares", { allOf: [a, b] }, { a: 1, b: 2, x: 1 }, { a: 1, b: 2 }],
    [
      "closing keywords beside allOf",
      { allOf: [a, b], unevaluatedProperties: false },
      { a: 1, b: 2, x: 1 },
      { a: 1, b: 2 },
    ],
    ["keeps what a passing anyOf branch declares", { anyOf: [a, b] }, { a: 1, b: 2, x: 1 }, { a: 1, b: 2 }],
    ["removes what a failing anyOf branch declares", { anyOf: [a, b] }, { a: 1, b: "no", x: 1 }, { a: 1 }],
    ["keeps what the oneOf branch declares", { oneOf: [a, b] }, { a: 1, x: 1 }, { a: 1 }],
    ["anyOf beside properties", { ...a, anyOf: [b, { type: "object" }] }, { a: 1, b: 2, x: 1 }, { a: 1, b: 2 }],
    [
      "then, when if holds",
      { ...a, if: { properties: { a: { const: 1 } } }, then: b },
      { a: 1, b: 2, x: 1 },
      { a: 1, b: 2 },
    ],
    [
      "else, when it does not",
      { ...a, if: { properties: { a: { const: 2 } } }, else: b },
      { a: 1, b: 2, x: 1 },
      { a: 1, b: 2 },
    ],
    ["a dependent schema", { ...a, dependentSchemas: { a: b } }, { a: 1, b: 2, x: 1 }, { a: 1, b: 2 }],
    ["a reference", { $ref: "#/$defs/a", $defs: { a } }, { a: 1, x: 1 }, { a: 1 }],
    ["a reference in allOf", { allOf: [{ $ref: "#/$defs/a" }, b], $defs: { a } }, { a: 1, b: 2, x: 1 }, { a: 1, b: 2 }],
    [
      "keeps names that match a pattern",
      { ...a, patternProperties: { "^x-": {} } },
      { a: 1, "x-y": 1, y: 2 },
      { a: 1, "x-y": 1 },
    ],
    ["a nullable object", { anyOf: [a, { type: "null" }] }, { a: 1, x: 1 }, { a: 1 }],
    ["a type array", { ...a, type: ["object", "null"] }, { a: 1, x: 1 }, { a: 1 }],
    ["items", { type: "array", items: a }, [{ a: 1, x: 1 }], [{ a: 1 }]],
    [
      "tuples",
      { type: "array", prefixItems: [a, {}], items: b },
      [{ a: 1, x: 1 }, { x: 1 }, { b: 1, x: 1 }],
      [{ a: 1 }, { x: 1 }, { b: 1 }],
    ],
    ["records", { type: "object", additionalProperties: a }, { k: { a: 1, x: 1 } }, { k: { a: 1 } }],
    ["a name in the middle", a, { x: 1, a: 1, y: 2 }, { a: 1 }],
  ])("%s", (_, schema, value, expected) => {
    const normaliser = normaliserOf(schema);

    const { data, drift } = normaliser.normalise(value);

    expect(data).toEqual(expected);
    expect(new Set(drift?.map(({ kind }) => kind))).toEqual(new Set(["stripped"]));
    expect(passesQuickCheck(schema, value)).toBe(false);
    expect(passesQuickCheck(schema, data)).toBe(true);
  });

  test.each([
    ["a free-form object", { type: "object" }, { x: { y: 1 } }],
    ["an object whose properties are not listed", { type: "object", properties: {} }, { x: 1 }],
    ["additionalProperties: true", { ...a, additionalProperties: true }, { a: 1, x: 1 }],
    ["an additionalProperties schema", { ...a, additionalProperties: { type: "string" } }, { a: 1, x: "y" }],
    ["unevaluatedProperties: true", { ...a, unevaluatedProperties: true }, { a: 1, x: 1 }],
    ["an alternative of any shape", { anyOf: [{ type: "object" }, { type: "string" }] }, { x: 1 }],
    ["an optional object that is undefined", Type.Object({ o: Type.Optional(person) }), { o: undefined }],
    ["a value that passes not", { ...a, not: b }, { a: 1 }],
  ])("keeps everything of %s", (_, schema, value) => {
    const result = normalise(schema, value);

    expect(result).toEqual({ data: value });
    expect(result.data).toBe(value);
  });

  test.each([
    ["no branch accepts it", { anyOf: [a, b] }, { x: 1 }],
    ["two oneOf branches accept it", { oneOf: [a, b] }, { a: 1, b: 2 }],
    ["it has none of the declared properties", a, { error: "not found" }],
    ["it has none of the declared properties, all optional", { ...a, required: [] }, { error: "not found" }],
    ["it has none of them and more are allowed", { ...a, additionalProperties: true }, { error: "not found" }],
    ["it has another type", a, [{ a: 1 }]],
    ["it is a string", a, "<html>"],
    ["it is null", a, null],
    ["stripping would break the schema", { ...a, minProperties: 2 }, { a: 1, x: 1 }],
  ])("leaves a value unchanged when %s", (_, schema, value) => {
    const result = normalise(schema, value);

    expect(result.data).toBe(value);
    expect(result.drift).toEqual([{ path: "", kind: "mismatch", message: expect.any(String) }]);
  });

  test("leaves a nested object with none of the declared properties unchanged", () => {
    const value = { a: { error: "x" } };

    expect(normalise({ type: "object", properties: { a } }, value)).toEqual({
      data: value,
      drift: [{ path: "/a", kind: "mismatch", message: "none of the declared properties" }],
    });
  });

  test.each<[string, unknown, unknown, unknown, string[]]>([
    [
      "a later alternative declares",
      { anyOf: [text("a"), { properties: { b: { type: "integer" } }, required: ["b"] }] },
      { a: "x", b: "5" },
      { a: "x", b: 5 },
      ["converted /b"],
    ],
    [
      "an earlier alternative declares",
      { anyOf: [{ ...text("a", "c"), properties: { c: { type: "boolean" } } }, text("a")] },
      { a: "x", c: "true", d: 1 },
      { a: "x", c: true },
      ["converted /c", "stripped /d"],
    ],
    [
      "a nested alternative declares",
      { anyOf: [{ ...text("a"), anyOf: [text("a"), { properties: { b: { type: "integer" } }, required: ["b"] }] }] },
      { a: "x", b: "5" },
      { a: "x", b: 5 },
      ["converted /b"],
    ],
    [
      "an alternative declares at a deeper level",
      { anyOf: [text("a"), { properties: { b: { type: "object", properties: { c: { type: "integer" } } } } }] },
      { a: "x", b: { c: "5", d: 1 } },
      { a: "x", b: { c: 5 } },
      ["converted /b/c", "stripped /b/d"],
    ],
  ])("keeps what %s once it is converted", (_, schema, value, expected, drift) => {
    const result = normalise(schema, value);

    expect(result.data).toEqual(expected);
    expect(driftOf(schema, value)).toEqual(drift);
    expect(normalise(schema, result.data)).toEqual({ data: result.data });
  });

  test.each<[string, unknown, unknown, unknown]>([
    ["cannot accept the value", { anyOf: [text("a"), b] }, { a: "x", b: "no" }, { a: "x" }],
    [
      "would need an invented value",
      { anyOf: [text("a"), { ...b, properties: { ...b.properties, c: { type: "string" } }, required: ["b", "c"] }] },
      { a: "x", b: "5" },
      { a: "x" },
    ],
    [
      "would break one that accepts it",
      { anyOf: [text("a"), { properties: { a: { type: "integer" }, b: { type: "integer" } }, required: ["a", "b"] }] },
      { a: "1", b: "5" },
      { a: "1" },
    ],
    ["excludes the others", { oneOf: [text("a"), b] }, { a: "x", b: "5" }, { a: "x" }],
  ])("strips a property of an alternative that %s", (_, schema, value, expected) => {
    expect(normalise(schema, value).data).toEqual(expected);
    expect(driftOf(schema, value)).toEqual(["stripped /b"]);
  });

  test("keeps a name that is required but not declared", () => {
    expect(normalise({ ...a, required: ["a", "z"] }, { a: 1, z: 1, x: 1 }).data).toEqual({ a: 1, z: 1 });
  });
});
