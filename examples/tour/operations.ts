import { createRegistry, FromOpenAPIUrl, type OperationRegistry } from "@alkdev/operations";
import { MCPClientLoader } from "@alkdev/operations/from-mcp";
import { plan } from "./http.ts";
import { countdown, createTask, greet, welcome } from "./local.ts";
import { packing, prepare } from "./mcp.ts";

/** What the tour has by its end, made at once: operations of our own, of an HTTP API and of an MCP server. */
export async function createTourRegistry(
  documentUrl: string,
): Promise<{ registry: OperationRegistry; close(): Promise<void> }> {
  const registry = createRegistry({ operations: [createTask, greet, welcome, countdown, plan, prepare] });
  registry.registerAll(await FromOpenAPIUrl(documentUrl, { namespace: "weather" }));
  const loader = new MCPClientLoader();
  await loader.load({ packing });
  await loader.registerAll(registry);
  return { registry, close: () => loader.closeAll() };
}
