import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readBounded } from "./read-bounded.ts";

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "read-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("a file up to the limit is read", () => {
  const file = join(createFolder(), "a.txt");
  writeFileSync(file, "grüße");
  expect(readBounded(file)).toBe("grüße");
  expect(readBounded(file, 7)).toBe("grüße");
  expect(() => readBounded(file, 6)).toThrow("it is larger than 6 bytes");
});

test.skipIf(process.platform === "win32")("pipes, devices and folders are refused without waiting for them", () => {
  const folder = createFolder();
  const pipe = join(folder, "pipe");
  const makePipe = "mkfifo"; // It is part of the system.
  execFileSync(makePipe, [pipe]);
  for (const path of [pipe, "/dev/zero"]) expect(() => readBounded(path)).toThrow("it is not a file");
  expect(() => readBounded(folder)).toThrow("EISDIR");
});
