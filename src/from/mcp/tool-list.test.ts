import { expect, test } from "vitest";
import { toNamespace } from "../../operation/inside.ts";
import { createToolFilter } from "./tool-list.ts";

test.each([
  ["github", "github"],
  ["my server", "my server"],
  ["com.example/server", "com_example/server"],
  ["a\nb\u0000c", "a_b_c"],
  ["", "mcp"],
  ["...", "___"],
  ["\ud800", "_"],
  ["x".repeat(70), "x".repeat(64)],
  ["😀".repeat(70), "😀".repeat(64)],
])("the server %j has the namespace %j", (server, namespace) => {
  expect(toNamespace(server)).toBe(namespace);
});

test.each([
  [{}, "any", true],
  [{ include: [] }, "any", false],
  [{ include: ["a*"] }, "abc", true],
  [{ include: ["a*"] }, "bac", false],
  [{ include: ["a*c*e"] }, "abcde", true],
  [{ include: ["ab*ba"] }, "aba", false],
  [{ include: ["a*a*a"] }, "aa", false],
  [{ exclude: ["*"] }, "any", false],
  [{ include: ["a"], exclude: ["a"] }, "a", false],
  [{ include: ["a.c"] }, "abc", false],
])("%j includes %j: %j", (filter, name, isIncluded) => {
  expect(createToolFilter(filter)(name)).toBe(isIncluded);
});
