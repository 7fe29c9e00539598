import assert from "node:assert/strict";
// #region setup
import { fileURLToPath } from "node:url";
import { startWeatherAPI } from "./weather-api.ts";

const weather = await startWeatherAPI(); // an HTTP API on this machine
const weatherDocument = weather.documentUrl; // the URL of its OpenAPI document
const packingServer = fileURLToPath(new URL("packing-server.mjs", import.meta.url)); // an MCP server over stdio

// #endregion setup

// #region operation
import { createRegistry, defineOperation, Type } from "@alkdev/operations";
import { mcpSource } from "@alkdev/operations/from-mcp";
import { openAPISource } from "@alkdev/operations/from-openapi";

const greet = defineOperation({
  namespace: "trip",
  name: "greet",
  type: "query",
  description: "Greets a traveller",
  inputSchema: Type.Object({ name: Type.String() }),
  outputSchema: Type.String(),
  handler: ({ name }) => `Hello, ${name}!`,
});

const prepare = defineOperation({
  namespace: "trip",
  name: "prepare",
  type: "query",
  description: "Greets a traveller and lists what to pack for a city",
  inputSchema: Type.Object({ name: Type.String(), city: Type.String() }),
  outputSchema: Type.Object({ greeting: Type.String(), celsius: Type.Number(), pack: Type.Array(Type.String()) }),
  handler: async ({ name, city }, { call }) => {
    const greeting = await call(greet, { name }); // a function
    const { celsius } = await call<{ celsius: number }>("weather.forecast", { city }); // an HTTP endpoint
    const { items } = await call<{ items: string[] }>("packing.suggest", { celsius }); // an MCP tool
    return { greeting, celsius, pack: items };
  },
});
// #endregion operation

// #region sources
const registry = createRegistry({ operations: [greet, prepare] });
await registry.follow(openAPISource(weatherDocument, { namespace: "weather" }));
await registry.follow(mcpSource({ name: "packing", command: "node", args: [packingServer] }));
// #endregion sources

// #region call
const { data } = await registry.execute("trip.prepare", { name: "Grace", city: "Oslo" });
console.log(data);
// #endregion call

// #region list
for (const { namespace, name, type, title, description } of registry.list()) {
  console.log(`${namespace}.${name} (${type}): ${title ?? description}`);
}
// #endregion list

// #region search
const [best] = registry.search("what should I pack?");
console.log(`${best?.namespace}.${best?.name}`);

// #endregion search

// #region tools
import { checkAccess, type Identity, type OperationRegistry, type OperationSpec } from "@alkdev/operations";

const operations: OperationRegistry = registry; // the same registry, for ids that the compiler does not know

/** Model APIs allow letters, digits, "_" and "-" in the name of a tool. */
const toToolName = ({ namespace, name }: OperationSpec) => `${namespace}_${name}`.replace(/[^\w-]/g, "_");

/** Returns the operations that the identity may call, in the form that model APIs expect. */
function listTools(identity: Identity) {
  return operations
    .list()
    .filter(({ type, accessControl }) => type !== "subscription" && checkAccess(accessControl, identity))
    .map((spec) => ({
      name: toToolName(spec),
      description: spec.description || spec.title,
      input_schema: spec.inputSchema,
    }));
}

/** Runs a tool call of a model, and returns the result for the model. */
async function runTool(tool: { name: string; input: unknown }, identity: Identity) {
  const spec = operations.list().find((spec) => toToolName(spec) === tool.name);
  if (spec === undefined) return { content: `There is no tool "${tool.name}".`, is_error: true };
  const client = operations.client({ identity, timeout: 30_000 });
  try {
    const data = await client[spec.namespace]![spec.name]!(tool.input); // throws if an MCP tool reports an error
    return { content: JSON.stringify(data) };
  } catch (error) {
    return { content: (error as Error).message, is_error: true };
  }
}
// #endregion tools

// #region agent
const agent: Identity = { id: "agent", scopes: [] };
console.log(listTools(agent).map(({ name }) => name));

// Three tool calls as a model makes them. The second one is invalid, and the third one fails:
console.log(await runTool({ name: "trip_prepare", input: { name: "Ada", city: "Lima" } }, agent));
console.log(await runTool({ name: "weather_forecast", input: { town: "Lima" } }, agent));
console.log(await runTool({ name: "packing_weigh", input: { items: ["coat"] } }, agent));
// #endregion agent

// #region close
await registry.close(); // ends the MCP server
// #endregion close
await weather.close();

assert.deepEqual(data, { greeting: "Hello, Grace!", celsius: -4, pack: ["coat", "gloves"] });
assert.equal(best?.name, "suggest");
