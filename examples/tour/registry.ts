import { fileURLToPath } from "node:url";
import { createRegistry, FromOpenAPIUrl, type OperationRegistry } from "@alkdev/operations";
import { MCPClientLoader } from "@alkdev/operations/from-mcp";
import { countdown, createTask, greet, prepare } from "./operations.ts";

/** Creates the registry of the tour: local operations, an HTTP API and an MCP server. */
export async function createTourRegistry(
  documentUrl: string,
): Promise<{ registry: OperationRegistry; close(): Promise<void> }> {
  const registry: OperationRegistry = createRegistry({
    operations: [greet, createTask, countdown, prepare],
    log: false, // the tour prints drift itself
  });
  registry.registerAll(await FromOpenAPIUrl(documentUrl, { namespace: "weather" }));
  const loader = new MCPClientLoader();
  const args = [fileURLToPath(new URL("packing-server.mjs", import.meta.url))];
  await loader.load({ packing: { command: process.execPath, args } });
  await loader.registerAll(registry);
  return { registry, close: () => loader.closeAll() };
}
