import { expect, test } from "vitest";
import { planCases } from "./plan.ts";

test("cases are distributed by weight, and what a limited kind cannot take goes to the others", () => {
  const kinds = [
    { name: "a", weight: 3 },
    { name: "b", weight: 1 },
    { name: "slow", weight: 4, atMost: 10 },
  ];

  expect(planCases(kinds, 410)).toEqual({ a: 300, b: 100, slow: 10 });
  expect(planCases(kinds, 8)).toEqual({ a: 3, b: 1, slow: 4 });
});
