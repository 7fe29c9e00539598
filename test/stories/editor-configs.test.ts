import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { loadMCPConfig, type MCPConfigFile } from "../../src/hub/index.ts";

const fixtures = fileURLToPath(new URL("../fixtures/editors/", import.meta.url));
const environment = { API_TOKEN: "s3cr3t", API_HOST: "api.example.com", OPERATIONS_INPUT_API_KEY: "key" };
const authorized = { url: "https://api.example.com/mcp", headers: { Authorization: "Bearer s3cr3t" } };
const events = { url: "https://events.example.com/sse" };

/** Each fixture uses every documented field of its editor. */
function load(path: string, servers?: string[]) {
  return loadMCPConfig(join(fixtures, path), { environment, servers });
}

/** The paths of what was reported, with the reasons. */
function reported({ skipped, warnings }: MCPConfigFile): Array<[string, string]> {
  return [...skipped, ...warnings].map(({ where, reason }) => [where, reason]);
}

test("Claude Code", async () => {
  const file = await load("claude-code/.mcp.json");

  expect(file.servers).toEqual({
    program: {
      command: "/usr/bin/node",
      args: ["server.mjs", "--token", "s3cr3t", "$API_TOKEN"],
      env: { MODE: "fast", TOKEN: "s3cr3t" },
      cwd: join(fixtures, "claude-code"),
    },
    remote: authorized,
    events,
  });
  expect(reported(file)).toEqual([
    ["mcpServers.socket.url", "it must begin with http:// or https://."],
    ["mcpServers.program", 'the field "timeout" is ignored.'],
    ["mcpServers.remote", 'the fields "headersHelper", "alwaysLoad", "oauth" are ignored.'],
  ]);
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
    skipped: [],
    warnings: [],
  });
});

test("Cursor", async () => {
  const file = await load("cursor/.cursor/mcp.json");

  expect(file.servers).toEqual({
    program: {
      command: "python",
      args: [`${join(fixtures, "cursor")}/tools/server.py`],
      env: { TOKEN: "s3cr3t" },
      cwd: join(fixtures, "cursor"),
    },
    remote: authorized,
  });
  expect(reported(file)).toEqual([
    ["mcpServers.folders.args[0]", "the variable workspaceFolderBasename is not set."],
    ["mcpServers.program", 'the field "envFile" is ignored.'],
    ["mcpServers.remote", 'the field "auth" is ignored.'],
  ]);
});

test("VS Code", async () => {
  const file = await load("vscode/.vscode/mcp.json");

  expect(file.servers).toEqual({
    program: {
      command: "npx",
      args: ["-y", "server"],
      env: { KEY: "key", TOKEN: "s3cr3t", LEVEL: "3" },
      cwd: join(fixtures, "vscode"),
    },
    remote: { url: "https://api.example.com/mcp", headers: { Authorization: "Bearer key" } },
  });
  expect(reported(file)).toEqual([
    ["servers.region.args[0]", "the variable OPERATIONS_INPUT_REGION is not set."],
    ["servers.socket.url", "it must begin with http:// or https://."],
    ["servers.port.url", "the variable OPERATIONS_INPUT_PORT is not set."],
    ["servers.program", 'the fields "cwd", "envFile", "dev", "sandboxEnabled", "sandbox" are ignored.'],
    ["servers.remote", 'the fields "oauth", "gallery", "version" are ignored.'],
  ]);
});

test("Windsurf", async () => {
  const file = await load("windsurf/mcp_config.json");

  expect(file.servers).toEqual({ remote: authorized });
  expect(reported(file)).toEqual([
    [
      "mcpServers.program.env.CERTIFICATE",
      `only the editor knows the value of "\${file:certificate.txt}". Use \${env:NAME} instead.`,
    ],
    ["mcpServers.off", "it is disabled."],
  ]);
});

test("Gemini CLI", async () => {
  const file = await load("gemini/.gemini/settings.json");

  expect(file.servers).toEqual({
    program: {
      command: "./server",
      args: ["--token", "$API_TOKEN", "--host=api.example.com", "costs 5$"],
      env: { TOKEN: "$API_TOKEN" },
      cwd: join(fixtures, "gemini"),
    },
    remote: { url: "https://api.example.com/mcp", headers: { Authorization: "Bearer $API_TOKEN" } },
    events,
  });
  expect(reported(file)).toEqual([
    ["mcpServers.excluded", "it is disabled."],
    ["mcpServers.unlisted", "it is disabled."],
    ["mcpServers.program", 'the fields "cwd", "timeout", "trust", "includeTools", "excludeTools" are ignored.'],
    [
      "mcpServers.remote",
      'the fields "oauth", "authProviderType", "targetAudience", "targetServiceAccount" are ignored.',
    ],
  ]);
});

test("Codex", async () => {
  const file = await load("codex/.codex/config.toml");
  const remote = { url: "https://api.example.com/mcp" };

  expect(file.servers).toEqual({ remote: { ...remote, headers: { "X-Region": "eu" } }, unset: remote });
  expect(reported(file)).toEqual([
    ["mcp_servers.program.args[2]", "the variable NOT_EXPANDED is not set."],
    ["mcp_servers.off", "it is disabled."],
    [
      "mcp_servers.remote",
      'the fields "bearer_token_env_var", "env_http_headers", "startup_timeout_ms", "scopes", "oauth_resource" are ignored.',
    ],
    ["mcp_servers.unset", 'the field "bearer_token_env_var" is ignored.'],
  ]);
});

test("only the requested servers are read and reported", async () => {
  const file = await load("vscode/.vscode/mcp.json", ["remote", "port"]);

  expect(Object.keys(file.servers)).toEqual(["remote"]);
  expect(reported(file).map(([where]) => where)).toEqual(["servers.port.url", "servers.remote"]);
});
