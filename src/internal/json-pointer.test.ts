import fc from "fast-check";
import { expect, test } from "vitest";
import { escapeToken, extendPointer, followPointer, isPointer, readPointer, unescapeToken } from "./json-pointer.ts";

// The document and the results of RFC 6901, section 5.
const document = { foo: ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, 'k"l': 6, " ": 7, "m~n": 8 };

test.each([
  ["", document],
  ["/foo", ["bar", "baz"]],
  ["/foo/0", "bar"],
  ["/", 0],
  ["/a~1b", 1],
  ["/c%d", 2],
  ["/e^f", 3],
  ['/k"l', 6],
  ["/ ", 7],
  ["/m~0n", 8],
])("%j resolves as in RFC 6901", (pointer, expected) => {
  expect(readPointer(document, pointer)).toEqual(expected);
});

test.each([
  "foo",
  "#/foo",
  "/foo/2",
  "/foo/-",
  "/foo/00",
  "/foo/length",
  "/foo/0/x",
  "/foo/0/length",
  "/m~n",
  "/nothing/x",
])("%j finds nothing", (pointer) => {
  expect(readPointer(document, pointer)).toBeUndefined();
});

test.each(["/constructor", "/toString", "/__proto__", "/__proto__/toString", "/hasOwnProperty"])(
  "%j never reaches a prototype",
  (pointer) => {
    expect(readPointer({}, pointer)).toBeUndefined();
    expect(readPointer([], pointer)).toBeUndefined();
  },
);

test("an own __proto__ is data", () => {
  expect(readPointer(JSON.parse('{"__proto__":{"id":1}}'), "/__proto__/id")).toBe(1);
});

test("any key can be escaped and unescaped", () => {
  fc.assert(
    fc.property(fc.string(), fc.jsonValue(), (key, value) => {
      const pointer = `/${escapeToken(key)}`;
      const object = Object.fromEntries([[key, value]]);

      expect(isPointer(pointer)).toBe(true);
      expect(unescapeToken(escapeToken(key))).toBe(key);
      expect(readPointer(object, pointer)).toBe(value);
    }),
  );
});

test("an existing undefined is distinguished from a missing value", () => {
  expect(followPointer({ a: undefined }, "/a")).toEqual({ value: undefined });
  expect(followPointer({}, "/a")).toBeUndefined();
  expect(followPointer({ "~2": 1 }, "/~2")).toBeUndefined();
});

test("a pointer is extended by names and indexes", () => {
  expect(extendPointer("", "a/b", 0, "c~d")).toBe("/a~1b/0/c~0d");
  expect(extendPointer("#/paths", "/pets")).toBe("#/paths/~1pets");
  expect(extendPointer("")).toBe("");
});
