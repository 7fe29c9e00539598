import { defineConfig, env } from "@alkdev/operations/hub";

export default defineConfig({
  // #region sources
  sources: {
    shop: { modules: "./operations" }, // functions on a database
    delivery: { openapi: env("DELIVERY_API") }, // an HTTP API, by the URL of its OpenAPI document
    letters: { mcp: { command: "node", args: ["letters-server.mjs"] } }, // an MCP server over stdio
  },
  // #endregion sources
  serve: { port: Number(process.env["PORT"] ?? 4000) },
  rules: [{ match: "delivery.*", type: "mutation", requiredScopes: ["delivery:book"] }],
  history: { file: "./.data/history.db", keep: "7d" },
});
