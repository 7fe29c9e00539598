import { Type } from "typebox";
import { describe, expect, test, vi } from "vitest";
import { compileSchema } from "../compile.ts";
import { driftOf, normalise, passesQuickCheck } from "../testing.ts";
import { createNormaliser } from "./normaliser.ts";

const person = Type.Object({ name: Type.String(), age: Type.Optional(Type.Integer()) });

describe("a normaliser", () => {
  test("is the same for the same schema", () => {
    expect(createNormaliser(person)).toBe(createNormaliser(person));
  });

  test("returns normalised data unchanged", () => {
    const value = { name: "Ada", age: 36 };

    const result = createNormaliser(person).normalise(value);

    expect(result).toEqual({ data: value });
    expect(result.data).toBe(value);
    expect(passesQuickCheck(person, value)).toBe(true);
  });

  test("shares every unchanged part", () => {
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
      expect(passesQuickCheck(schema, value)).toBe(true);
    },
  );

  test("reports at most 20 differences and their total", () => {
    const value = Array.from({ length: 50_000 }, () => ({ name: 1n }));

    const { drift, driftTotal } = normalise(Type.Array(person), value);

    expect(drift).toHaveLength(20);
    expect(driftTotal).toBe(50_000);
    expect(drift![19]).toEqual({ path: "/19/name", kind: "mismatch", message: "expected string" });
  });

  test("reports no total when all differences are listed", () => {
    expect(normalise(person, { name: "Ada", x: 1 })).toEqual({
      data: { name: "Ada" },
      drift: [{ path: "/x", kind: "stripped", message: "not in the schema" }],
    });
  });

  test("never reports a value", () => {
    const secret = "hunter2-hunter2";
    const schema = Type.Object({ a: Type.Integer(), b: Type.Union([Type.Literal("x"), Type.Literal("y")]) });

    const { drift } = normalise(schema, { a: secret, b: secret, c: secret });

    expect(drift).toHaveLength(3);
    expect(JSON.stringify(drift)).not.toContain(secret);
  });

  test("keeps its report small for huge names", () => {
    const value = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`${index}`.repeat(100_000), 1]));

    const { drift } = normalise(person, { name: "Ada", ...value });

    expect(drift).toHaveLength(20);
    expect(JSON.stringify(drift).length).toBeLessThan(16_384);
  });

  test("writes paths as JSON pointers", () => {
    const schema = Type.Object({ "a/b~c": Type.Array(person) });

    expect(driftOf(schema, { "a/b~c": [{ name: "Ada", "~/": 1 }] })).toEqual(["stripped /a~1b~0c/0/~0~1"]);
  });

  test("inspects without changing data and reports what normalising would do", () => {
    const value = { name: 5, x: 1 };
    const normaliser = createNormaliser(person);

    const { data, drift } = normaliser.inspect(value);

    expect(data).toBe(value);
    expect(drift).toEqual(normaliser.normalise(value).drift);
  });
});

describe("references", () => {
  test("a recursive schema is followed to the depth of the data", () => {
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

  test("data stays unchanged if a $dynamicRef depends on the evaluation path", () => {
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

test("a foreign pattern runs in linear time", () => {
  const schema = {
    anyOf: [
      { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } }, required: ["a"] },
      { type: "object", properties: { b: {} }, patternProperties: { "^(b+)+$": {} } },
    ],
  };
  const long = `${"a".repeat(40)}!`;

  expect(driftOf(schema, { a: long, b: 1, [`${"b".repeat(40)}!`]: 1 })).toContain(`stripped /a`);
});

describe("a schema without a stable result", () => {
  const restless = {
    type: "object",
    properties: { a: {}, next: { $ref: "#" } },
    if: { not: { required: ["x"] } },
    then: { properties: { x: { default: 1 } } },
  };

  test("leaves the value unchanged", () => {
    const value = { a: 1, y: 2 };

    expect(normalise(restless, value)).toEqual({
      data: value,
      drift: [{ path: "", kind: "mismatch", message: "cannot be normalised without breaking the schema" }],
    });
  });

  test("takes limited time at any depth", () => {
    let value: unknown = { a: 1 };
    for (let depth = 0; depth < 40; depth++) value = { a: 1, next: value };

    expect(normalise(restless, value)).toEqual({
      data: value,
      drift: [{ path: "", kind: "mismatch", message: "cannot be normalised in a bounded time" }],
    });
  });
});

test("works where code generation is forbidden", () => {
  const schema = Type.Object({ a: Type.Number(), b: Type.Optional(person) });
  compileSchema(schema).check({}); // TypeBox tests only once whether code generation is allowed
  const refuse = vi.fn(function refuse() {
    throw new EvalError("Code generation from strings disallowed for this context");
  });
  vi.stubGlobal("Function", refuse);
  const answers = [
    { a: 1, b: { name: "Ada" } },
    { a: 1, b: { name: "Ada", x: 1 } },
  ].map((value) => passesQuickCheck(schema, value));
  vi.unstubAllGlobals();

  expect(answers).toEqual([true, false]);
  expect(refuse).toHaveBeenCalled();
});
