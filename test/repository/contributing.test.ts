import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../scripts/subpaths.ts";

const page = readFileSync(join(root, "CONTRIBUTING.md"), "utf8");
const foldersIn = (folder: string) =>
  readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

test("CONTRIBUTING describes every layer and every folder of tests", () => {
  const wanted = [
    ...foldersIn("src").map((name) => `\`${name}/\``),
    ...foldersIn("test").map((name) => `\`test/${name}/\``),
  ];

  expect(wanted.filter((folder) => !page.includes(folder))).toEqual([]);
});

test("a table of CONTRIBUTING describes every command", () => {
  const { scripts }: { scripts: Record<string, string> } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const hooks = ["prepack", "prepublishOnly"];
  const wanted = Object.keys(scripts).filter((name) => !hooks.includes(name) && name !== "start" && name !== "test");

  const rows = page.split("\n").filter((line) => line.startsWith("|"));
  expect(wanted.filter((name) => !rows.some((row) => new RegExp(`npm run ${name}(?![\\w:-])`).test(row)))).toEqual([]);
});

test("CONTRIBUTING names files that exist", () => {
  const names = Array.from(
    page.matchAll(/`((?:src|test|scripts|docs|benches)\/[\w./-]+\.(?:ts|md))`/g),
    (match) => match[1]!,
  );
  const inventions = /graphql|mqtt|cache/;

  expect(names.filter((name) => !inventions.test(name) && !existsSync(join(root, name)))).toEqual([]);
  expect(names.length).toBeGreaterThan(10);
});
