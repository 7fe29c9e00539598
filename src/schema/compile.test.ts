import { execFileSync } from "node:child_process";
import { type } from "arktype";
import { Type } from "typebox";
import { Settings } from "typebox/system";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { compileSchema, createDefaultFiller, createNormaliser, FromSchema, SchemaError } from "./index.ts";
import { passesQuickCheck } from "./testing.ts";

describe("compileSchema", () => {
  test("returns the same compiled form for the same object", () => {
    const schema = Type.String();

    expect(compileSchema(schema)).toBe(compileSchema(schema));
    expect(compileSchema(schema).schema).toBe(schema);
  });

  test("reads nothing before the first check, and then once", () => {
    let reads = 0;
    const schema = {
      type: "object",
      get properties() {
        reads += 1;
        return { a: { type: "string" } };
      },
    };

    const compiled = compileSchema(schema);
    const before = reads;
    compiled.check({});
    const once = reads;
    compiled.check({});

    expect({ before, readsLater: reads - once }).toEqual({ before: 0, readsLater: 0 });
    expect(once).toBeGreaterThan(0);
  });

  test("checks TypeBox types and JSON Schema", () => {
    const typed = compileSchema(Type.Object({ a: Type.Number() }));
    const plain = compileSchema({ type: "object", properties: { a: { type: "number" } }, required: ["a"] });

    expect([typed.check({ a: 1 }), typed.check({})]).toEqual([true, false]);
    expect([plain.check({ a: 1 }), plain.check({})]).toEqual([true, false]);
  });

  test("checks Standard Schema by its JSON Schema", () => {
    const compiled = compileSchema(z.object({ a: z.string() }) as never);
    const callable = compileSchema(type({ a: "string" }) as never);

    expect([compiled.check({ a: "" }), compiled.check({}), compiled.isUnknown]).toEqual([true, false, false]);
    expect([callable.check({ a: "" }), callable.check({}), callable.isUnknown]).toEqual([true, false, false]);
  });

  test("checks types of values outside JSON, recursive types and refinements", () => {
    const node = Type.Cyclic({ Node: Type.Object({ next: Type.Optional(Type.Ref("Node")) }) }, "Node");
    const even = Type.Refine(
      Type.Number(),
      (value) => value % 2 === 0,
      () => "must be even",
    );

    expect([compileSchema(Type.BigInt()).check(1n), compileSchema(Type.BigInt()).check(1)]).toEqual([true, false]);
    expect([compileSchema(Type.Undefined()).check(undefined), compileSchema(Type.Undefined()).check(null)]).toEqual([
      true,
      false,
    ]);
    expect(compileSchema(Type.Function([], Type.Void())).check(() => {})).toBe(true);
    expect([
      compileSchema(node).check({ next: { next: {} } }),
      compileSchema(node).check({ next: { next: 1 } }),
    ]).toEqual([true, false]);
    expect(compileSchema(even).errors(1)).toEqual({ errors: [{ path: "", message: "must be even" }], total: 1 });
  });

  test("keeps the native engine for patterns in a TypeBox type", () => {
    const compiled = compileSchema(Type.String({ pattern: "^(?=a)" }));

    expect([compiled.check("a"), compiled.check("b")]).toEqual([true, false]);
  });

  test("runs foreign patterns in linear time inside a TypeBox type", () => {
    const compiled = compileSchema(Type.Object({ a: Type.Optional(FromSchema({ pattern: "^(a+)+$" })) }));

    expect(compiled.check({ a: `${"a".repeat(40)}!` })).toBe(false);
  });

  test.each([
    ["Type.Unknown()", Type.Unknown(), true],
    ["Type.Any()", Type.Any(), true],
    ["an empty schema", {}, true],
    ["annotations only", { title: "x", description: "y", "x-z": 1 }, true],
    ["true", FromSchema(true), true],
    ["Type.Never()", Type.Never(), false],
    ["a refinement", Type.Refine(Type.Unknown(), () => true), false],
    ["a reference", { $defs: { a: {} }, $ref: "#/$defs/a" }, false],
    ["a type", { type: "string" }, false],
  ])("%s: isUnknown is correct", (_name, schema, isUnknown) => {
    expect(compileSchema(schema).isUnknown).toBe(isUnknown);
  });

  test("throws SchemaError on first use for a reference that does not resolve", () => {
    expect(() => compileSchema(Type.Ref("Missing")).check(1)).toThrow(SchemaError);
    expect(() => compileSchema({ type: 42 } as never).check(1)).toThrow(SchemaError);
  });

  test("checks a schema whose references are too deep for generated code", () => {
    const $defs: Record<string, unknown> = { 4000: { type: "string" } };
    for (let index = 0; index < 4_000; index += 1) $defs[index] = { items: { $ref: `#/$defs/${index + 1}` } };
    const compiled = compileSchema(FromSchema({ $defs, $ref: "#/$defs/3998" }));
    const deep = compileSchema(FromSchema({ $defs, $ref: "#/$defs/0" }));

    expect([compiled.check([["a"]]), compiled.check([[1]])]).toEqual([true, false]);
    expect([deep.check([[["a"]]]), deep.check([])]).toEqual([true, true]);
  });

  test("rejects a value nested 20,000 levels deep and reports the reason", () => {
    const list = compileSchema(
      FromSchema({ $defs: { list: { items: { $ref: "#/$defs/list" }, type: "array" } }, $ref: "#/$defs/list" }),
    );
    let value: unknown[] = [];
    for (let depth = 0; depth < 20_000; depth += 1) value = [value];

    expect(list.check([[[]]])).toBe(true);
    expect(list.check(value)).toBe(false);
    expect(list.errors(value)).toEqual({ errors: [{ path: "", message: "is nested too deeply" }], total: 1 });
  });

  test("returns the same results where code generation is forbidden", () => {
    const program = `
      import { compileSchema, FromSchema } from "./src/schema/index.ts";
      const compiled = compileSchema(FromSchema({
        allOf: [{ properties: { a: { pattern: "^(a+)+$" } } }], patternProperties: { "^x": {} }, unevaluatedProperties: false,
      }));
      const answers = [{ a: "aa", x: 1 }, { b: 1 }, { a: "b" }, {}, { b: 1 }].map((value) => compiled.check(value));
      process.stdout.write(JSON.stringify(answers));
    `;

    const output = execFileSync(
      process.execPath,
      ["--disallow-code-generation-from-strings", "--import", "tsx", "--input-type=module", "--eval", program],
      { encoding: "utf8" },
    );

    expect(JSON.parse(output)).toEqual([true, false, false, true, false]);
  });
});

