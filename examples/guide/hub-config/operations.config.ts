import { defineConfig, env } from "@alkdev/operations/hub";

export default defineConfig({
  // #region sources
  sources: {
    // A folder of modules. Their operations keep their own namespaces.
    tasks: { modules: "./operations" },
    // An HTTP API, by its OpenAPI document. Its operations are github.issues/list and so on.
    github: {
      openapi: "https://api.example.com/openapi.json",
      auth: { type: "bearer", token: env("GITHUB_TOKEN") },
      include: ["issues/*", "tag:search"],
      rename: { "github.issues/list-for-repo": "issues/list" },
      retry: true,
    },
    // An MCP server over stdio, and one over HTTP.
    files: {
      mcp: { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "."] },
      exclude: ["write_*"],
    },
    search: { mcp: { url: "https://search.example.com/mcp", headers: { "x-api-key": env("SEARCH_KEY") } } },
    // MCP servers of an editor.
    mine: { mcpConfig: { file: "~/.cursor/mcp.json", servers: ["linear"] } },
    // Peers on a message bus, and a registry that is served over WebSocket.
    fleet: { nats: { servers: "nats://127.0.0.1:4222", sign: env("BUS_KEY"), serve: true } },
    queue: { redis: { url: env("REDIS_URL"), trustedBus: true } },
    office: {
      websocket: { url: "wss://office.example.com/calls", auth: { type: "bearer", token: env("OFFICE_TOKEN") } },
    },
  },
  // #endregion sources
  // #region serve
  serve: { host: "127.0.0.1", port: 4000, http: true, mcp: true, websocket: true },
  // #endregion serve
  // #region access
  access: {
    tokens: [
      {
        hash: "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        identity: { id: "ada", scopes: ["tasks", "github", "github:write", "hub:read"] },
      },
    ],
  },
  // #endregion access
  // #region rules
  rules: [
    { match: "github.*", type: "mutation", requiredScopes: ["github:write"] },
    { match: "files.delete*", deny: true },
  ],
  // #endregion rules
  // #region history
  history: { file: "./.data/history.db", keep: "7d", limit: 1_000, payloads: ["tasks.*"] },
  // #endregion history
});
