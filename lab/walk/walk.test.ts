import { expect, test } from "vitest";
import { exceeds } from "./budgets.ts";
import { findLongFunctions } from "./long-functions.ts";

const max = { files: 2, functions: 5 };

test.each([
  [{ files: 2, functions: 5 }, max, false],
  [{ files: 3, functions: 5 }, max, true],
  [{ files: 2, functions: 6 }, max, true],
  [{ files: 9, functions: 9 }, undefined, false],
])("%j with the budget %j is too long: %j", (stops, budget, expected) => {
  expect(exceeds(stops, budget)).toBe(expected);
});

test("long functions are found by their lines, and outer ones are left out", () => {
  const body = "  call();\n".repeat(4);
  const text = `function outer() {\n  const inner = () => {\n${body}  };\n}\nfunction short() {\n}\n`;

  expect(findLongFunctions(text, 5)).toEqual([{ name: "inner", line: 2, lines: 6 }]);
  expect(findLongFunctions(text, 8)).toEqual([]);
});
