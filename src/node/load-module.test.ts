import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadModule } from "./load-module.ts";

let directory: string;
let clock = 1_000_000;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "load-"));
  await mkdir(join(directory, "lib"));
});
afterAll(() => rm(directory, { recursive: true }));

/** Writes a file with a new time, so that each version differs from the previous one. */
async function write(name: string, text: string): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, text);
  clock += 10;
  await utimes(path, clock, clock);
  return pathToFileURL(path).href;
}

const defaultOf = async (url: string) => ((await loadModule(url)) as { default: unknown }).default;

test.each(["module.mjs", "module.ts", "module.mts"])(
  "a changed %s is loaded anew, an unchanged one is not",
  async (name) => {
    const url = await write(name, "export default { version: 1 };");
    const [first, again] = [await defaultOf(url), await defaultOf(url)];
    await write(name, "export default { version: 2 };");
    const [second, secondAgain] = [await defaultOf(url), await defaultOf(url)];
    await write(name, "export default { version: 3 };");

    expect([first, second, await defaultOf(url)]).toEqual([{ version: 1 }, { version: 2 }, { version: 3 }]);
    expect([first === again, second === secondAgain]).toEqual([true, true]);
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
