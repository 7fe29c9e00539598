import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { nodeFileSystem } from "./load-module.ts";

const loadModule = (url: string) => nodeFileSystem.import(url);

let directory: string;
let clock = 1_000_000;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "load-"));
  await write("node_modules/esm/package.json", '{ "type": "module", "exports": "./index.js" }');
  await write("node_modules/esm/index.js", "export const pool = {}; export default class {}");
  await write("node_modules/esm-only/package.json", '{ "exports": { "import": "./index.mjs" } }');
  await write("node_modules/esm-only/index.mjs", "export const pool = await Promise.resolve({});");
  await write("node_modules/dual/package.json", '{ "exports": { "import": "./i.mjs", "require": "./r.cjs" } }');
  await write("node_modules/dual/i.mjs", "export const pool = {};");
  await write("node_modules/dual/r.cjs", "exports.pool = {};");
  await write("node_modules/cjs/package.json", '{ "main": "./index.js" }');
  await write("node_modules/cjs/index.js", "exports.pool = {};");
  await write("typed/package.json", '{ "type": "module" }');
});
afterAll(() => rm(directory, { recursive: true }));

/** Writes a file with a new time, so that each version differs from the previous one. */
async function write(name: string, text: string): Promise<string> {
  const path = join(directory, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  clock += 10;
  await utimes(path, clock, clock);
  return pathToFileURL(path).href;
}

const defaultOf = async <Default>(url: string) => ((await loadModule(url)) as { default: Default }).default;

test.each(["module.mjs", "module.ts", "module.mts", "module.js", "typed/module.js"])(
  "each later import of %s loads it anew",
  async (name) => {
    const values: unknown[] = [];
    for (const version of [1, 2, 3]) values.push(await defaultOf(await write(name, `export default ${version};`)));

    expect(values).toEqual([1, 2, 3]);
  },
);

test("a module is loaded again when a relative import has changed, at any depth", async () => {
  await write("lib/deep.mjs", "export const value = 1;");
  await write("lib/near.mjs", 'export * from "./deep.mjs";');
  const url = await write("importing.mjs", 'import { value } from "./lib/near.mjs"; export default value;');
  const first = await defaultOf(url);
  await write("lib/deep.mjs", "export const value = 2;");
  const second = await defaultOf(url);
  await write("lib/deep.mjs", "export const value = 3;");

  expect([first, second, await defaultOf(url)]).toEqual([1, 2, 3]);
});

test.each(["top.mjs", "top.mts"])("a changed %s with a top-level await is loaded again", async (name) => {
  const values: unknown[] = [];
  for (const version of [1, 2, 3]) {
    values.push(await defaultOf(await write(name, `export default await Promise.resolve(${version});`)));
  }

  expect(values).toEqual([1, 2, 3]);
});

test("a module that could not be loaded is loaded again, changed or not", async () => {
  const waiting = globalThis as { isReady?: boolean };
  const late = await write("late.mjs", 'if (!globalThis.isReady) throw new Error("not ready"); export default 1;');
  const broken = await write("broken.mjs", "export default {;");

  await expect(loadModule(late)).rejects.toThrow("not ready");
  await expect(loadModule(broken)).rejects.toThrow();
  waiting.isReady = true;
  await write("broken.mjs", "export default 2;");

  expect([await defaultOf(late), await defaultOf(broken)]).toEqual([1, 2]);
});

const importing = (version: number) => `
  import Base, { pool as esm } from "esm";
  import { pool as dual } from "dual";
  import cjs, { pool } from "cjs";
  import { join } from "node:path";
  export default { version: ${version}, pools: [Base, esm, dual, cjs.pool, pool, join] };`;

const awaiting = (version: number) => `
  import * as only from "esm-only";
  export default { version: ${version}, pools: [only.pool, (await import("dual")).pool] };`;

test.each([
  ["packages.mjs", importing],
  ["packages.ts", importing],
  ["packages.mts", importing],
  ["typed/packages.js", importing],
  ["untyped/packages.js", importing],
  ["awaiting.mjs", awaiting],
  ["awaiting.ts", awaiting],
])("a reloaded %s shares its packages with its first version", async (name, text) => {
  const url = await write(name, text(1));
  const first = await defaultOf<{ version: number; pools: unknown[] }>(url);
  await write(name, text(2));
  const second = await defaultOf<{ version: number; pools: unknown[] }>(url);

  expect([first.version, second.version]).toEqual([1, 2]);
  for (const [index, pool] of first.pools.entries()) expect(await second.pools[index]).toBe(await pool);
});

const esmHelper = (value: number) => `export const value = ${value};`;
const cjsHelper = (value: number) => `exports.value = ${value};`;

test.each([
  ["a.mjs", 'import { value } from "./help.mjs"; export default value;', "help.mjs", esmHelper],
  ["a.ts", 'import { value } from "./help.js"; export default value as number;', "help.ts", esmHelper],
  [
    "top-level.mts",
    'import { value } from "./help.mts"; export default value;',
    "help.mts",
    (value: number) => `export const value: number = await Promise.resolve(${value});`,
  ],
  ["dynamic.mjs", 'export default (await import("./help.mjs")).value;', "help.mjs", esmHelper],
  [
    "mixed.mjs",
    'import help, { value } from "./help.cjs"; export default (help.value + value) / 2;',
    "help.cjs",
    cjsHelper,
  ],
  ["mixed.cjs", 'module.exports = require("./help.mjs").value;', "help.mjs", esmHelper],
])("%s is reloaded with a changed import: %s", async (name, text, helper, helperText) => {
  const values: unknown[] = [];
  for (const version of [1, 2, 3]) {
    await write(`helpers/${name}/${helper}`, helperText(version));
    const url =
      version === 1
        ? await write(`helpers/${name}/${name}`, text)
        : pathToFileURL(join(directory, "helpers", name, name)).href;
    values.push(await defaultOf(url));
  }

  expect(values).toEqual([1, 2, 3]);
});

test("an import that is missing or broken fails the reload, with its name", async () => {
  const url = await write("failing.mjs", "export default 1;");
  await loadModule(url);

  await write("failing.mjs", 'import "./missing.mjs"; export default 2;');
  await expect(loadModule(url)).rejects.toThrow("missing.mjs");
  await write("failing.mjs", 'import "no-such-package"; export default 3;');
  await expect(loadModule(url)).rejects.toThrow("no-such-package");
  await write("missing.mjs", "export default {;");
  await write("failing.mjs", 'import "./missing.mjs"; export default 4;');
  await expect(loadModule(url)).rejects.toThrow("missing.mjs");
});
