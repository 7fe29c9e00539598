import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findConfig, loadConfig } from "./index.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "hub config "));
});
afterEach(() => rm(folder, { recursive: true }));

async function write(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

test.each([
  ["operations.config.json", '{ /* local */ "sources": { "tasks": { "modules": "./operations" } }, }'],
  ["operations.config.yaml", "sources: { tasks: { modules: ./operations } } # local"],
  ["operations.config.yml", "sources:\n  tasks:\n    modules: ./operations\n"],
  ["operations.config.mjs", 'export default { sources: { tasks: { modules: "./operations" } } };'],
  [
    "operations.config.ts",
    `import { defineConfig } from "${pathToFileURL("src/hub/config.ts").href}";
    export default defineConfig({ sources: { tasks: { modules: "./operations" } } });`,
  ],
])("%s is found and loaded, with absolute paths", async (name, text) => {
  const file = await write(name, text);

  expect(await findConfig(folder)).toBe(file);
  expect(await loadConfig(file)).toEqual({
    config: { sources: { tasks: { modules: join(folder, "operations") } } },
    file,
    folder,
  });
});

test("a folder without configuration has none, and two are an error", async () => {
  expect(await findConfig(folder)).toBeUndefined();

  await write("operations.config.ts", "");
  await write("operations.config.json", "");

  await expect(findConfig(folder)).rejects.toMatchObject({
    code: "VALIDATION_ERROR",
    message: `${JSON.stringify(folder)} contains operations.config.ts and operations.config.json. Delete one of them, or name one with --config.`,
  });
});
