import { expect, test } from "vitest";
import { StderrLines } from "./program-output.ts";

test("of a flood of lines only those that are kept are cleaned", () => {
  let cleaned = 0;
  const secrets = {
    *[Symbol.iterator]() {
      cleaned++;
      yield "s3cr3t";
    },
  };
  const lines = new StderrLines(secrets);

  for (let chunk = 0; chunk < 10; chunk++) lines.push(`${"a line with s3cr3t\n\n".repeat(5_000)}`);

  expect(cleaned).toBeLessThanOrEqual(10 * 50);
  expect(lines.lines).toEqual(Array(50).fill("a line with [redacted]"));
});

test("lines are put together from any pieces, and empty ones are left out", () => {
  const lines = new StderrLines([]);

  for (const piece of ["on", "e\r\n", "\n\n tw", "o \nthr", "ee"]) lines.push(piece);

  expect(lines.lines).toEqual(["one", "two", "three"]);
});
