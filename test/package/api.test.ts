import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, inject, test } from "vitest";
import { subpaths } from "../../scripts/subpaths.ts";
import { readApi } from "./api.ts";

const built = (entry: string, extension: string) =>
  join(inject("consumer"), "node_modules/@alkdev/operations/dist", `${entry}.${extension}`);

const apis = subpaths.map(({ key, entry }) => ({ key, entry, api: readApi(built(entry, "d.ts")) }));

test("the public names are those of exports.json (after an intended change, run vitest with --update)", async () => {
  const names = Object.fromEntries(apis.map(({ key, api }) => [key, { values: api.values, types: api.types }]));

  await expect(`${JSON.stringify(names, null, 2)}\n`).toMatchFileSnapshot("exports.json");
});

test.each(apis)("every public name of $key has a TSDoc comment", ({ api }) => {
  expect(api.undocumented).toEqual([]);
});

test.each(apis)("every optional property of a type of $key may be undefined", ({ api }) => {
  expect(api.exactProperties).toEqual([]);
});

test.each(apis)("$key exports at run time what its types promise", async ({ entry, api }) => {
  const module: object = await import(pathToFileURL(built(entry, "js")).href);

  expect(Object.keys(module).sort()).toEqual(api.values);
});
