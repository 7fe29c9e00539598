import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { root } from "../../scripts/subpaths.ts";

test.each(["src", "examples"])("files of %s, tests included, import nothing from test/", (folder) => {
  const files = readdirSync(resolve(root, folder), { recursive: true, encoding: "utf8" }).filter((it) =>
    /\.ts$/.test(it),
  );

  const fromTests = files.flatMap((file) => {
    const { importedFiles } = ts.preProcessFile(readFileSync(resolve(root, folder, file), "utf8"));
    return importedFiles
      .filter(({ fileName }) => /^(\.\.\/)+test\//.test(fileName))
      .map(({ fileName }) => `${folder}/${file} imports ${fileName}`);
  });

  expect(fromTests).toEqual([]);
  expect(files.length).toBeGreaterThan(0);
});
