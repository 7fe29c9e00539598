import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { loadMCPConfig } from "../../src/hub/index.ts";

const fixtures = fileURLToPath(new URL("../fixtures/editors/", import.meta.url));
const environment = {
  API_TOKEN: "s3cr3t",
  API_HOST: "api.example.com",
  HOME: "/home/ada",
  OPERATIONS_INPUT_API_KEY: "key",
};
const inert = "this field has no effect here.";

/** Each fixture uses every documented field of its editor. */
function load(path: string) {
  return loadMCPConfig(join(fixtures, path), { environment });
}

/** The paths of the fields that were reported, with their reasons. */
function reported(notices: ReadonlyArray<{ where: string; reason: string }>): Array<[string, string]> {
  return notices.map(({ where, reason }) => [where, reason]);
}

test("Claude Code", async () => {
  const file = await load("claude-code/.mcp.json");

  expect(file.servers).toEqual({
    program: {
      command: "/usr/bin/node",
      args: ["server.mjs", "--token", "s3cr3t", "$API_TOKEN"],
      env: { MODE: "fast", TOKEN: "s3cr3t" },
      cwd: join(fixtures, "claude-code"),
      timeouts: { request: 30_000 },
    },
    remote: { url: "https://api.example.com/mcp", headers: { Authorization: "Bearer s3cr3t" } },
    events: { url: "https://events.example.com/sse", transport: "sse" },
  });
  expect(reported(file.skipped)).toEqual([["mcpServers.socket.type", 'it must be "stdio", "http" or "sse".']]);
  expect(reported(file.warnings)).toEqual([
    ["mcpServers.remote.headersHelper", inert],
    ["mcpServers.remote.alwaysLoad", inert],
    ["mcpServers.remote.oauth", inert],
  ]);
  expect(file.unused).toEqual({
    remote: {
      headersHelper: "./headers.sh",
      alwaysLoad: true,
      oauth: {
        clientId: "client",
        callbackPort: 8080,
        authServerMetadataUrl: "https://auth.example.com/.well-known/oauth-authorization-server",
        scopes: "read write",
      },
    },
  });
});

test("Claude Desktop", async () => {
  expect(await load("claude-desktop/claude_desktop_config.json")).toEqual({
    servers: {
      files: {
        command: "npx",
        args: ["-y", "@modelcontextprotocol/server-filesystem", "/home/ada/Desktop"],
        env: { LOG: "1" },
        cwd: join(fixtures, "claude-desktop"),
      },
    },
    inputs: [],
    skipped: [],
    warnings: [],
    unused: {},
  });
});

test("Cursor", async () => {
  const file = await load("cursor/.cursor/mcp.json");

  expect(file.servers).toEqual({
    program: {
      command: "python",
      args: [`${join(fixtures, "cursor")}/tools/server.py`, "cursor", "a/b/c"],
      env: { LEVEL: "debug", TOKEN: "s3cr3t", HOME_OF_USER: "/home/ada" },
      cwd: join(fixtures, "cursor"),
    },
    remote: { url: "https://api.example.com/mcp", headers: { Authorization: "Bearer s3cr3t" } },
  });
  expect(file.skipped).toEqual([]);
  expect(reported(file.warnings)).toEqual([["mcpServers.remote.auth", inert]]);
});

test("VS Code", async () => {
  const file = await load("vscode/.vscode/mcp.json");

  expect(file.servers).toEqual({
    program: {
      command: "npx",
      args: ["-y", "server", "--region", "eu", `\${NOT_A_VARIABLE_HERE}`],
      cwd: join(fixtures, "vscode", "tools"),
      env: { FROM_FILE: "yes", KEY: "key", TOKEN: "s3cr3t", LEVEL: "3" },
    },
    remote: { url: "https://api.example.com/mcp", headers: { Authorization: "Bearer key" } },
  });
  expect(file.inputs).toEqual([
    { id: "api-key", description: "Key of the API", password: true },
    { id: "region", description: "Region", password: false, default: "eu", options: ["eu", "us"] },
    { id: "port", password: false },
  ]);
  expect(reported(file.skipped)).toEqual([
    ["servers.socket.url", "it must begin with http:// or https://."],
    ["servers.port.url", 'the input "port" is not set. Set the variable OPERATIONS_INPUT_PORT.'],
  ]);
  expect(reported(file.warnings)).toEqual([
    ["servers.program.dev", inert],
    ["servers.program.sandboxEnabled", inert],
    ["servers.program.sandbox", inert],
    ["servers.remote.oauth", inert],
    ["servers.remote.gallery", inert],
    ["servers.remote.version", inert],
  ]);
});

