import { existsSync, readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { root, subpaths } from "../../scripts/subpaths.ts";

const inner = subpaths.filter(({ key }) => key !== ".");

test("a sub-path is spelled like its folder", () => {
  expect(inner.map(({ key }) => key)).toEqual(
    inner.map(({ entry }) => `./${entry.replace(/\/index$/, "").replaceAll("/", "-")}`),
  );
});

test("every sub-path and every source of operations has a docs page of that name", () => {
  const sources = readdirSync(resolve(root, "src/from"), { withFileTypes: true })
    .filter((item) => item.isDirectory())
    .map(({ name }) => `from-${name}`);
  const pages = new Set([...inner.map(({ key }) => key.slice(2)), ...sources]);

  expect([...pages].filter((page) => !existsSync(resolve(root, `docs/${page}.md`)))).toEqual([]);
});

test("the compiler finds the sources of every sub-path", () => {
  const { compilerOptions } = JSON.parse(readFileSync(resolve(root, "tsconfig.json"), "utf8"));

  expect(compilerOptions.paths).toEqual(
    Object.fromEntries(subpaths.map(({ specifier, entry }) => [specifier, [`./src/${entry}.ts`]])),
  );
});
