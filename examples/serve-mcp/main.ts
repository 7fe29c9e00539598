import assert from "node:assert/strict";
// #region serve
import { createRegistry } from "@alkdev/operations";
import { bearerTokens, createToken } from "@alkdev/operations/auth";
import { listen } from "@alkdev/operations/node";
import { serveMCP } from "@alkdev/operations/serve-mcp";
import { operations } from "./operations.ts";

const { token, hash } = createToken(); // Send the token to the client, and store the hash.
const authenticate = bearerTokens([{ hash, identity: { id: "ada", scopes: ["tasks:write"] } }]);

// #region two-lines
const registry = createRegistry({ operations });
const listener = await listen({ "/mcp": serveMCP(registry, { name: "tasks", authenticate }) });
// #endregion two-lines
console.log(`Serving MCP at ${listener.url}/mcp`);

// #endregion serve

// #region client
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const client = new Client({ name: "editor", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
const requestInit = { headers: { authorization: `Bearer ${token}` } };
await client.connect(new StreamableHTTPClientTransport(new URL(`${listener.url}/mcp`), { requestInit }));

const { tools } = await client.listTools();
for (const { name, annotations } of tools) console.log(name, annotations?.readOnlyHint);
const created = await client.callTool({ name: "task_create", arguments: { title: "Water the plants" } });
console.log(created.structuredContent, created.content);
// #endregion client

// #region error
const taken = await client.callTool({ name: "task_create", arguments: { title: "Water the plants" } });
console.log(taken.isError, taken.content);
// #endregion error
await client.close();

// #region trust
import { type CallError, OperationRegistry } from "@alkdev/operations";
import { mcpSource } from "@alkdev/operations/from-mcp";

await using remote = new OperationRegistry();
const auth = { type: "bearer", token } as const;
await remote.follow(mcpSource({ name: "tasks", url: `${listener.url}/mcp`, auth, trust: "operations" }));

const { type, errorSchemas } = remote.getSpec("task.create")!;
console.log(
  type,
  errorSchemas?.map(({ code }) => code),
);
const again = remote.execute("task.create", { title: "Water the plants" });
await again.catch((error: CallError) => console.log(error.code, error.details));

// #endregion trust
await remote.close();
await listener.close();

// #region stdio
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("stdio.ts", import.meta.url));
await using local = new OperationRegistry();
const start = { command: process.execPath, args: ["--import", "tsx", program] };
await local.follow(mcpSource({ name: "tasks", ...start, trust: "operations" }));
console.log((await local.execute("task.list", {})).data);
// #endregion stdio

assert.deepEqual(created.structuredContent, { id: 1, title: "Water the plants" });
assert.equal(taken.isError, true);
assert.equal(type, "mutation");
