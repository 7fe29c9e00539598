import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { root, subpaths } from "../../scripts/subpaths.ts";

const inner = subpaths.filter(({ key }) => key !== ".");

test("a sub-path is spelled like its folder", () => {
  expect(inner.map(({ key }) => key)).toEqual(
    inner.map(({ entry }) => `./${entry.replace(/\/index$/, "").replaceAll("/", "-")}`),
  );
});

test("the index of the docs names every sub-path", () => {
  const page = readFileSync(resolve(root, "docs/README.md"), "utf8");

  expect(inner.filter(({ key }) => !page.includes(`\`${key.slice(1)}\``)).map(({ key }) => key)).toEqual([]);
});

test("the compiler finds the sources of every sub-path", () => {
  const { compilerOptions } = JSON.parse(readFileSync(resolve(root, "tsconfig.json"), "utf8"));

  expect(compilerOptions.paths).toEqual(
    Object.fromEntries(subpaths.map(({ specifier, entry }) => [specifier, [`./src/${entry}.ts`]])),
  );
});
