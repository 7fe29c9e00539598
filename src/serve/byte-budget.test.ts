import { expect, onTestFinished, test } from "vitest";
import { ByteBudget } from "./byte-budget.ts";

const mebibyte = 1024 * 1024;

function budgetOf(owner: string): ByteBudget {
  const budget = new ByteBudget(owner);
  onTestFinished(() => budget.release());
  return budget;
}

test("one connection holds at most 64 MiB", () => {
  const budget = budgetOf("ada");
  budget.add(60 * mebibyte);

  const refused = { code: "LIMIT_EXCEEDED", retryable: false, mayHaveRun: true };
  expect(() => budget.add(5 * mebibyte)).toThrow(expect.objectContaining(refused));
  budget.release(5 * mebibyte);
  budget.add(5 * mebibyte);
});

test("the process holds at most 256 MiB, and one caller cannot have all of them", () => {
  const hold = (owner: string) => budgetOf(owner).add(64 * mebibyte);
  const refused = expect.objectContaining({ code: "LIMIT_EXCEEDED", retryable: true, mayHaveRun: true });
  for (let time = 0; time < 3; time++) hold("ada");

  expect(() => hold("ada")).toThrow(refused);
  hold("bob");
  expect(() => hold("cy")).toThrow(refused);
});

test("released bytes can be held again", () => {
  const budget = new ByteBudget("ada");
  for (let time = 0; time < 10; time++) {
    budget.add(64 * mebibyte);
    budget.release();
  }
});
