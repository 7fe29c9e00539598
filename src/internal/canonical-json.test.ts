import { expect, test } from "vitest";
import { canonicalJSON } from "./canonical-json.ts";

test("the order of keys has no effect at any depth, the order of items does", () => {
  const value = { b: [{ y: 1, x: null }], a: { d: "2", c: undefined } };
  const rearranged = { a: { d: "2" }, b: [{ x: null, y: 1 }] };

  expect(canonicalJSON(value)).toBe('{"a":{"d":"2"},"b":[{"x":null,"y":1}]}');
  expect(canonicalJSON(rearranged)).toBe(canonicalJSON(value));
  expect(canonicalJSON([1, 2])).not.toBe(canonicalJSON([2, 1]));
});

test("a key named __proto__ is included", () => {
  expect(canonicalJSON(JSON.parse('{"b":1,"__proto__":{"a":2}}'))).toBe('{"__proto__":{"a":2},"b":1}');
});
