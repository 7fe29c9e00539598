import { expect, test } from "vitest";
import type { JSONObject } from "../../internal/objects.ts";
import { References } from "./references.ts";

const here = { value: undefined, pointer: "#/here", base: "" };

function references(root: JSONObject, limit = 1_000): References {
  return new References(root, { limit });
}

test.each([
  ["#/a~1b/c~0d", 1],
  ["#/a%20b", 2],
  ["#/list/1", "y"],
  ["#/%7Bid%7D", 3],
  ["#/through/deep", 4],
])("%s is followed, escapes and all", (reference, value) => {
  const root = {
    "a/b": { "c~d": 1 },
    "a b": 2,
    list: ["x", "y"],
    "{id}": 3,
    through: { $ref: "#/target" },
    target: { deep: 4 },
  };

  expect(references(root).resolve(reference, here).value).toBe(value);
});

test("anchors and ids are found wherever they are", () => {
  const named = { $id: "https://schemas.test/pet", $anchor: "pet", type: "object" };
  const found = references({ components: { schemas: { Pet: named } } });

  expect(found.resolve("#pet", here).value).toBe(named);
  expect(found.resolve("https://schemas.test/pet", here).value).toBe(named);
});

test.each(["#/__proto__", "#/constructor", "#/toString", "#/list/length", "#/missing", "#nowhere"])(
  "%s cannot be resolved",
  (reference) => {
    expect(() => references({ list: [] }).resolve(reference, here)).toThrow(
      expect.objectContaining({ kind: "dangling", pointer: "#/here" }),
    );
  },
);

test.each(["http://evil.test/x", "file:///etc/passwd", "other.yaml#/a", "/etc/passwd", "//evil.test/x"])(
  "%s points outside the document and is refused",
  (reference) => {
    expect(() => references({}).resolve(reference, here)).toThrow(
      expect.objectContaining({ kind: "external", pointer: "#/here" }),
    );
  },
);

test("a reference that refers to itself is reported, not followed forever", () => {
  const root = { a: { $ref: "#/b" }, b: { $ref: "#/a" } };

  expect(() => references(root).deref({ value: root.a, pointer: "#/a", base: "" })).toThrow("refers to itself");
});

test.each([
  [{ a: { $ref: "#/a/b" } }, "#/a/b"],
  [{ a: { $ref: "#/b/x" }, b: { $ref: "#/a/x" } }, "#/a/x"],
])("a reference whose path contains itself is reported, not followed forever", (root, reference) => {
  expect(() => references(root).resolve(reference, here)).toThrow("refers to itself");
});

test("a path through very many references is reported before the stack overflows", () => {
  const names = Array.from({ length: 20_000 }, (_, index) => [`a${index}`, { $ref: `#/a${index + 1}/x` }]);

  expect(() => references(Object.fromEntries(names), 100_000).resolve("#/a0/x", here)).toThrow("too many references");
});

test("a chain of 10,000 references is followed", () => {
  const root: JSONObject = { last: { type: "string" } };
  for (let index = 0; index < 10_000; index++)
    root[`n${index}`] = { $ref: index === 9_999 ? "#/last" : `#/n${index + 1}` };

  const end = references(root, 20_000).deref({ value: root["n0"], pointer: "#/n0", base: "" });

  expect(end.value).toBe(root["last"]);
});

test("more references than the limit are refused", () => {
  const found = references({ a: 1, b: 2 }, 1);
  found.resolve("#/a", here);

  expect(found.resolve("#/a", here).value).toBe(1);
  expect(() => found.resolve("#/b", here)).toThrow(expect.objectContaining({ code: "LIMIT_EXCEEDED" }));
});
