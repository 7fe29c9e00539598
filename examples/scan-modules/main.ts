// #region follow
import { OperationRegistry } from "@alkdev/operations";
import { moduleSource } from "@alkdev/operations/node";

await using registry = new OperationRegistry();
await registry.follow(moduleSource(new URL("operations", import.meta.url), { watch: true }), {
  onReport: ({ imported, skipped }) => {
    console.log(imported);
    for (const { where, reason } of skipped) console.log(`skipped ${where}: ${reason}`);
  },
});
console.log((await registry.execute("text.hello", { name: "Ada" })).data);

// #endregion follow

// #region scan
import { fileURLToPath } from "node:url";
import { scanOperations } from "@alkdev/operations";
import { nodeFileSystem } from "@alkdev/operations/node";

const directory = fileURLToPath(new URL("operations", import.meta.url));
const found = await scanOperations(directory, nodeFileSystem, { onReport: () => {} });

const local = new OperationRegistry();
local.registerAll(found);
local.registerHandler("number.multiply", ({ a, b }) => a * b);
console.log((await local.execute("number.multiply", { a: 6, b: 7 })).data);

// #endregion scan

// #region memory
import type { ScannerFS } from "@alkdev/operations";

const inMemory: ScannerFS = {
  cwd: () => "/",
  async *readdir() {
    yield { name: "ping.js", isFile: true, isDirectory: false };
  },
  import: async (url) => {
    console.log(`loading ${url}`);
    return { default: { ...found[0], name: "ping" } };
  },
};
console.log((await scanOperations("/virtual", inMemory)).map(({ name }) => name));

// #endregion memory

import assert from "node:assert/strict";
import hello from "./operations/hello.ts";
import numbers from "./operations/numbers.ts";

assert.deepEqual(
  found.map(({ description }) => description),
  [hello, ...numbers.slice(0, 2)].map(({ description }) => description),
);
