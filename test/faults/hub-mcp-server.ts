/** An MCP server over stdio with one tool. It ends immediately while its folder contains the file `broken`. */
import { existsSync } from "node:fs";
import { defineOperation, Type } from "../../src/operation/index.ts";
import { createRegistry } from "../../src/registry/index.ts";
import { serveMCPStdio } from "../../src/serve/mcp/index.ts";

if (existsSync("broken")) process.exit(1);

const pid = defineOperation({
  namespace: "server",
  name: "pid",
  type: "query",
  inputSchema: Type.Object({}),
  outputSchema: Type.Integer(),
  handler: () => process.pid,
});
const { closed } = await serveMCPStdio(createRegistry({ operations: [pid] }));
await closed;
