import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { importModule } from "./import-module.ts";

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "import-"));
});
afterAll(() => rm(directory, { recursive: true }));

async function moduleURL(name: string, text: string): Promise<string> {
  await writeFile(join(directory, name), text);
  return pathToFileURL(join(directory, name)).href;
}

/** Does what Node does with a module that it cannot load. */
const refuseWith = (code: string) => () => Promise.reject(Object.assign(new Error("refused"), { code }));

test.each([
  ["without support for TypeScript", "ERR_UNKNOWN_FILE_EXTENSION"],
  ["with syntax that it cannot strip", "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX"],
])("TypeScript that Node refuses %s is transpiled", async (_, code) => {
  const url = await moduleURL("enum.ts", "enum Color { Red = 7 } export default Color.Red satisfies number;");

  expect(await importModule(url, refuseWith(code))).toMatchObject({ default: 7 });
});

test("transpiled modules share their imports", async () => {
  await moduleURL("native.mjs", "export default {};");
  await moduleURL("shared.ts", "export enum Color { Red } export default {};");
  const text = 'import native from "./native.mjs"; import shared from "./shared"; export default [native, shared];';
  const urls = [await moduleURL("left.ts", text), await moduleURL("right.ts", text)];
  const load = refuseWith("ERR_UNKNOWN_FILE_EXTENSION");
  const [left, right] = [await importModule(urls[0]!, load), await importModule(urls[1]!, load)] as {
    default: unknown[];
  }[];

  for (const [index, shared] of left!.default.entries()) expect(right!.default[index]).toBe(shared);
});

test("the application shares a module that Node or a loader loads", async () => {
  const javascript = await moduleURL("plain.mjs", "export default {};");
  const typescript = await moduleURL("plain.mts", "export default {} as object;");

  expect(await importModule(javascript)).toBe(await import(javascript));
  expect(await importModule(typescript)).toBe(await import(typescript));
});

test("JavaScript that Node refuses is not transpiled", async () => {
  const url = await moduleURL("plain.js", "export default 7;");

  await expect(importModule(url, refuseWith("ERR_UNKNOWN_FILE_EXTENSION"))).rejects.toThrow("refused");
});

test.each([undefined, refuseWith("ERR_UNKNOWN_FILE_EXTENSION")])(
  "an error of the module itself is thrown",
  async (load) => {
    const url = await moduleURL(`broken-${load === undefined}.ts`, "throw new Error('no database');");

    await expect(importModule(url, load)).rejects.toThrow("no database");
  },
);
