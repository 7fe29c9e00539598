import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { compileSchema, FromSchema } from "./index.ts";

describe("compileSchema", () => {
  test("gives the same compiled form for the same object", () => {
    const schema = Type.String();

    expect(compileSchema(schema)).toBe(compileSchema(schema));
  });

  test("checks TypeBox types and plain JSON Schema", () => {
    const typed = compileSchema(Type.Object({ a: Type.Number() }));
    const plain = compileSchema({ type: "object", properties: { a: { type: "number" } }, required: ["a"] });

    expect([typed.check({ a: 1 }), typed.check({}), plain.check({ a: 1 }), plain.check({})]).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });

  test("lists at most the asked number of errors and counts the others", () => {
    const { errors } = compileSchema(Type.Array(Type.Number()));

    const result = errors.call(compileSchema(Type.Array(Type.Number())), Array(50).fill("x"), 2);

    expect(result).toEqual({
      errors: [
        { path: "/0", message: "must be number" },
        { path: "/1", message: "must be number" },
      ],
      total: 50,
    });
  });

  test("answers false for a value nested 20,000 deep and says so", () => {
    const list = compileSchema(
      FromSchema({ $defs: { list: { items: { $ref: "#/$defs/list" }, type: "array" } }, $ref: "#/$defs/list" }),
    );
    let value: unknown[] = [];
    for (let depth = 0; depth < 20_000; depth += 1) value = [value];

    expect(list.check([[[]]])).toBe(true);
    expect(list.check(value)).toBe(false);
    expect(list.errors(value)).toEqual({ errors: [{ path: "", message: "is nested too deeply" }], total: 1 });
  });
});
