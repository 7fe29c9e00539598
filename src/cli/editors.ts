import { isDeepStrictEqual } from "node:util";
import { applyEdits, modify, type ParseError, parse as parseJSONC } from "jsonc-parser";
import { parse as parseTOML, stringify as stringifyTOML, type TomlTable } from "smol-toml";
import { getOwn, isObject, type JSONObject } from "../internal/objects.ts";

/** An MCP server for the configuration file of an editor: a program, or the URL of a running hub. */
export type EditorServer = { command: string; args: readonly string[] } | { url: string };

/** Where the files of a user are. */
export interface UserPlaces {
  /** Home folder. */
  home: string;
  /** Folder of application settings: `%APPDATA%` on Windows, `~/Library/Application Support` on macOS, else `~/.config`. */
  settings: string;
}

/** An editor or agent that starts MCP servers. */
export interface Editor {
  /** Name for messages. */
  readonly title: string;
  /** Path of its file in a project. Missing where it reads only a file of the user. */
  readonly projectFile?: string;
  /** Path of its file for all projects of a user. */
  readonly userFile: (places: UserPlaces) => string;
  /** What replaces the folder of the project in an argument. @default nothing: programs start in that folder */
  readonly projectFolder?: string;
  /** The property of the file that contains the servers. */
  readonly serversKey: string;
  /** The entry of a program. */
  readonly toProgram: (command: string, args: readonly string[]) => JSONObject;
  /** The entry of a URL. Missing where the file cannot contain one. */
  readonly toRemote?: (url: string) => JSONObject;
  /** A value that the editor requests from its user, for an entry of a URL. */
  readonly input?: JSONObject;
  /** Whether the file is TOML. @default JSON with comments */
  readonly toml?: boolean;
}

/** The variable that contains the token of a running hub. */
export const tokenVariable = "OPERATIONS_TOKEN";

const toProgram: Editor["toProgram"] = (command, args) => ({ command, args: [...args] });
const bearer = (reference: string) => ({ Authorization: `Bearer ${reference}` });

/** The editors and agents whose files can be written, by the name in `--for`. */
export const editors: Readonly<Record<string, Editor>> = {
  claude: {
    title: "Claude Code",
    projectFile: ".mcp.json",
    userFile: ({ home }) => `${home}/.claude.json`,
    serversKey: "mcpServers",
    toProgram: (command, args) => ({ type: "stdio", ...toProgram(command, args) }),
    toRemote: (url) => ({ type: "http", url, headers: bearer(`\${OPERATIONS_TOKEN}`) }),
  },
  "claude-desktop": {
    title: "Claude Desktop",
    userFile: ({ settings }) => `${settings}/Claude/claude_desktop_config.json`,
    serversKey: "mcpServers",
    toProgram,
  },
  cursor: {
    title: "Cursor",
    projectFile: ".cursor/mcp.json",
    userFile: ({ home }) => `${home}/.cursor/mcp.json`,
    projectFolder: `\${workspaceFolder}`,
    serversKey: "mcpServers",
    toProgram,
    toRemote: (url) => ({ url, headers: bearer(`\${env:OPERATIONS_TOKEN}`) }),
  },
  vscode: {
    title: "VS Code",
    projectFile: ".vscode/mcp.json",
    userFile: ({ settings }) => `${settings}/Code/User/mcp.json`,
    projectFolder: `\${workspaceFolder}`,
    serversKey: "servers",
    toProgram: (command, args) => ({ type: "stdio", ...toProgram(command, args) }),
    toRemote: (url) => ({ type: "http", url, headers: bearer(`\${input:operations-token}`) }),
    input: { id: "operations-token", type: "promptString", description: "Token of the hub", password: true },
  },
  windsurf: {
    title: "Windsurf",
    userFile: ({ home }) => `${home}/.codeium/windsurf/mcp_config.json`,
    serversKey: "mcpServers",
    toProgram,
    toRemote: (url) => ({ serverUrl: url, headers: bearer(`\${env:OPERATIONS_TOKEN}`) }),
  },
  gemini: {
    title: "Gemini CLI",
    projectFile: ".gemini/settings.json",
    userFile: ({ home }) => `${home}/.gemini/settings.json`,
    serversKey: "mcpServers",
    toProgram,
    toRemote: (url) => ({ httpUrl: url, headers: bearer(`\${OPERATIONS_TOKEN}`) }),
  },
  codex: {
    title: "Codex",
    projectFile: ".codex/config.toml",
    userFile: ({ home }) => `${home}/.codex/config.toml`,
    serversKey: "mcp_servers",
    toProgram,
    toRemote: (url) => ({ url, bearer_token_env_var: tokenVariable }),
    toml: true,
  },
};

