import type { TSchema } from "typebox";
import { Type } from "typebox";
import { describe, expect, test, vi } from "vitest";
import { compileSchema } from "../compile.ts";
import { createInstanceReader } from "./class-instances.ts";
import { createNormaliser } from "./normaliser.ts";

const normaliserOf = (schema: unknown) => createNormaliser(schema as TSchema);
const normalise = (schema: unknown, value: unknown) => normaliserOf(schema).normalise(value);
const kinds = (schema: unknown, value: unknown) =>
  (normalise(schema, value).drift ?? []).map(({ kind, path }) => `${kind} ${path}`);

const person = Type.Object({ name: Type.String(), age: Type.Optional(Type.Integer()) });

describe("a normaliser", () => {
  test("is the same for the same schema", () => {
    expect(createNormaliser(person)).toBe(createNormaliser(person));
  });

  test("gives clean data back as it is", () => {
    const value = { name: "Ada", age: 36 };

    const result = createNormaliser(person).normalise(value);

    expect(result).toEqual({ data: value });
    expect(result.data).toBe(value);
    expect(createNormaliser(person).quickCheck(value)).toBe(true);
  });

  test("shares every part that did not change", () => {
    const schema = Type.Object({ kept: Type.Object({ a: Type.Number() }), cut: Type.Object({ a: Type.Number() }) });
    const value = { kept: { a: 1 }, cut: { a: 1, b: 2 } };

    const data = normalise(schema, value).data as typeof value;

    expect(data).toEqual({ kept: { a: 1 }, cut: { a: 1 } });
    expect(data.kept).toBe(value.kept);
  });

  test.each([[{}], [true], [{ title: "Anything", description: "at all" }], [Type.Unknown()], [Type.Any()]])(
    "does nothing for %j",
    (schema) => {
      const value = { a: [1, { b: 2 }] };

      expect(normalise(schema, value)).toEqual({ data: value });
      expect(normalise(schema, value).data).toBe(value);
      expect(normaliserOf(schema).quickCheck(value)).toBe(true);
    },
  );

  test("reports at most 20 differences and how many there were", () => {
    const value = Array.from({ length: 50_000 }, () => ({ name: 1n }));

    const { drift, driftTotal } = normalise(Type.Array(person), value);

    expect(drift).toHaveLength(20);
    expect(driftTotal).toBe(50_000);
    expect(drift![19]).toEqual({ path: "/19/name", kind: "mismatch", message: "expected string" });
  });

  test("has no total when nothing was cut", () => {
    expect(normalise(person, { name: "Ada", x: 1 })).toEqual({
      data: { name: "Ada" },
      drift: [{ path: "/x", kind: "stripped", message: "not in the schema" }],
    });
  });

  test("never puts a value into its report", () => {
    const secret = "hunter2-hunter2";
    const schema = Type.Object({ a: Type.Integer(), b: Type.Union([Type.Literal("x"), Type.Literal("y")]) });

    const { drift } = normalise(schema, { a: secret, b: secret, c: secret });

    expect(drift).toHaveLength(3);
    expect(JSON.stringify(drift)).not.toContain(secret);
  });

  test("keeps its report small when names are huge", () => {
    const value = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`${index}`.repeat(100_000), 1]));

    const { drift } = normalise(person, { name: "Ada", ...value });

    expect(drift).toHaveLength(20);
    expect(JSON.stringify(drift).length).toBeLessThan(16_384);
  });

  test("writes paths as JSON pointers", () => {
    const schema = Type.Object({ "a/b~c": Type.Array(person) });

    expect(kinds(schema, { "a/b~c": [{ name: "Ada", "~/": 1 }] })).toEqual(["stripped /a~1b~0c/0/~0~1"]);
  });

  test("inspects: the data stays, the report says what normalising would do", () => {
    const value = { name: 5, x: 1 };
    const normaliser = createNormaliser(person);

    const { data, drift } = normaliser.inspect(value);

    expect(data).toBe(value);
    expect(drift).toEqual(normaliser.normalise(value).drift);
  });
});

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
    ["what allOf declares stays", { allOf: [a, b] }, { a: 1, b: 2, x: 1 }, { a: 1, b: 2 }],
    [
      "closing keywords beside allOf",
      { allOf: [a, b], unevaluatedProperties: false },
      { a: 1, b: 2, x: 1 },
      { a: 1, b: 2 },
    ],
    ["what a passing anyOf branch declares stays", { anyOf: [a, b] }, { a: 1, b: 2, x: 1 }, { a: 1, b: 2 }],
    ["what a failing anyOf branch declares goes", { anyOf: [a, b] }, { a: 1, b: "no", x: 1 }, { a: 1 }],
    ["what the oneOf branch declares stays", { oneOf: [a, b] }, { a: 1, x: 1 }, { a: 1 }],
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
      "names that fit a pattern stay",
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
    expect(normaliser.quickCheck(value)).toBe(false);
    expect(normaliser.quickCheck(data)).toBe(true);
  });

  test.each([
    ["a free-form object", { type: "object" }, { x: { y: 1 } }],
    ["an object whose properties are not listed", { type: "object", properties: {} }, { x: 1 }],
    ["additionalProperties: true", { ...a, additionalProperties: true }, { a: 1, x: 1 }],
    ["an additionalProperties schema", { ...a, additionalProperties: { type: "string" } }, { a: 1, x: "y" }],
    ["unevaluatedProperties: true", { ...a, unevaluatedProperties: true }, { a: 1, x: 1 }],
    ["an alternative of any shape", { anyOf: [{ type: "object" }, { type: "string" }] }, { x: 1 }],
    ["an optional object that is undefined", Type.Object({ o: Type.Optional(person) }), { o: undefined }],
    ["a value that not turns away nothing of", { ...a, not: b }, { a: 1 }],
  ])("keeps everything of %s", (_, schema, value) => {
    const result = normalise(schema, value);

    expect(result).toEqual({ data: value });
    expect(result.data).toBe(value);
  });

  test.each([
    ["no branch takes it", { anyOf: [a, b] }, { x: 1 }],
    ["two oneOf branches take it", { oneOf: [a, b] }, { a: 1, b: 2 }],
    ["it has none of the declared properties", a, { error: "not found" }],
    ["it has none of the declared properties, all optional", { ...a, required: [] }, { error: "not found" }],
    ["it has none of them and more are allowed", { ...a, additionalProperties: true }, { error: "not found" }],
    ["it is of another kind", a, [{ a: 1 }]],
    ["it is text", a, "<html>"],
    ["it is null", a, null],
    ["stripping would break the schema", { ...a, minProperties: 2 }, { a: 1, x: 1 }],
  ])("leaves a value alone when %s", (_, schema, value) => {
    const result = normalise(schema, value);

    expect(result.data).toBe(value);
    expect(result.drift).toEqual([{ path: "", kind: "mismatch", message: expect.any(String) }]);
  });

  test("leaves a nested object with none of the declared properties alone", () => {
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
      "an alternative inside of one declares",
      { anyOf: [{ ...text("a"), anyOf: [text("a"), { properties: { b: { type: "integer" } }, required: ["b"] }] }] },
      { a: "x", b: "5" },
      { a: "x", b: 5 },
      ["converted /b"],
    ],
    [
      "an alternative declares at a deeper place",
      { anyOf: [text("a"), { properties: { b: { type: "object", properties: { c: { type: "integer" } } } } }] },
      { a: "x", b: { c: "5", d: 1 } },
      { a: "x", b: { c: 5 } },
      ["converted /b/c", "stripped /b/d"],
    ],
  ])("keeps what %s once it is converted", (_, schema, value, expected, drift) => {
    const result = normalise(schema, value);

    expect(result.data).toEqual(expected);
    expect(kinds(schema, value)).toEqual(drift);
    expect(normalise(schema, result.data)).toEqual({ data: result.data });
  });

  test.each<[string, unknown, unknown, unknown]>([
    ["cannot take the value", { anyOf: [text("a"), b] }, { a: "x", b: "no" }, { a: "x" }],
    [
      "would need an invented value",
      { anyOf: [text("a"), { ...b, properties: { ...b.properties, c: { type: "string" } }, required: ["b", "c"] }] },
      { a: "x", b: "5" },
      { a: "x" },
    ],
    [
      "would break one that takes it",
      { anyOf: [text("a"), { properties: { a: { type: "integer" }, b: { type: "integer" } }, required: ["a", "b"] }] },
      { a: "1", b: "5" },
      { a: "1" },
    ],
    ["excludes the others", { oneOf: [text("a"), b] }, { a: "x", b: "5" }, { a: "x" }],
  ])("strips what only an alternative declares that %s", (_, schema, value, expected) => {
    expect(normalise(schema, value).data).toEqual(expected);
    expect(kinds(schema, value)).toEqual(["stripped /b"]);
  });

  test("never strips a name that is required and not declared", () => {
    expect(normalise({ ...a, required: ["a", "z"] }, { a: 1, z: 1, x: 1 }).data).toEqual({ a: 1, z: 1 });
  });
});

