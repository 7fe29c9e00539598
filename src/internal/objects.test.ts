import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { getOwn, isDataObject, isObject, setOwn } from "./objects.ts";

describe("isObject", () => {
  test.each([[{}], [Object.create(null)], [new Date()], [new Map()]])("accepts %o", (value) => {
    expect(isObject(value)).toBe(true);
  });

  test.each([[null], [undefined], [[]], ["string"], [1], [() => {}]])("refuses %o", (value) => {
    expect(isObject(value)).toBe(false);
  });
});

describe("isDataObject", () => {
  test.each([[{}], [Object.create(null)], [runInNewContext("({})")]])("accepts %o", (value) => {
    expect(isDataObject(value)).toBe(true);
  });

  test.each([[null], [[]], [new Date()], [new (class {})()]])("refuses %o", (value) => {
    expect(isDataObject(value)).toBe(false);
  });
});

test("only own properties are read", () => {
  expect(getOwn({ a: 1 }, "a")).toBe(1);
  expect(getOwn({}, "constructor")).toBeUndefined();
  expect(getOwn([], "map")).toBeUndefined();
  expect(getOwn(JSON.parse('{"__proto__":1}'), "__proto__")).toBe(1);
  expect(getOwn("string", "length")).toBeUndefined();
  expect(getOwn(undefined, "a")).toBeUndefined();
});

test("a property named __proto__ is data", () => {
  const target = {};

  setOwn(target, "a", 1);
  setOwn(target, "__proto__", { polluted: true });

  expect(JSON.stringify(target)).toBe('{"a":1,"__proto__":{"polluted":true}}');
  expect(Object.getPrototypeOf(target)).toBe(Object.prototype);
});
