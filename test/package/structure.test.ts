import { readdirSync } from "node:fs";
import { relative, resolve } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../scripts/subpaths.ts";
import { readImports } from "./imports.ts";

/** All TypeScript files below a folder of the repository, relative to `src/`. */
function listFiles(folder: string): string[] {
  return readdirSync(resolve(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => relative("src", `${folder}/${file}`));
}

test.each(["src", "examples"])("files of %s, tests included, import nothing from test/", (folder) => {
  const imports = listFiles(folder).flatMap((file) => readImports(file));

  const fromTests = imports.filter(({ target }) => target?.startsWith("../test/"));

  expect(fromTests.map(({ file, line, text }) => `${file}:${line}: ${text}`)).toEqual([]);
  expect(imports.length).toBeGreaterThan(0);
});
