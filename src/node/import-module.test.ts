import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { importModule } from "./load-module.ts";

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "import-"));
});
afterAll(() => rm(directory, { recursive: true }));

async function moduleURL(name: string, text: string): Promise<string> {
  await writeFile(join(directory, name), text);
  return pathToFileURL(join(directory, name)).href;
}

test("TypeScript is transpiled where Node cannot run it", async () => {
  const url = await moduleURL("enum.ts", "enum Color { Red = 7 } export default Color.Red satisfies number;");

  expect(await importModule(url, false)).toMatchObject({ default: 7 });
});

test("the application shares a module that Node loads", async () => {
  const javascript = await moduleURL("plain.mjs", "export default {};");
  const typescript = await moduleURL("plain.mts", "export default {} as object;");

  expect(await importModule(javascript, false)).toBe(await import(javascript));
  expect(await importModule(typescript, true)).toBe(await import(typescript));
});

test("syntax that Node cannot strip is transpiled", async () => {
  const refuse = 'throw Object.assign(new Error("enum"), { code: "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX" })';
  const once = `const seen = globalThis as { refused?: true }; if (!seen.refused) { seen.refused = true; ${refuse}; }`;
  const url = await moduleURL("refused.mts", `${once} export default 7;`);

  expect(await importModule(url, true)).toMatchObject({ default: 7 });
});

test.each([true, false])("an error of the module itself is thrown", async (nodeRunsTypeScript) => {
  const url = await moduleURL(`broken-${nodeRunsTypeScript}.ts`, "throw new Error('no database');");

  await expect(importModule(url, nodeRunsTypeScript)).rejects.toThrow("no database");
});