describe("errors", () => {
  test("are listed up to the limit and counted beyond it", () => {
    const compiled = compileSchema(Type.Array(Type.Number()));

    expect(compiled.errors(Array(50).fill("x"), 2)).toEqual({
      errors: [
        { path: "/0", message: "must be a number" },
        { path: "/1", message: "must be a number" },
      ],
      total: 50,
    });
    expect(compiled.errors([1])).toEqual({ errors: [], total: 0 });
  });

  test("stay below 16 KB for 50,000 invalid items with long names", () => {
    const item = { type: "object", additionalProperties: false, required: ["r".repeat(5_000)] };
    const compiled = compileSchema({ type: "array", items: item });

    const result = compiled.errors(Array.from({ length: 50_000 }, () => ({ ["k".repeat(2_000)]: 1 })));

    // Counting stops at 1,000, and a third of these are duplicates.
    expect({ listed: result.errors.length, total: result.total }).toEqual({ listed: 20, total: 667 });
    expect(JSON.stringify(result).length).toBeLessThan(16_384);
  });

  test("leave the settings of TypeBox unchanged, also after a failure", () => {
    const failing = Type.Refine(
      Type.Unknown(),
      () => false,
      () => {
        throw new Error("no message");
      },
    );
    const before = { ...Settings.Get() };

    compileSchema(Type.String()).errors(1);
    expect(() => compileSchema(failing).errors(1)).toThrow("no message");

    expect(Settings.Get()).toEqual(before);
  });

  test("point into names with slashes and tildes", () => {
    const schema = { properties: { "a/b~c": { type: "string" } } };

    expect(compileSchema(schema).errors({ "a/b~c": 1 }).errors).toEqual([
      { path: "/a~1b~0c", message: "must be a string" },
    ]);
  });
});

test("the search for errors deep inside a recursive union terminates", () => {
  const node = (op: string) => ({
    type: "object",
    properties: { op: { const: op }, left: { $ref: "#/$defs/term" }, right: { $ref: "#/$defs/term" } },
    required: ["op", "left", "right"],
  });
  const term = { anyOf: [{ type: "number" }, node("add"), node("multiply"), node("subtract")] };
  const compiled = compileSchema(FromSchema({ $defs: { term }, $ref: "#/$defs/term" }));
  const nest = (depth: number): unknown => (depth === 0 ? "no number" : { op: "add", left: nest(depth - 1), right: 1 });

  const shallow = compiled.errors(nest(2));
  const deep = compiled.errors(nest(50));

  expect(shallow.errors).toContainEqual({ path: "/left/left", message: "must be a number" });
  expect(deep).toEqual({
    errors: [{ path: "", message: "is invalid (too many errors to list)" }],
    total: 1,
  });
});

