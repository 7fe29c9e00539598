import { expect, test } from "vitest";
import { blankFences, type Fence, mapFences } from "./fences.ts";

test("a block in a comment is found without its prefix and filled with it", () => {
  const text = ["/**", " * Adds.", ' * ```ts source="a.ts#b"', " * old", " *", " * ```", " */"].join("\n");
  const seen: Fence[] = [];

  const filled = mapFences(text, (fence) => {
    seen.push(fence);
    return "one();\n\ntwo();";
  });

  expect(seen).toEqual([{ line: 3, language: "ts", attributes: { source: "a.ts#b" }, content: "old\n" }]);
  expect(filled).toBe(
    ["/**", " * Adds.", ' * ```ts source="a.ts#b"', " * one();", " *", " * two();", " * ```", " */"].join("\n"),
  );
});

test("a block inside a longer fence belongs to it", () => {
  const text = "````md\n```ts\nx\n```\n````\n";

  expect(blankFences(text)).toBe("````md\n\n\n\n````\n");
});

test("a block that is not filled stays as it is", () => {
  const text = "- item\n\n  ```sh\n  npm ci\n  ```\n";

  expect(mapFences(text, () => undefined)).toBe(text);
});

test("a block without end is an error that names its line", () => {
  expect(() => mapFences("text\n```ts\nx", () => "y")).toThrow("2: the code block that begins here has no end");
});
