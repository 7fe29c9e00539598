import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, expect, test } from "vitest";
import { scanOperations } from "../from/modules/index.ts";
import type { SourceReport } from "../from/source.ts";
import { nodeFileSystem } from "./index.ts";

const fixtures = fileURLToPath(new URL("../../test/fixtures/modules", import.meta.url));
const temporary: string[] = [];

afterEach(async () => {
  for (const directory of temporary.splice(0)) await rm(directory, { recursive: true });
});

async function makeDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "scan-"));
  temporary.push(directory);
  return directory;
}

const moduleText = (name: string) => `export default { namespace: "test", name: "${name}", version: "1", type: "query",
  description: "", inputSchema: {}, outputSchema: {}, accessControl: { requiredScopes: [] } };`;

test("loads a directory of TypeScript and JavaScript, and reports invalid modules", async () => {
  let report: SourceReport | undefined;

  const operations = await scanOperations(fixtures, nodeFileSystem, {
    onReport: (it) => {
      report = it;
    },
  });

  expect(operations.map(({ namespace, name, handler }) => `${namespace}.${name} ${typeof handler}`)).toEqual([
    "deep.down function",
    "plain.spec undefined",
    "several.first undefined",
    "several.third undefined",
    "task.create function",
  ]);
  expect(report).toEqual({
    imported: ["deep.down", "plain.spec", "several.first", "several.third", "task.create"],
    skipped: [
      { where: "broken.js", reason: "It cannot be imported: no database" },
      {
        where: "several.mjs[1]",
        reason: 'Invalid operation "several.second": /type must be "query", "mutation" or "subscription".',
      },
      { where: "syntax.ts", reason: expect.stringMatching(/^It cannot be imported: /) },
    ],
    warnings: [],
  });
});

test("the handler of a TypeScript module runs", async () => {
  const operations = await scanOperations(fixtures, nodeFileSystem, { onReport: () => {} });
  const create = operations.find(({ name }) => name === "create");

  expect(create?.handler?.({ title: "write" }, undefined as never)).toEqual({ title: "write" });
});

test("symbolic links are not followed", async () => {
  const directory = await makeDirectory();
  const outside = await makeDirectory();
  await writeFile(join(outside, "outside.mjs"), moduleText("outside"));
  await mkdir(join(directory, "inside"));
  await writeFile(join(directory, "inside", "a.mjs"), moduleText("inside"));
  await symlink(directory, join(directory, "inside", "loop"));
  await symlink(outside, join(directory, "out"));
  await symlink(join(outside, "outside.mjs"), join(directory, "linked.mjs"));

  const operations = await scanOperations(directory, nodeFileSystem);

  expect(operations.map(({ name }) => name)).toEqual(["inside"]);
});

test("a missing directory is an error that names it", async () => {
  await expect(scanOperations("no/such/directory", nodeFileSystem)).rejects.toMatchObject({
    code: "EXECUTION_ERROR",
    message: expect.stringMatching(/^Cannot scan "no\/such\/directory": ENOENT/),
  });
});

test("relative directories start at the working directory", async () => {
  const directory = await makeDirectory();
  await writeFile(join(directory, "a.mjs"), moduleText("a"));
  const fs = {
    ...nodeFileSystem,
    cwd: () => tmpdir(),
    readdir: (path: string) => nodeFileSystem.readdir(join(tmpdir(), path)),
  };

  const operations = await scanOperations(`./${directory.slice(tmpdir().length + 1)}/`, fs);

  expect(operations.map(({ name }) => name)).toEqual(["a"]);
  expect(nodeFileSystem.cwd()).toBe(process.cwd());
});

test("reads files as UTF-8", async () => {
  const directory = await makeDirectory();
  await writeFile(join(directory, "a.json"), '{"größe":1}');

  expect(await nodeFileSystem.readFile(join(directory, "a.json"))).toBe('{"größe":1}');
});

test("the application shares the first import of a module", async () => {
  const url = pathToFileURL(join(await makeDirectory(), "shared.mjs")).href;
  await writeFile(new URL(url), "export default {};");

  const first = (await nodeFileSystem.import(url)) as { default: object };

  expect(first.default).toBe(((await import(url)) as { default: object }).default);
});

test("a file system without its own import uses the runtime's", async () => {
  const directory = await makeDirectory();
  await writeFile(join(directory, "a.mjs"), moduleText("a"));

  const operations = await scanOperations(directory, { readdir: nodeFileSystem.readdir, cwd: nodeFileSystem.cwd });

  expect(operations.map(({ name }) => name)).toEqual(["a"]);
});
