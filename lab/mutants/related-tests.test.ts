import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createFindTests, type FindTests } from "./related-tests.ts";

/** Writes files into a folder and returns how their tests are found. */
function find(files: Record<string, string>, folders: readonly string[]): FindTests {
  const root = mkdtempSync(join(tmpdir(), "related-tests-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const options = {
    module: "NodeNext",
    allowImportingTsExtensions: true,
    noEmit: true,
    paths: { package: ["./src/index.ts"] },
  };
  const all = { "tsconfig.json": JSON.stringify({ compilerOptions: options }), ...files };
  for (const [file, text] of Object.entries(all)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  return createFindTests(root, Object.keys(files), folders);
}

test("tests that import a file come before those that reach it, and types do not count", () => {
  const tests = find(
    {
      "src/index.ts": 'export * from "./a/index.ts";',
      "src/a/index.ts": 'export { one } from "./one.ts";',
      "src/a/one.ts": 'import type { Two } from "./two.ts";',
      "src/a/two.ts": "",
      "src/a/one.test.ts": 'import { one } from "./one.ts";',
      "src/a/far.test.ts": 'import { one } from "./index.ts";',
      "src/b/user.test.ts": 'import { one } from "package";',
      "src/b/lazy.test.ts": 'const { one } = await import("../a/one.ts");',
      "test/story.test.ts": 'import { one } from "package";',
    },
    ["src/a"],
  );

  expect(tests("src/a/one.ts")).toEqual([
    "src/a/one.test.ts",
    "src/b/lazy.test.ts",
    "src/a/far.test.ts",
    "src/b/user.test.ts",
  ]);
  expect(tests("src/a/two.ts")).toEqual([]);
});

test("those of the file's folder and of the chosen folders come before others, of which few are taken", () => {
  const files: Record<string, string> = { "src/a/one.ts": "", "src/b/index.ts": 'export * from "../a/one.ts";' };
  for (let number = 10; number < 22; number++) {
    files[`src/b/${number}.test.ts`] = 'import "./index.ts";';
    files[`src/c/${number}.test.ts`] = 'import "../b/index.ts";';
  }
  const ofB = Array.from({ length: 12 }, (_, index) => `src/b/${index + 10}.test.ts`);

  expect(find(files, ["src/a", "src/b"])("src/a/one.ts")).toEqual(ofB);
  expect(find(files, ["src/a"])("src/a/one.ts")).toEqual(ofB.slice(0, 8));
});
