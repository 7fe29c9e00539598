import { expect, test } from "vitest";
import type { MCPRestart } from "../config.ts";
import { RestartBudget } from "./restart-budget.ts";

/** A budget whose waits are not reduced. */
function budgetOf(restart: MCPRestart): RestartBudget {
  return new RestartBudget(restart, () => 1);
}

test("waits double up to maxDelay, and end with the limit", () => {
  const budget = budgetOf({ limit: 6, delay: 100, maxDelay: 500 });

  expect([0, 1, 2, 3, 4, 5, 6].map((now) => budget.take(now))).toEqual([0, 100, 200, 400, 500, 500, undefined]);
});

test("restarts before the window do not count", () => {
  const budget = budgetOf({ limit: 2, window: 1_000 });

  expect([0, 500, 999, 1_000, 1_499, 1_500].map((now) => budget.take(now))).toEqual([
    0,
    250,
    undefined,
    250,
    undefined,
    250,
  ]);
});

test("the default is five restarts in a minute", () => {
  const budget = budgetOf({});

  expect([0, 1, 2, 3, 4, 59_999, 60_000].map((now) => budget.take(now))).toEqual([
    0,
    250,
    500,
    1_000,
    2_000,
    undefined,
    2_000,
  ]);
});
