/** The first program of the README: the tutorial's services, without descriptions for a model. */
import { fileURLToPath } from "node:url";
import { startWeatherAPI } from "./weather-api.ts";

const weather = await startWeatherAPI();
const weatherDocument = weather.documentUrl;
const packingServer = fileURLToPath(new URL("packing-server.mjs", import.meta.url));

// #region program
import { createRegistry, defineOperation, Type } from "@alkdev/operations";
import { mcpSource } from "@alkdev/operations/from-mcp";
import { openAPISource } from "@alkdev/operations/from-openapi";

// #endregion program
// biome-ignore format: The first program has to fit on one screen.
// #region program
const greet = defineOperation({
  namespace: "trip", name: "greet", type: "query",
  inputSchema: Type.Object({ name: Type.String() }), outputSchema: Type.String(),
  handler: ({ name }) => `Hello, ${name}!`,
});
// #endregion program
// biome-ignore format: The first program has to fit on one screen.
// #region program
const prepare = defineOperation({
  namespace: "trip", name: "prepare", type: "query",
  inputSchema: Type.Object({ name: Type.String(), city: Type.String() }), outputSchema: Type.Unknown(),
  handler: async ({ name, city }, { call }) => {
    const greeting = await call(greet, { name }); // the function above
    const forecast = await call("weather.forecast", { city }); // an endpoint of an HTTP API
    const packing = await call("packing.suggest", forecast); // a tool of an MCP server
    return { greeting, forecast, packing };
  },
});

const registry = createRegistry({ operations: [greet, prepare] });
await registry.follow(openAPISource(weatherDocument, { namespace: "weather" }));
await registry.follow(mcpSource({ name: "packing", command: "node", args: [packingServer] }));
console.log(await registry.client().trip.prepare({ name: "Grace", city: "Oslo" }));
// #endregion program

await registry.close();
await weather.close();
