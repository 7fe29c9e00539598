import { readdirSync, readFileSync } from "node:fs";
import { dirname, resolve, sep } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { root } from "../../scripts/subpaths.ts";
import { listSources } from "./imports.ts";

test("sources import nothing from test/", () => {
  const fromTests = listSources().flatMap((file) => {
    const { importedFiles } = ts.preProcessFile(readFileSync(resolve(root, "src", file), "utf8"));
    return importedFiles
      .filter(({ fileName }) => /^(\.\.\/)+test\//.test(fileName))
      .map(({ fileName }) => `${file} imports ${fileName}`);
  });

  expect(fromTests).toEqual([]);
});

test("an example imports its own files, and packages that a user can install", () => {
  const folder = resolve(root, "examples");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((it) => /\.(ts|mjs)$/.test(it));

  const foreign = files.flatMap((file) => {
    const { importedFiles } = ts.preProcessFile(readFileSync(resolve(folder, file), "utf8"));
    const example = `${resolve(folder, file.split(sep)[0]!)}${sep}`;
    return importedFiles
      .filter(({ fileName }) => fileName.startsWith("."))
      .filter(({ fileName }) => !resolve(folder, dirname(file), fileName).startsWith(example))
      .map(({ fileName }) => `examples/${file} imports ${fileName}`);
  });

  expect(foreign).toEqual([]);
});

const sources = listSources().map((file) => {
  return { file, text: readFileSync(resolve(root, "src", file), "utf8") };
});

test("no two exported classes have the same name", () => {
  const files = new Map<string, string[]>();
  for (const { file, text } of sources) {
    for (const [, name = ""] of text.matchAll(/^export (?:abstract )?class (\w+)/gm)) {
      files.set(name, [...(files.get(name) ?? []), file]);
    }
  }

  expect([...files].filter(([, found]) => found.length > 1)).toEqual([]);
  expect(files.size).toBeGreaterThan(10);
});
