import assert from "node:assert/strict";
import { OperationRegistry } from "@alkdev/operations";
import { mcpSource } from "@alkdev/operations/from-mcp";
import { listen } from "@alkdev/operations/node";
import { serveMCP } from "@alkdev/operations/serve-mcp";
import { heading, oneLine } from "./print.ts";

/** Serves the registry as an MCP server, imports that server into another registry, and calls an operation there. */
export async function showMCPServer(
  registry: OperationRegistry,
  onOpen: (close: () => Promise<void>) => void,
): Promise<void> {
  heading("The registry as an MCP server, imported into another registry");
  const listener = await listen({ "/mcp": serveMCP(registry, { name: "tour", authenticate: "none" }) });
  onOpen(() => listener.close());
  const imported = new OperationRegistry();
  onOpen(() => imported.close());
  await imported.follow(mcpSource({ name: "tour", url: `${listener.url}/mcp`, trust: "operations" }));

  const input = { name: "Grace", city: "Oslo" };
  const { data, meta } = await imported.execute("trip.prepare", input);
  assert.deepEqual(data, (await registry.execute("trip.prepare", input)).data);
  console.log(`${imported.list().length} tools are imported as the original operations, with ids, schemas and errors.`);
  console.log(`  trip.prepare  ${meta.source}  ${oneLine(data)}`);
}
