import { expect, onTestFinished, test } from "vitest";
import { holdBytes } from "./byte-budget.ts";

const mebibyte = 1024 * 1024;

function hold(owner: string, bytes: number): void {
  onTestFinished(holdBytes(owner, bytes));
}

test("one result has at most 64 MiB", () => {
  hold("ada", 64 * mebibyte);

  const refused = { code: "LIMIT_EXCEEDED", retryable: false, mayHaveRun: true };
  expect(() => hold("ada", 64 * mebibyte + 1)).toThrow(expect.objectContaining(refused));
});

test("the process holds at most 256 MiB, and one caller cannot have all of them", () => {
  const refused = expect.objectContaining({ code: "LIMIT_EXCEEDED", retryable: true, mayHaveRun: true });
  for (let time = 0; time < 3; time++) hold("ada", 64 * mebibyte);

  expect(() => hold("ada", 64 * mebibyte)).toThrow(refused);
  hold("bob", 64 * mebibyte);
  expect(() => hold("cy", 64 * mebibyte)).toThrow(refused);
});

test("released bytes can be held again, and are released once", () => {
  for (let time = 0; time < 10; time++) {
    const release = holdBytes("ada", 64 * mebibyte);
    release();
    release();
  }
});