describe("filling and inventing", () => {
  test("fills a declared default with a copy", () => {
    const declared = { list: [1] };
    const schema = { type: "object", properties: { a: { default: declared }, b: {} } };

    const data = normalise(schema, { b: 1 }).data as { a: typeof declared };

    expect(data).toEqual({ a: { list: [1] }, b: 1 });
    expect(data.a).not.toBe(declared);
    expect(data.a.list).not.toBe(declared.list);
    expect(kinds(schema, { b: 1 })).toEqual(["filled /a"]);
    expect(normaliserOf(schema).quickCheck({ b: 1 })).toBe(false);
  });

  test("fills what a default leaves out", () => {
    const inner = { type: "object", properties: { n: { type: "integer", default: 1 } }, default: {} };

    expect(normalise({ type: "object", properties: { inner } }, {}).data).toEqual({ inner: { n: 1 } });
  });

  test("a default that does not fit its own schema is not used", () => {
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
  ])("one that has no empty value (%j) stays missing", (property) => {
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

  test("leaves what fits already", () => {
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

  test("converts what is then kept by a schema for further properties", () => {
    expect(normalise({ type: "object", additionalProperties: { type: "integer" } }, { a: "1" }).data).toEqual({ a: 1 });
  });
});

describe("hostile names", () => {
  test("__proto__ in data never becomes a prototype", () => {
    for (const text of [
      '{"__proto__":{"isAdmin":true},"name":"x"}',
      '{"name":"x","z":1,"__proto__":{"isAdmin":true}}',
    ]) {
      for (const schema of [person, { ...person, additionalProperties: true, default: {} }]) {
        const data = normalise(schema, JSON.parse(text)).data as Record<string, unknown>;

        expect(data["isAdmin"]).toBeUndefined();
        expect(Object.getPrototypeOf(data)).toBe(Object.prototype);
      }
    }
  });

  test("a declared __proto__ is data: it stays, and is normalised", () => {
    const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"object","properties":{"a":{}}}}}');
    const value = JSON.parse('{"x":1,"__proto__":{"a":1,"isAdmin":true}}');

    const data = normalise(schema, value).data as Record<string, unknown>;

    expect(Object.keys(data)).toEqual(["__proto__"]);
    expect(Object.getOwnPropertyDescriptor(data, "__proto__")?.value).toEqual({ a: 1 });
    expect(data["isAdmin"]).toBeUndefined();
  });

  test.each(["constructor", "toString", "hasOwnProperty", "__proto__", "("])("%s is a name like any other", (name) => {
    const properties = JSON.parse(`{${JSON.stringify(name)}:{"type":"integer"},"a":{}}`);
    const schema = { type: "object", properties, required: [name] };
    const value = JSON.parse(`{${JSON.stringify(name)}:"5","a":1}`);

    expect(Object.entries(normalise(schema, value).data as object)).toEqual([
      [name, 5],
      ["a", 1],
    ]);
    expect(kinds(schema, { a: 1 })).toEqual([`invented /${name}`]);
    expect(kinds(person, { name: "x", ...JSON.parse(`{${JSON.stringify(name)}:1}`) })).toEqual([`stripped /${name}`]);
  });

  test.each([
    '"',
    "'",
    "`",
    "\\",
    "\n",
    "\r\n",
    "\u2028",
    "\u2029",
    "*/",
    "//",
    "$" + "{1}",
    "\0",
    "\ud800",
    '"]; throw 1; ["',
    "case",
    "default:",
  ])("a property called %j cannot leave the generated code", (name) => {
    const inner = { type: "object", properties: { [name]: { type: "string", default: "x" } } };
    const schema = { type: "object", properties: { [name]: inner }, required: [name] };
    const normaliser = normaliserOf(schema);

    expect(normaliser.quickCheck({ [name]: { [name]: "y" } })).toBe(true);
    expect(normaliser.quickCheck({ [name]: { [name]: "y", other: 1 } })).toBe(false);
    expect(normaliser.quickCheck({ [name]: {} })).toBe(false);
    expect(normaliser.normalise({ [name]: {} }).data).toEqual({ [name]: { [name]: "x" } });
  });
});

describe("odd values", () => {
  const list = { type: "object", properties: { next: { $ref: "#" } } };

  test("data nested 20,000 deep is given back with a report", () => {
    let value: unknown = {};
    for (let depth = 0; depth < 20_000; depth++) value = { next: value, x: 1 };

    const { data, drift } = normalise(list, value);

    expect(data).toBe(value);
    expect(drift).toEqual([{ path: "", kind: "mismatch", message: "nested too deeply to be checked" }]);
    expect(() => normaliserOf(list).quickCheck(value)).toThrow(RangeError);
  });

  test("a cycle ends", () => {
    const value: Record<string, unknown> = { x: 1 };
    value["next"] = value;

    expect(normalise(list, value).data).toBe(value);
    expect(normalise(person, { name: "Ada", self: value }).data).toEqual({ name: "Ada" });
  });

  test("built-in values are passed on as they are", () => {
    const schema = Type.Object({ a: Type.Unknown(), b: Type.Object({ c: Type.Optional(Type.Number()) }) });

    for (const value of [new Date(0), new Map([[1, 2]]), new Uint8Array(3), /x/, new Blob(["x"])]) {
      const data = normalise(schema, { a: value, b: value, x: 1 }).data as Record<string, unknown>;

      expect(data["a"]).toBe(value);
      expect(data["b"]).toBe(value);
    }
  });

  test("an instance of a class is read as an object where one is described", () => {
    class Point {
      c = 1;
      d = 2;
    }
    const schema = Type.Object({ a: Type.Unknown(), b: Type.Object({ c: Type.Number() }) });
    const value = { a: new Point(), b: new Point() };

    const { data, drift } = normalise(schema, value);

    expect(data).toStrictEqual({ a: value.a, b: { c: 1 } });
    expect(drift).toEqual([{ path: "/b/d", kind: "stripped", message: "not in the schema" }]);
    expect(normaliserOf(schema).quickCheck(value)).toBe(false);
  });

  test("an instance that refers to one many times costs one copy of it", () => {
    class Node {
      next: Node[] = [];
    }
    let value = new Node();
    for (let depth = 0; depth < 60; depth++) {
      const outer = new Node();
      outer.next = [value, value];
      value = outer;
    }
    const schema = { type: "object", properties: { next: { type: "array", items: { $ref: "#" } } } };

    const { next } = createInstanceReader(schema as unknown as TSchema).readOutput(value) as Node;

    expect(Object.getPrototypeOf(next[0])).toBe(Object.prototype);
    expect(next[0]).toBe(next[1]);
  });

  test("symbols and holes survive a copy", () => {
    const mark = Symbol("mark");
    const sparse: unknown[] = [1];
    sparse[2] = "3";

    const data = normalise(Type.Object({ a: Type.Array(Type.Number()) }), { x: 1, a: sparse, [mark]: true }).data;

    expect((data as Record<symbol, unknown>)[mark]).toBe(true);
    expect(1 in (data as { a: unknown[] }).a).toBe(false);
    expect((data as { a: unknown[] }).a[2]).toBe(3);
  });

  test("objects without a prototype are data", () => {
    const value = Object.assign(Object.create(null), { name: "Ada", x: 1 });

    expect(normalise(person, value).data).toEqual({ name: "Ada" });
  });
});

describe("references", () => {
  test("a recursive schema is followed as deep as the data goes", () => {
    const tree = Type.Cyclic(
      { Node: Type.Object({ id: Type.Integer(), children: Type.Array(Type.Ref("Node")) }) },
      "Node",
    );

    expect(normalise(tree, { id: "1", children: [{ id: 2, children: [], x: 1 }] })).toEqual({
      data: { id: 1, children: [{ id: 2, children: [] }] },
      drift: [
        { path: "/id", kind: "converted", message: "string to number" },
        { path: "/children/0/x", kind: "stripped", message: "not in the schema" },
      ],
    });
  });

  test("an alternative of a recursive schema is normalised", () => {
    const schema = {
      $defs: {
        expression: {
          anyOf: [
            { type: "object", properties: { value: { type: "number" } }, required: ["value"] },
            { type: "object", properties: { left: { $ref: "#/$defs/expression" } }, required: ["left"] },
          ],
        },
      },
      $ref: "#/$defs/expression",
    };

    expect(normalise(schema, { left: { left: { value: 1, x: 1 } }, y: 1 }).data).toEqual({
      left: { left: { value: 1 } },
    });
  });

  test("a $dynamicRef whose way decides leaves the data alone", () => {
    const schema = {
      $id: "https://example.test/strict",
      $dynamicAnchor: "node",
      $ref: "tree",
      $defs: {
        tree: {
          $id: "tree",
          $dynamicAnchor: "node",
          type: "object",
          properties: { children: { type: "array", items: { $dynamicRef: "#node" } } },
        },
      },
    };
    const value = { children: [{ children: [] }], x: 1 };

    expect(normalise(schema, value).data).toBe(value);
  });
});

test("a pattern from outside cannot take long", () => {
  const schema = {
    anyOf: [
      { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } }, required: ["a"] },
      { type: "object", properties: { b: {} }, patternProperties: { "^(b+)+$": {} } },
    ],
  };
  const long = `${"a".repeat(40)}!`;

  expect(kinds(schema, { a: long, b: 1, [`${"b".repeat(40)}!`]: 1 })).toContain(`stripped /a`);
});