describe("work that partly matching alternatives could multiply", () => {
  const nest = (depth: number, leaf: unknown): unknown => (depth === 0 ? leaf : { child: nest(depth - 1, leaf) });
  const withChild = (more: object) => ({
    type: "object",
    required: ["child"],
    properties: { child: { $ref: "#/$defs/node" }, ...more },
  });
  const node = {
    anyOf: [{ type: "string" }, withChild({ kind: { type: "string" } }), withChild({ n: { type: "number" } })],
  };
  const tree = compileSchema(FromSchema({ $defs: { node }, $ref: "#/$defs/node" }));

  test("is bounded for a recursive schema and a deep value", () => {
    expect([tree.check(nest(60, "leaf")), tree.check(nest(10, 5)), tree.check(nest(60, 5))]).toEqual([
      true,
      false,
      false,
    ]);
    expect(tree.errors(nest(60, 5))).toEqual({
      errors: [{ path: "", message: "could not be validated: the check takes too many steps" }],
      total: 1,
    });
  });

  test.each(["anyOf", "allOf", "oneOf"])("is bounded for forty levels of a doubled %s", (keyword) => {
    const $defs: Record<string, object> = { d0: { type: "string" } };
    for (let level = 1; level <= 40; level++) {
      const $ref = `#/$defs/d${level - 1}`;
      $defs[`d${level}`] = { [keyword]: [{ $ref }, { $ref, minLength: 0 }] };
    }
    const bomb = compileSchema(FromSchema({ $defs, $ref: "#/$defs/d40" }));

    expect(bomb.check(5)).toBe(false);
    expect(bomb.errors(5).total).toBeGreaterThan(0);
  });

  const tracked = { unevaluatedProperties: false };
  const dynamic = {
    properties: {
      one: { $id: "https://example.test/one", $dynamicAnchor: "node" },
      two: { $id: "https://example.test/two", $dynamicAnchor: "node", properties: { next: { $dynamicRef: "#node" } } },
    },
  };

  test.each([
    ["anyOf", "unevaluatedProperties", tracked],
    ["oneOf", "unevaluatedProperties", tracked],
    ["allOf", "unevaluatedProperties", tracked],
    ["anyOf", "unevaluatedItems", { unevaluatedItems: false }],
    ["anyOf", "$dynamicRef", dynamic],
    ["oneOf", "$dynamicRef", dynamic],
    ["allOf", "$dynamicRef", dynamic],
  ])(
    "is bounded for thirty levels of a doubled %s and %s, in checks, errors, casts and defaults",
    (keyword, _, more) => {
      const $defs: Record<string, object> = { d0: { properties: { a: { type: "string", default: "" } } } };
      for (let level = 1; level <= 30; level++) {
        const $ref = `#/$defs/d${level - 1}`;
        $defs[`d${level}`] = { [keyword]: [{ $ref }, { $ref }] };
      }
      const bomb = FromSchema({ $defs, $ref: "#/$defs/d30", ...more });
      const fill = createDefaultFiller(bomb);
      const started = process.cpuUsage();

      for (const value of [{ a: "x" }, { a: 1 }]) {
        const isValid = compileSchema(bomb).check(value);
        // A value that matches the first alternative may be accepted.
        if (isValid) expect(value).toEqual({ a: "x" });
        else expect(compileSchema(bomb).errors(value).total).toBeGreaterThan(0);
        expect(passesQuickCheck(bomb, value)).toBe(isValid);
        expect(createNormaliser(bomb).normalise(value).drift?.[0]).toEqual(isValid ? undefined : expect.anything());
        expect(fill?.(value) ?? value).toEqual(value);
      }

      // Ten operations of at most 100 ms each, on a machine that is five times as slow.
      const { user, system } = process.cpuUsage(started);
      expect((user + system) / 1_000).toBeLessThan(5_000);
    },
  );

  test("may be large for large values of a schema with unevaluatedProperties", () => {
    const node = { type: "object", properties: { children: { type: "array", items: { $ref: "#/$defs/node" } } } };
    const closed = { $ref: "#/$defs/node", properties: { name: { type: "string" } }, unevaluatedProperties: false };
    const list = compileSchema(
      FromSchema({ $defs: { node, closed }, type: "array", items: { $ref: "#/$defs/closed" } }),
    );
    const item = { name: "a", children: [{ children: [] }, { children: [{ children: [] }] }] };

    expect(list.check(Array.from({ length: 10_000 }, () => item))).toBe(true);
  });

  test("may be large for wide unions and large values", () => {
    const kinds = Array.from({ length: 100 }, (_, n) => `k${n}`);
    const $defs = Object.fromEntries(
      kinds.map((kind) => [
        kind,
        { properties: { kind: { const: kind }, child: { $ref: "#/$defs/node" } }, required: ["kind"] },
      ]),
    );
    const union = { oneOf: kinds.map((kind) => ({ $ref: `#/$defs/${kind}` })) };
    const list = compileSchema(
      FromSchema({ $defs: { ...$defs, node: union }, type: "array", items: { $ref: "#/$defs/node" } }),
    );

    expect(list.check(Array.from({ length: 20_000 }, () => ({ kind: "k99" })))).toBe(true);
  });

  test("is bounded behind patterns of names too", () => {
    const node = {
      type: "object",
      patternProperties: { "^(child|other)$": { anyOf: [{ $ref: "#/$defs/node" }, { $ref: "#/$defs/node" }] } },
    };
    const hidden = compileSchema(FromSchema({ $defs: { node }, $ref: "#/$defs/node" }));

    expect([hidden.check(nest(60, {})), hidden.check(nest(60, 5))]).toEqual([true, false]);
  });

  test("leaves data unchanged and reports it where it exceeds the bound", () => {
    const value = nest(60, 5);

    expect(createNormaliser(tree.schema).normalise(value)).toMatchObject({
      data: value,
      drift: [{ path: "", kind: "mismatch" }],
    });
  });
});
