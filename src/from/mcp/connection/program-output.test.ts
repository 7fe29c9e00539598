import { expect, test } from "vitest";
import { StderrLines } from "./program-output.ts";

test("only the lines that are kept are cleaned", () => {
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

test("lines are joined from any chunks, and empty ones are skipped", () => {
  const lines = new StderrLines([]);

  for (const piece of ["on", "e\r\n", "\n\n tw", "o \nthr", "ee"]) lines.push(piece);

  expect(lines.lines).toEqual(["one", "two", "three"]);
});
