import type { JSONObject } from "../internal/objects.ts";

/** An MCP server for an editor: a program, or the URL of a running hub. */
export type EditorServer = { command: string; args: readonly string[] } | { url: string };

/** An editor or agent that starts MCP servers, and the form of its configuration files. */
export interface Editor {
  /** Name for messages. */
  readonly title: string;
  /** Path of its file in a project. Missing where it reads only a file of the user. */
  readonly projectFile?: string;
  /** Its file for all projects of a user, for messages. */
  readonly userFile: string;
  /** The property of the file that contains the servers. */
  readonly serversKey: string;
  /** What replaces the folder of the project in an argument. @default nothing: programs start in that folder */
  readonly projectFolder?: string;
  /** Further fields of the entry of a program. */
  readonly programFields?: JSONObject;
  /** The entry of a URL. Missing where the file cannot contain one. */
  readonly toRemote?: (url: string) => JSONObject;
  /** A value that the editor requests from its user, for an entry of a URL. */
  readonly input?: JSONObject;
  /** The command of the product that adds a server. Missing where it has none. */
  readonly toCommand?: (name: string, server: EditorServer) => readonly string[];
}

const bearer = (reference: string) => ({ headers: { Authorization: `Bearer ${reference}` } });

/** The editors and agents whose files can be read and printed, by the name in `--for`. */
export const editors: Readonly<Record<string, Editor>> = {
  claude: {
    title: "Claude Code",
    projectFile: ".mcp.json",
    userFile: "~/.claude.json",
    serversKey: "mcpServers",
    programFields: { type: "stdio" },
    toRemote: (url) => ({ type: "http", url, ...bearer(`\${OPERATIONS_TOKEN}`) }),
    toCommand: (name, server) =>
      "url" in server
        ? [..."claude mcp add --scope project --transport http".split(" "), name, server.url, ...bearerOption]
        : [..."claude mcp add --scope project".split(" "), name, "--", server.command, ...server.args],
  },
  "claude-desktop": {
    title: "Claude Desktop",
    userFile: "claude_desktop_config.json",
    serversKey: "mcpServers",
  },
  cursor: {
    title: "Cursor",
    projectFile: ".cursor/mcp.json",
    userFile: "~/.cursor/mcp.json",
    serversKey: "mcpServers",
    projectFolder: `\${workspaceFolder}`,
    toRemote: (url) => ({ url, ...bearer(`\${env:OPERATIONS_TOKEN}`) }),
  },
  vscode: {
    title: "VS Code",
    projectFile: ".vscode/mcp.json",
    userFile: "mcp.json in the settings folder",
    serversKey: "servers",
    projectFolder: `\${workspaceFolder}`,
    programFields: { type: "stdio" },
    toRemote: (url) => ({ type: "http", url, ...bearer(`\${input:operations-token}`) }),
    input: { id: "operations-token", type: "promptString", description: "Token of the hub", password: true },
    toCommand: (name, server) => [
      "code",
      "--add-mcp",
      JSON.stringify({ name, ...("url" in server ? { type: "http" } : {}), ...server }),
    ],
  },
  windsurf: {
    title: "Windsurf",
    userFile: "~/.codeium/windsurf/mcp_config.json",
    serversKey: "mcpServers",
    toRemote: (url) => ({ serverUrl: url, ...bearer(`\${env:OPERATIONS_TOKEN}`) }),
  },
  gemini: {
    title: "Gemini CLI",
    projectFile: ".gemini/settings.json",
    userFile: "~/.gemini/settings.json",
    serversKey: "mcpServers",
    toRemote: (url) => ({ httpUrl: url, ...bearer(`\${OPERATIONS_TOKEN}`) }),
    toCommand: (name, server) =>
      "url" in server
        ? [..."gemini mcp add --transport http".split(" "), name, server.url, ...bearerOption]
        : ["gemini", "mcp", "add", name, server.command, ...server.args],
  },
  codex: {
    title: "Codex",
    projectFile: ".codex/config.toml",
    userFile: "~/.codex/config.toml",
    serversKey: "mcp_servers",
    toCommand: (name, server) =>
      "url" in server
        ? [..."codex mcp add".split(" "), name, "--url", server.url, "--bearer-token-env-var", "OPERATIONS_TOKEN"]
        : ["codex", "mcp", "add", name, "--", server.command, ...server.args],
  },
};

const bearerOption = ["--header", `Authorization: Bearer \${OPERATIONS_TOKEN}`];
