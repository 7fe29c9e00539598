/** One registry with two HTTP APIs, two MCP servers, and the operations that are composed of them. */
import { fileURLToPath } from "node:url";
import { createRegistry } from "@alkdev/operations";
import { mcpSource } from "@alkdev/operations/from-mcp";
import { openAPISource } from "@alkdev/operations/from-openapi";
import { retry } from "@alkdev/operations/middleware";
import { operations } from "./operations.ts";

/** URLs of the OpenAPI documents of both APIs, and the credentials that they need. */
export interface ToolBeltConfig {
  /** The shop. */
  shop: { documentUrl: string; token: string };
  /** The help desk. */
  tickets: { documentUrl: string; key: string };
}

// #region belt
/** Customers never call an API or MCP server themselves: that takes the scope `staff`. */
const follow = { accessControl: { requiredScopes: ["staff"] } };

/** Creates the tool belt. Close the registry to end the MCP servers. */
export async function createToolBelt({ shop, tickets }: ToolBeltConfig) {
  const registry = createRegistry({ operations });
  registry.use(retry({ retries: 2 })); // repeats only what is safe to repeat
  const auth = { type: "bearer", token: shop.token } as const;
  const apiKey = { type: "apiKey", token: tickets.key } as const; // in the header that the document names
  await registry.follow(openAPISource(shop.documentUrl, { namespace: "shop", auth }), follow);
  await registry.follow(openAPISource(tickets.documentUrl, { namespace: "tickets", auth: apiKey }), follow);
  await registry.follow(mcpSource({ name: "knowledge", ...nodeProgram("knowledge-server.mjs") }), follow);
  await registry.follow(mcpSource({ name: "mail", ...nodeProgram("mail-server.mjs") }), follow);
  return registry;
}
// #endregion belt

function nodeProgram(file: string): { command: string; args: string[] } {
  return { command: process.execPath, args: [fileURLToPath(new URL(file, import.meta.url))] };
}
