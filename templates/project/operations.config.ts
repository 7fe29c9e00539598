import { defineConfig } from "@alkdev/operations/hub";

export default defineConfig({
  sources: {
    local: { modules: "./operations" },
    // An HTTP API, from its OpenAPI document:
    // petstore: { openapi: "https://petstore3.swagger.io/api/v3/openapi.json" },
    // An MCP server:
    // files: { mcp: { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "."] } },
  },
  serve: { port: 4000 },
});
