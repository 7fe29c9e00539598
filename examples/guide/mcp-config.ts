import assert from "node:assert/strict";
// #region read
import { fileURLToPath } from "node:url";
import { OperationRegistry } from "@alkdev/operations";
import { MCPClientLoader } from "@alkdev/operations/from-mcp";
import { loadMCPConfig } from "@alkdev/operations/hub";

const { servers, skipped } = await loadMCPConfig(fileURLToPath(new URL("mcp-config/mcp.json", import.meta.url)));
console.log(Object.keys(servers), skipped);
// #endregion read

// #region load
await using loader = new MCPClientLoader();
await loader.load(servers);

const registry = new OperationRegistry();
await loader.registerAll(registry);
console.log(registry.list().map(({ namespace, name }) => `${namespace}.${name}`));
// #endregion load

assert.deepEqual(Object.keys(servers), ["notes"]);
assert.equal(skipped.length, 1);
assert.equal(registry.list().length, 2);
