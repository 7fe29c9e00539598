import { type TSchema, Type } from "typebox";
import { describe, expect, test } from "vitest";
import { createDefaultFiller } from "./input-defaults.ts";

const fillerOf = (schema: unknown) => createDefaultFiller(schema as TSchema);
const fill = (schema: unknown, value: unknown) => fillerOf(schema)!(value);

describe("a default filler", () => {
  test.each([
    [{ type: "object", properties: { a: { type: "string" } } }],
    [{ type: "object", properties: { default: { type: "string" } } }],
    [{ type: "object", properties: { a: { not: { default: 1 } } } }],
    [{ type: "object", $defs: { unused: { default: 1 } } }],
    [Type.Unknown()],
    [true],
  ])("does not exist for %j, which declares no default", (schema) => {
    expect(fillerOf(schema)).toBeUndefined();
  });

  test("is the same for the same schema", () => {
    const schema = Type.Object({ a: Type.Number({ default: 1 }) });

    expect(createDefaultFiller(schema)).toBe(createDefaultFiller(schema));
  });

  const paged = Type.Object({
    limit: Type.Integer({ default: 10 }),
    filter: Type.Optional(Type.Object({ open: Type.Boolean({ default: true }) })),
  });

  test("returns the value itself when nothing is missing", () => {
    const value = Object.freeze({ limit: 5 });

    expect(fill(paged, value)).toBe(value);
  });

  test("fills a copy, also inside nested objects", () => {
    const value = Object.freeze({ filter: Object.freeze({}), other: "stays" });

    expect(fill(paged, value)).toEqual({ limit: 10, filter: { open: true }, other: "stays" });
    expect(value).toEqual({ filter: {}, other: "stays" });
  });

  test("does not create an object that has no default", () => {
    expect(fill(paged, {})).toEqual({ limit: 10 });
  });

  test("neither converts nor replaces existing values", () => {
    expect(fill(paged, { limit: "5" })).toEqual({ limit: "5" });
    expect(fill(paged, { limit: null })).toEqual({ limit: null });
    expect(fill(paged, "text")).toBe("text");
  });

  test("an undefined property is missing", () => {
    expect(fill(paged, { limit: undefined })).toEqual({ limit: 10 });
  });

  test("returns a new copy of a default for every call", () => {
    const schema = Type.Object({ list: Type.Array(Type.String(), { default: ["a"] }) });

    const [first, second] = [fill(schema, {}), fill(schema, {})] as Array<{ list: string[] }>;
    first!.list.push("b");

    expect(second).toEqual({ list: ["a"] });
    expect(fill(schema, {})).toEqual({ list: ["a"] });
  });

  test("fills the defaults inside a default, and a missing input", () => {
    const schema = {
      type: "object",
      default: {},
      properties: { inner: { type: "object", default: { a: 1 }, properties: { b: { default: 2 } } } },
    };

    expect(fill(schema, undefined)).toEqual({ inner: { a: 1, b: 2 } });
  });

  test("follows references, allOf, items, tuples and records", () => {
    const n = { type: "object", properties: { n: { default: 1 } } };
    const schema = {
      $defs: { n },
      allOf: [{ $ref: "#/$defs/n" }, { properties: { m: { default: 2 } } }],
      properties: {
        list: { type: "array", items: { $ref: "#/$defs/n" } },
        pair: { prefixItems: [{}, { $ref: "#/$defs/n" }] },
        map: { additionalProperties: { $ref: "#/$defs/n" } },
      },
    };

    expect(fill(schema, { list: [{}, 5], pair: [{}, {}], map: { a: {} } })).toEqual({
      ...{ n: 1, m: 2, list: [{ n: 1 }, 5], pair: [{}, { n: 1 }], map: { a: { n: 1 } } },
    });
  });

  const circle = {
    type: "object",
    properties: { kind: { const: "circle" }, radius: { default: 1 } },
    required: ["kind"],
  };
  const box = { type: "object", properties: { kind: { const: "box" }, width: { default: 2 } }, required: ["kind"] };

  test.each([["anyOf"], ["oneOf"]])("fills the branch of %s that accepts the value", (keyword) => {
    expect(fill({ [keyword]: [circle, box] }, { kind: "box" })).toEqual({ kind: "box", width: 2 });
  });

  test("fills a branch that accepts the value only with its defaults", () => {
    const schema = { anyOf: [{ ...circle, required: ["kind", "radius"] }, { type: "null" }] };

    expect(fill(schema, { kind: "circle" })).toEqual({ kind: "circle", radius: 1 });
  });

  test("fills nothing when several branches accept the value, or none", () => {
    const either = { anyOf: [{ properties: { a: { default: 1 } } }, { properties: { b: { default: 2 } } }] };
    const [both, none] = [{}, { kind: "line" }];

    expect(fill(either, both)).toBe(both);
    expect(fill({ anyOf: [circle, box] }, none)).toBe(none);
  });

  test("omits a default that contains itself", () => {
    const schema = { type: "object", properties: { next: { $ref: "#", default: {} }, a: { default: 1 } } };

    expect(fill(schema, {})).toEqual({ a: 1 });
  });

  test("names like __proto__ are data", () => {
    const schema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"default":{"isAdmin":true}},"toString":{"default":"x"}}}',
    );

    const filled = fill(schema, {}) as Record<string, unknown>;

    expect(Object.keys(filled)).toEqual(["__proto__", "toString"]);
    expect(filled["isAdmin"]).toBeUndefined();
    expect(Object.getPrototypeOf(filled)).toBe(Object.prototype);
  });

  test("fills nested alternatives in limited time", () => {
    const branch = (kind: string) => ({
      type: "object",
      properties: { kind: { const: kind }, next: { $ref: "#" }, n: { default: 1 } },
      required: ["kind"],
    });
    let value: unknown = { kind: "a" };
    for (let depth = 0; depth < 40; depth++) value = { kind: "b", next: value };

    const filled = fill({ anyOf: [branch("a"), branch("b")] }, value);

    expect(filled).toMatchObject({ n: 1, next: { n: 1, next: { n: 1 } } });
  });

  test("returns a value that is nested too deeply unchanged", () => {
    const schema = { type: "object", properties: { next: { $ref: "#" }, a: { default: 1 } } };
    let value: unknown = {};
    for (let depth = 0; depth < 50_000; depth++) value = { next: value };

    expect(fill(schema, value)).toBe(value);
  });
});
