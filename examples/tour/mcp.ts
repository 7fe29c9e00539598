import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { defineOperation, type OperationRegistry, OperationType, Type } from "@alkdev/operations";
import { MCPClientLoader } from "@alkdev/operations/from-mcp";
import { chapter, show } from "./print.ts";

/** Calls a local operation, an HTTP API and an MCP tool; nothing in it says which is which. */
export const prepare = defineOperation({
  namespace: "trip",
  name: "prepare",
  version: "1.0.0",
  type: OperationType.QUERY,
  description: "Greets a traveller with what to pack",
  inputSchema: Type.Object({ name: Type.String(), city: Type.String() }),
  outputSchema: Type.Object({ greeting: Type.String(), celsius: Type.Number(), items: Type.Array(Type.String()) }),
  accessControl: { requiredScopes: [] },
  handler: async ({ name, city }, { env }) => {
    const greeting = await env.text!.greet!({ name });
    const forecast = await env.weather!.forecast!({ city });
    const { celsius } = forecast.data as { celsius: number };
    const suggestion = await env.packing!.suggest!({ celsius });
    return { greeting: String(greeting.data), celsius, items: (suggestion.data as { items: string[] }).items };
  },
});

/** How the MCP server of the tour is started. */
export const packing = {
  command: process.execPath,
  args: [fileURLToPath(new URL("packing-server.mjs", import.meta.url))],
};

/** The part of the tour about MCP: a server of its own program, which runs until it is closed. */
export async function tourMCP(registry: OperationRegistry): Promise<{ close(): Promise<void> }> {
  chapter("An MCP server's tools are operations too: say how it is started");
  const loader = new MCPClientLoader();
  await loader.load({ packing });
  await loader.registerAll(registry);
  show(
    "loader.load({ packing: { command, args } })",
    loader.getAllOperations().map(({ name, type, version }) => ({ name, type, version })),
  );
  const suggested = await registry.execute("packing.suggest", { celsius: 17 });
  show('execute("packing.suggest", { celsius: 17 })', suggested);
  assert.deepEqual(suggested.data, { items: ["umbrella"] });
  assert.equal(suggested.meta.source, "mcp");

  chapter("A tool that fails has answered: isError is in the envelope");
  const weighed = await registry.execute("packing.weigh", { items: ["umbrella"] });
  show('execute("packing.weigh", { items: ["umbrella"] })', weighed);
  assert(weighed.meta.source === "mcp" && weighed.meta.isError);

  chapter("Local, HTTP and MCP compose: one operation that calls all three");
  registry.register(prepare);
  const prepared = await registry.execute("trip.prepare", { name: "Grace", city: "Oslo" });
  show('execute("trip.prepare", { name: "Grace", city: "Oslo" })', prepared);
  assert.deepEqual((prepared.data as { items: string[] }).items, ["coat", "gloves"]);

  return { close: () => loader.closeAll() }; // and the program is gone
}
