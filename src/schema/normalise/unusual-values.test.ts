import { type TSchema, Type } from "typebox";
import { describe, expect, test } from "vitest";
import { driftOf, normalise, normaliserOf, passesQuickCheck } from "../testing.ts";
import { createInstanceReader } from "./class-instances.ts";

const person = Type.Object({ name: Type.String(), age: Type.Optional(Type.Integer()) });

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

  test.each(["constructor", "toString", "hasOwnProperty", "__proto__", "("])("%s is an ordinary name", (name) => {
    const properties = JSON.parse(`{${JSON.stringify(name)}:{"type":"integer"},"a":{}}`);
    const schema = { type: "object", properties, required: [name] };
    const value = JSON.parse(`{${JSON.stringify(name)}:"5","a":1}`);

    expect(Object.entries(normalise(schema, value).data as object)).toEqual([
      [name, 5],
      ["a", 1],
    ]);
    expect(driftOf(schema, { a: 1 })).toEqual([`invented /${name}`]);
    expect(driftOf(person, { name: "x", ...JSON.parse(`{${JSON.stringify(name)}:1}`) })).toEqual([`stripped /${name}`]);
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
  ])("a property named %j cannot escape from its literal in generated code", (name) => {
    const inner = { type: "object", properties: { [name]: { type: "string", default: "x" } } };
    const schema = { type: "object", properties: { [name]: inner }, required: [name] };
    const normaliser = normaliserOf(schema);

    expect(passesQuickCheck(schema, { [name]: { [name]: "y" } })).toBe(true);
    expect(passesQuickCheck(schema, { [name]: { [name]: "y", other: 1 } })).toBe(false);
    expect(passesQuickCheck(schema, { [name]: {} })).toBe(false);
    expect(normaliser.normalise({ [name]: {} }).data).toEqual({ [name]: { [name]: "x" } });
  });
});

describe("unusual values", () => {
  const list = { type: "object", properties: { next: { $ref: "#" } } };

  test("data nested 20,000 levels deep is returned with a report", () => {
    let value: unknown = {};
    for (let depth = 0; depth < 20_000; depth++) value = { next: value, x: 1 };

    const { data, drift } = normalise(list, value);

    expect(data).toBe(value);
    expect(drift).toEqual([{ path: "", kind: "mismatch", message: "is nested too deeply to be checked" }]);
    expect(passesQuickCheck(list, value)).toBe(false);
  });

  test("a cyclic value is normalised", () => {
    const value: Record<string, unknown> = { x: 1 };
    value["next"] = value;

    expect(normalise(list, value).data).toBe(value);
    expect(normalise(person, { name: "Ada", self: value }).data).toEqual({ name: "Ada" });
  });

  test("built-in values are unchanged", () => {
    const schema = Type.Object({ a: Type.Unknown(), b: Type.Object({ c: Type.Optional(Type.Number()) }) });

    for (const value of [new Date(0), new Map([[1, 2]]), new Uint8Array(3), /x/, new Blob(["x"])]) {
      const data = normalise(schema, { a: value, b: value, x: 1 }).data as Record<string, unknown>;

      expect(data["a"]).toBe(value);
      expect(data["b"]).toBe(value);
    }
  });

  test("a class instance is read where the schema describes an object", () => {
    class Point {
      c = 1;
      d = 2;
    }
    const schema = Type.Object({ a: Type.Unknown(), b: Type.Object({ c: Type.Number() }) });
    const value = { a: new Point(), b: new Point() };

    const { data, drift } = normalise(schema, value);

    expect(data).toStrictEqual({ a: value.a, b: { c: 1 } });
    expect(drift).toEqual([{ path: "/b/d", kind: "stripped", message: "not in the schema" }]);
    expect(passesQuickCheck(schema, value)).toBe(false);
  });

  test("an instance that occurs many times is copied once", () => {
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