describe("a schema that takes away what it gave", () => {
  const restless = {
    type: "object",
    properties: { a: {}, next: { $ref: "#" } },
    if: { not: { required: ["x"] } },
    then: { properties: { x: { default: 1 } } },
  };

  test("leaves the value as it came", () => {
    const value = { a: 1, y: 2 };

    expect(normalise(restless, value)).toEqual({
      data: value,
      drift: [{ path: "", kind: "mismatch", message: "cannot be normalised without breaking the schema" }],
    });
  });

  test("costs a bounded time however deep it is", () => {
    let value: unknown = { a: 1 };
    for (let depth = 0; depth < 40; depth++) value = { a: 1, next: value };

    expect(normalise(restless, value)).toEqual({
      data: value,
      drift: [{ path: "", kind: "mismatch", message: "cannot be normalised in a bounded time" }],
    });
  });
});

test("works where generating code is forbidden", () => {
  const schema = Type.Object({ a: Type.Number(), b: Type.Optional(person) });
  compileSchema(schema).check({}); // TypeBox looks only once whether it may generate code
  const refuse = vi.fn(function refuse() {
    throw new EvalError("Code generation from strings disallowed for this context");
  });
  vi.stubGlobal("Function", refuse);
  const answers = [
    { a: 1, b: { name: "Ada" } },
    { a: 1, b: { name: "Ada", x: 1 } },
  ].map((value) => createNormaliser(schema).quickCheck(value));
  vi.unstubAllGlobals();

  expect(answers).toEqual([true, false]);
  expect(refuse).toHaveBeenCalled();
});
