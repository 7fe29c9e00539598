import type { JSONObject } from "../internal/objects.ts";
import type { VariableSyntax } from "./config-variables.ts";

/** An editor or agent that starts MCP servers, and the form of its configuration files. */
export interface Editor {
  /** Name for messages. */
  readonly title: string;
  /** Path of its file in a project. Missing where it reads only a file of the user. */
  readonly projectFile?: string;
  /** Path of its file for all projects of a user: in the home folder, or in the folder of application settings. */
  readonly userFile: readonly [folder: "home" | "settings", path: string];
  /** The property of the file that contains the servers. */
  readonly serversKey: string;
  /** How its file refers to variables. */
  readonly syntax: VariableSyntax;
  /** What replaces the folder of the project in an argument. @default nothing: programs start in that folder */
  readonly projectFolder?: string;
  /** Further fields of the entry of a program. */
  readonly programFields?: JSONObject;
  /** The entry of a URL. Missing where the file cannot contain one. */
  readonly toRemote?: (url: string) => JSONObject;
  /** A value that the editor requests from its user, for an entry of a URL. */
  readonly input?: JSONObject;
}

const bearer = (reference: string) => ({ headers: { Authorization: `Bearer ${reference}` } });

/** The editors and agents whose files can be read and written, by the name in `--for`. */
export const editors: Readonly<Record<string, Editor>> = {
  claude: {
    title: "Claude Code",
    projectFile: ".mcp.json",
    userFile: ["home", ".claude.json"],
    serversKey: "mcpServers",
    syntax: "claude",
    programFields: { type: "stdio" },
    toRemote: (url) => ({ type: "http", url, ...bearer(`\${OPERATIONS_TOKEN}`) }),
  },
  "claude-desktop": {
    title: "Claude Desktop",
    userFile: ["settings", "Claude/claude_desktop_config.json"],
    serversKey: "mcpServers",
    syntax: "claude",
  },
  cursor: {
    title: "Cursor",
    projectFile: ".cursor/mcp.json",
    userFile: ["home", ".cursor/mcp.json"],
    serversKey: "mcpServers",
    syntax: "claude",
    projectFolder: `\${workspaceFolder}`,
    toRemote: (url) => ({ url, ...bearer(`\${env:OPERATIONS_TOKEN}`) }),
  },
  vscode: {
    title: "VS Code",
    projectFile: ".vscode/mcp.json",
    userFile: ["settings", "Code/User/mcp.json"],
    serversKey: "servers",
    syntax: "vscode",
    projectFolder: `\${workspaceFolder}`,
    programFields: { type: "stdio" },
    toRemote: (url) => ({ type: "http", url, ...bearer(`\${input:operations-token}`) }),
    input: { id: "operations-token", type: "promptString", description: "Token of the hub", password: true },
  },
  windsurf: {
    title: "Windsurf",
    userFile: ["home", ".codeium/windsurf/mcp_config.json"],
    serversKey: "mcpServers",
    syntax: "claude",
    toRemote: (url) => ({ serverUrl: url, ...bearer(`\${env:OPERATIONS_TOKEN}`) }),
  },
  gemini: {
    title: "Gemini CLI",
    projectFile: ".gemini/settings.json",
    userFile: ["home", ".gemini/settings.json"],
    serversKey: "mcpServers",
    syntax: "gemini",
    toRemote: (url) => ({ httpUrl: url, ...bearer(`\${OPERATIONS_TOKEN}`) }),
  },
  codex: {
    title: "Codex",
    projectFile: ".codex/config.toml",
    userFile: ["home", ".codex/config.toml"],
    serversKey: "mcp_servers",
    syntax: "codex",
    toRemote: (url) => ({ url, bearer_token_env_var: "OPERATIONS_TOKEN" }),
  },
};
