import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { compileSchema, FromSchema } from "./index.ts";

const compile = (schema: object) => compileSchema(FromSchema(schema));
const row = {
  type: "object",
  required: ["id"],
  properties: { id: { type: "integer" }, tags: { items: { type: "string" } } },
};
const rows = Array.from({ length: 50_000 }, (_, id) => ({ id, tags: ["a"] }));
const withBad = (...bad: unknown[]) => [...rows, ...bad];

describe("an error in a large value", () => {
  test("is found at its index in a list", () => {
    const { errors, total } = compile({ type: "array", items: row }).errors(withBad({}, { id: "x", tags: ["b", 7] }));

    expect(errors).toEqual([
      { path: "/50000", message: 'must have the required property "id"' },
      { path: "/50001/id", message: "must be an integer" },
      { path: "/50001/tags/1", message: "must be a string" },
    ]);
    expect(total).toBe(3);
  });

  test("is found behind references, properties and undeclared names", () => {
    const schema = {
      $defs: { row, table: { type: "object", additionalProperties: { $ref: "#/$defs/row" } } },
      type: "object",
      properties: { "a/b": { allOf: [{ $ref: "#/$defs/table" }, { minProperties: 1 }] } },
    };
    const table = Object.fromEntries(withBad({ id: null }).map((held, index) => [`r${index}`, held]));

    expect(compile(schema).errors({ "a/b": table }).errors).toEqual([
      { path: "/a~1b/r50000/id", message: "must be an integer" },
    ]);
  });

  test("is found at the value itself", () => {
    expect(compile({ type: "array", items: row, maxItems: 5 }).errors(rows).errors).toEqual([
      { path: "", message: "must not have more than 5 items" },
    ]);
    expect(compile({ type: "object", additionalProperties: false }).errors({ rows }).errors).toEqual([
      { path: "/rows", message: "is not expected" },
    ]);
    expect(compile({ not: { type: "array" } }).errors(rows)).toEqual({
      errors: [{ path: "", message: "is invalid" }],
      total: 1,
    });
  });

  test("is counted up to a thousand", () => {
    const { errors, total } = compile({ type: "array", items: row }).errors(rows.map(() => 1));

    expect(errors).toHaveLength(20);
    expect(total).toBe(1_000);
  });

  test("is found in recursive schemas", () => {
    const child = (more: object) => ({
      type: "object",
      required: ["child"],
      properties: { child: { $ref: "#/$defs/node" }, ...more },
    });
    const node = { anyOf: [{ type: "string" }, child({ kind: { type: "string" } }), child({ n: { type: "number" } })] };
    const list = compile({ $defs: { node }, type: "array", items: { $ref: "#/$defs/node" } });
    const items = Array.from({ length: 50_000 }, () => ({ child: { child: "leaf" } }));

    expect(list.check(items)).toBe(true);
    expect(list.errors([...items, 5]).errors).toContainEqual({ path: "/50000", message: "must be a string" });
  });

  test("is found in bytes and in optional values without visiting each of them", () => {
    const schema = { type: "object", properties: { data: { type: "string" }, note: { type: "string" }, rows: {} } };

    expect(compile(schema).errors({ data: new Uint8Array(1_000_000), note: undefined, rows }).errors).toEqual([
      { path: "/data", message: "must be a string" },
    ]);
  });

  test("is found many levels deep", () => {
    const node = {
      type: "object",
      required: ["values"],
      properties: { values: { items: { type: "integer" } }, next: { $ref: "#/$defs/node" } },
    };
    const nodes = (left: number): unknown =>
      left === 0 ? { values: ["x"] } : { values: Array(1_000).fill(1), next: nodes(left - 1) };

    expect(compile({ $defs: { node }, $ref: "#/$defs/node" }).errors(nodes(40)).errors).toEqual([
      { path: `${"/next".repeat(40)}/values/0`, message: "must be an integer" },
    ]);
  });

  test("is not searched by a refinement before all other assertions pass", () => {
    const Rows = Type.Refine(Type.Object({ rows: Type.Array(Type.Object({ id: Type.String() })) }), ({ rows }) =>
      rows.every(({ id }) => id.trim() !== ""),
    );
    const good = rows.map(({ id }) => ({ id: `r${id}` }));

    expect(compileSchema(Rows).errors({ rows: [...good, { id: 5 }] }).errors).toEqual([
      { path: "/rows/50000/id", message: "must be a string" },
    ]);
    expect(compileSchema(Rows).errors({ rows: [...good, { id: " " }] }).total).toBe(1);
  });
});
