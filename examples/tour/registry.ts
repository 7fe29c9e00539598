import { fileURLToPath } from "node:url";
import { createRegistry, type OperationRegistry } from "@alkdev/operations";
import { mcpSource } from "@alkdev/operations/from-mcp";
import { openAPISource } from "@alkdev/operations/from-openapi";
import { countdown, createTask, greet, prepare } from "./operations.ts";

/** Creates the registry of the tour: local operations, an HTTP API and an MCP server. Closing it closes all of them. */
export async function createTourRegistry(documentUrl: string): Promise<OperationRegistry> {
  // The tour prints drift itself, so warnings about it are switched off.
  const registry: OperationRegistry = createRegistry({
    operations: [greet, createTask, countdown, prepare],
    log: false,
  });
  await registry.follow(openAPISource(documentUrl, { namespace: "weather" }));
  const args = [fileURLToPath(new URL("packing-server.mjs", import.meta.url))];
  await registry.follow(mcpSource({ name: "packing", command: process.execPath, args }));
  return registry;
}
