import { expect, test } from "vitest";
import { canonicalJSON, hashJSON } from "./canonical-json.ts";

test("the order of keys has no effect at any depth, the order of items does", async () => {
  const value = { b: [{ y: 1, x: null }], a: { d: "2", c: undefined } };
  const rearranged = { a: { d: "2" }, b: [{ x: null, y: 1 }] };

  expect(canonicalJSON(value)).toBe('{"a":{"d":"2"},"b":[{"x":null,"y":1}]}');
  expect(await hashJSON(rearranged)).toBe(await hashJSON(value));
  expect(await hashJSON([1, 2])).not.toBe(await hashJSON([2, 1]));
});

test("a key named __proto__ is included", () => {
  expect(canonicalJSON(JSON.parse('{"b":1,"__proto__":{"a":2}}'))).toBe('{"__proto__":{"a":2},"b":1}');
});

test("a hash is the SHA-256 of the string in hexadecimal digits", async () => {
  expect(await hashJSON({})).toBe("44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
});