/** A file that cannot be edited without losing something. The message is the reason, as a part of a sentence. */
export class EditProblem extends Error {}

/** Returns the content of a file that has only this server. Throws an {@link EditProblem} if the file cannot contain it. */
export function formatServer(editor: Editor, name: string, server: EditorServer): string {
  return addServer(editor, "", name, server);
}

/**
 * Returns the content of a file with the server added, or replaced if it has one of that name. Everything else stays, with
 * comments; only the lines next to the server may be indented again. Throws an {@link EditProblem} if the content is malformed.
 */
export function addServer(editor: Editor, content: string, name: string, server: EditorServer): string {
  const entry = toEntry(editor, server);
  if (editor.toml) return addTable(editor.serversKey, content, name, entry);
  const document = readJSON(content);
  const servers = getOwn(document, editor.serversKey);
  if (servers !== undefined && !isObject(servers)) throw new EditProblem(`"${editor.serversKey}" is not an object`);
  const added = setJSON(content, [editor.serversKey, name], entry);
  return "url" in server && editor.input !== undefined ? addInput(added, editor.input) : added;
}

function toEntry(editor: Editor, server: EditorServer): JSONObject {
  if ("command" in server) return editor.toProgram(server.command, server.args);
  if (editor.toRemote === undefined) throw new EditProblem("its file cannot contain URLs, only programs");
  return editor.toRemote(server.url);
}

function readJSON(content: string): JSONObject {
  if (content.trim() === "") return {};
  const errors: ParseError[] = [];
  const document: unknown = parseJSONC(content, errors, { allowTrailingComma: true });
  if (errors[0] !== undefined) {
    const line = content.slice(0, errors[0].offset).split("\n").length;
    throw new EditProblem(`it is not valid JSON with comments: see line ${line}`);
  }
  if (!isObject(document)) throw new EditProblem("it is not an object");
  return document;
}

function addInput(content: string, input: JSONObject): string {
  const inputs = getOwn(readJSON(content), "inputs") ?? [];
  if (!Array.isArray(inputs)) throw new EditProblem('"inputs" is not a list');
  if (inputs.some((known) => getOwn(known, "id") === input["id"])) return content;
  return setJSON(
    content,
    inputs.length === 0 ? ["inputs"] : ["inputs", inputs.length],
    inputs.length === 0 ? [input] : input,
  );
}

function setJSON(content: string, path: Array<string | number>, value: unknown): string {
  const indent = /^([ \t]+)\S/m.exec(content)?.[1] ?? "  ";
  const eol = content.includes("\r\n") ? "\r\n" : "\n";
  const formattingOptions = { insertSpaces: !indent.startsWith("\t"), tabSize: indent.length, eol };
  const start = content.trim() === "" ? "{}" : content;
  const edited = applyEdits(start, modify(start, path, value, { formattingOptions }));
  return edited.endsWith("\n") ? edited : `${edited}${eol}`;
}

/**
 * Adds a table at the end of a TOML file, after removing the old table of that name. TOML has no editing library, so the
 * result is parsed and compared: text that looks like the table but is part of a string is never changed.
 */
function addTable(serversKey: string, content: string, name: string, entry: JSONObject): string {
  const before = readTOML(content);
  const servers = getOwn(before, serversKey) ?? {};
  if (!isObject(servers)) throw new EditProblem(`"${serversKey}" is not a table`);
  const block = stringifyTOML({ [serversKey]: { [name]: entry } }).trimEnd();
  const kept = removeTable(content, block.slice(0, block.indexOf("\n"))).trimEnd();
  const edited = `${kept}${kept === "" ? "" : "\n\n"}${block}\n`;
  const expected = { ...before, [serversKey]: { ...servers, [name]: entry } };
  if (!isTOML(edited, expected)) {
    throw new EditProblem(`the table of the server "${name}" is written in a form that cannot be replaced`);
  }
  return edited;
}

/** Removes the lines from the header of a table, and of its inner tables, to the next header. */
function removeTable(content: string, header: string): string {
  const inner = `${header.slice(0, -1)}.`;
  let inside = false;
  const kept = content.split("\n").filter((line) => {
    const start = line.trim();
    if (start.startsWith("[")) inside = start.startsWith(header) || start.startsWith(inner);
    return !inside;
  });
  return kept.join("\n");
}

function readTOML(content: string): TomlTable {
  try {
    return parseTOML(content);
  } catch (error) {
    throw new EditProblem("it is not valid TOML", { cause: error });
  }
}

/** Returns whether TOML has this content. Both are compared as JSON, because tables have other prototypes. */
function isTOML(content: string, expected: JSONObject): boolean {
  const toJSON = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
  try {
    return isDeepStrictEqual(toJSON(parseTOML(content)), toJSON(expected));
  } catch {
    return false;
  }
}