test("Windsurf", async () => {
  const file = await load("windsurf/mcp_config.json");

  expect(file.servers).toEqual({
    program: {
      command: "npx",
      args: ["-y", "server"],
      env: { TOKEN: "s3cr3t", CERTIFICATE: "a certificate" },
      cwd: join(fixtures, "windsurf"),
      tools: { exclude: ["delete"] },
    },
    remote: { url: "https://api.example.com/mcp", headers: { Authorization: "Bearer s3cr3t" } },
  });
  expect(reported(file.skipped)).toEqual([["mcpServers.off", "it is disabled."]]);
  expect(reported(file.warnings)).toEqual([["mcpServers.program.alwaysAllow", inert]]);
});

test("Gemini CLI", async () => {
  const file = await load("gemini/.gemini/settings.json");

  expect(file.servers).toEqual({
    program: {
      command: "./server",
      args: ["--token", "s3cr3t", "--host=api.example.com", "costs 5$"],
      env: { TOKEN: "s3cr3t" },
      cwd: join(fixtures, "gemini", "tools"),
      tools: { include: ["read", "write"], exclude: ["write"] },
      timeouts: { request: 15_000 },
    },
    remote: { url: "https://api.example.com/mcp", headers: { Authorization: "Bearer s3cr3t" } },
    events: { url: "https://events.example.com/sse", transport: "sse" },
  });
  expect(reported(file.skipped)).toEqual([
    ["mcpServers.excluded", "it is disabled."],
    ["mcpServers.unlisted", "it is disabled."],
  ]);
  expect(reported(file.warnings)).toEqual([
    ["mcpServers.program.trust", inert],
    ["mcpServers.remote.oauth", inert],
    ["mcpServers.remote.authProviderType", inert],
    ["mcpServers.remote.targetAudience", inert],
    ["mcpServers.remote.targetServiceAccount", inert],
  ]);
});

test("Codex", async () => {
  const file = await load("codex/.codex/config.toml");

  expect(file.servers).toEqual({
    program: {
      command: "npx",
      args: ["-y", "server", `\${NOT_EXPANDED}`],
      env: { API_TOKEN: "s3cr3t", API_HOST: "api.example.com", MODE: "fast" },
      cwd: join(fixtures, "codex", "tools"),
      tools: { include: ["read", "write"], exclude: ["write"] },
      timeouts: { connect: 20_000, request: 45_500 },
    },
    remote: {
      url: "https://api.example.com/mcp",
      headers: { "X-Region": "eu", "X-Token": "s3cr3t" },
      auth: { type: "bearer", token: "s3cr3t" },
      timeouts: { connect: 5_000 },
    },
  });
  expect(reported(file.skipped)).toEqual([
    ["mcp_servers.off", "it is disabled."],
    ["mcp_servers.unset.bearer_token_env_var", "the variable NOT_SET is not set."],
  ]);
  expect(reported(file.warnings)).toEqual([
    ["mcp_servers.program.required", inert],
    ["mcp_servers.program.default_tools_approval_mode", inert],
    ["mcp_servers.program.supports_parallel_tool_calls", inert],
    ["mcp_servers.program.experimental_environment", inert],
    ["mcp_servers.program.tools", inert],
    ["mcp_servers.remote.scopes", inert],
    ["mcp_servers.remote.oauth_resource", inert],
  ]);
});

test("only the requested servers are read and reported", async () => {
  const file = await loadMCPConfig(join(fixtures, "vscode/.vscode/mcp.json"), {
    environment,
    servers: ["remote", "port"],
  });

  expect(Object.keys(file.servers)).toEqual(["remote"]);
  expect(file.skipped.map(({ server }) => server)).toEqual(["port"]);
  expect(Object.keys(file.unused)).toEqual(["remote"]);
});
