import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Editor, editors } from "../hub/editors.ts";
import { loadMCPConfig } from "../hub/index.ts";
import { addServer as addToFile, type EditorServer } from "./editors.ts";

const program: EditorServer = { command: "npx", args: ["-y", "@alkdev/operations", "serve", "--stdio"] };
const hub: EditorServer = { url: "http://127.0.0.1:4000/mcp" };
const args = ["-y", "@alkdev/operations", "serve", "--stdio"];
const bearer = (reference: string) => ({ Authorization: `Bearer $${reference}` });

function addServer(editor: Editor, content: string, name: string, server: EditorServer): string {
  return addToFile(editor, editor.serversKey === "mcp_servers" ? "config.toml" : "mcp.json", content, name, server);
}

test.each([
  ["claude", { mcpServers: { operations: { type: "stdio", command: "npx", args } } }],
  ["claude-desktop", { mcpServers: { operations: { command: "npx", args } } }],
  ["cursor", { mcpServers: { operations: { command: "npx", args } } }],
  ["vscode", { servers: { operations: { type: "stdio", command: "npx", args } } }],
  ["windsurf", { mcpServers: { operations: { command: "npx", args } } }],
  ["gemini", { mcpServers: { operations: { command: "npx", args } } }],
])("%s: a program", (name, expected) => {
  const text = addServer(editors[name]!, "", "operations", program);
  expect(JSON.parse(text)).toEqual(expected);
  expect(text).toBe(`${JSON.stringify(expected, null, 2)}\n`);
});

test.each([
  ["claude", { type: "http", url: hub.url, headers: bearer("{OPERATIONS_TOKEN}") }],
  ["cursor", { url: hub.url, headers: bearer("{env:OPERATIONS_TOKEN}") }],
  ["windsurf", { serverUrl: hub.url, headers: bearer("{env:OPERATIONS_TOKEN}") }],
  ["gemini", { httpUrl: hub.url, headers: bearer("{OPERATIONS_TOKEN}") }],
])("%s: a running hub, whose token stays in the environment", (name, entry) => {
  expect(JSON.parse(addServer(editors[name]!, "", "operations", hub))).toEqual({ mcpServers: { operations: entry } });
});

test("vscode: a running hub, whose token the editor requests", () => {
  const vscode = editors["vscode"]!;
  const text = addServer(vscode, "", "operations", hub);
  const headers = bearer("{input:operations-token}");
  const input = { id: "operations-token", type: "promptString", description: "Token of the hub", password: true };
  expect(JSON.parse(text)).toEqual({
    servers: { operations: { type: "http", url: hub.url, headers } },
    inputs: [input],
  });
  expect(addServer(vscode, text, "operations", hub)).toBe(text);
  const other = '{ "inputs": [{ "id": "mine" }] }';
  expect(JSON.parse(addServer(vscode, other, "operations", hub)).inputs).toEqual([{ id: "mine" }, input]);
});

test.each(["cursor", "codex"])("%s: a byte order mark stays", (name) => {
  const [mark, rest] = ["\uFEFF", addServer(editors[name]!, "", "mine", program)];
  expect(addServer(editors[name]!, mark + rest, "operations", program)).toBe(
    mark + addServer(editors[name]!, rest, "operations", program),
  );
});

test("claude-desktop: a running hub is refused, because the file has only programs", () => {
  expect(() => addServer(editors["claude-desktop"]!, "", "operations", hub)).toThrow(
    '"mcp.json" of Claude Desktop was not changed: it cannot contain URLs, only programs.',
  );
});

test("codex: a program and a running hub", () => {
  const codex = editors["codex"]!;
  expect(addServer(codex, "", "operations", program)).toBe(`[mcp_servers.operations]
command = "npx"
args = [ "-y", "@alkdev/operations", "serve", "--stdio" ]
`);
  expect(addServer(codex, "", "operations", hub)).toBe(`[mcp_servers.operations]
url = "http://127.0.0.1:4000/mcp"
bearer_token_env_var = "OPERATIONS_TOKEN"
`);
});

test("comments, order, style of indentation and other servers of a JSON file stay", () => {
  const content = `// My servers
{
	"theme": "dark", // stays
	"mcpServers": {
		/* first */
		"files": { "command": "files", "unknown": true },
	},
}
`;
  expect(addServer(editors["gemini"]!, content, "operations", { command: "npx", args: [] })).toBe(`// My servers
{
	"theme": "dark", // stays
	"mcpServers": {
		/* first */
		"files": {
			"command": "files",
			"unknown": true
		},
		"operations": {
			"command": "npx",
			"args": []
		},
	},
}
`);
});

test("a server of the same name is replaced, and the second time nothing changes", () => {
  const content = '{\r\n  "mcpServers": {\r\n    "operations": { "command": "old" } // note\r\n  }\r\n}\r\n';
  const once = addServer(editors["cursor"]!, content, "operations", { command: "new", args: [] });
  expect(once).toBe(
    '{\r\n  "mcpServers": {\r\n    "operations": {\r\n      "command": "new",\r\n      "args": []\r\n    } // note\r\n  }\r\n}\r\n',
  );
  expect(addServer(editors["cursor"]!, once, "operations", { command: "new", args: [] })).toBe(once);
});

test("comments and other tables of a TOML file stay, and the old table is replaced", () => {
  const codex = editors["codex"]!;
  const content = `# My settings
model = "o9" # stays

[mcp_servers.operations]
# How it starts
command = "old"

[mcp_servers.operations.env]
KEY = "x"

# My files
[mcp_servers.files] # mine
command = "files"
`;
  const once = addServer(codex, content, "operations", { command: "new", args: [] });
  expect(once).toBe(`# My settings
model = "o9" # stays

# How it starts
# My files
[mcp_servers.files] # mine
command = "files"

[mcp_servers.operations]
command = "new"
args = []
`);
  expect(addServer(codex, once, "operations", { command: "new", args: [] })).toBe(once);
});

test.each([
  ["cursor", "{ mcpServers", "mcp.json:1:3: The configuration is not valid JSON: invalid symbol."],
  ["cursor", "[]", 'its content or "mcpServers" is not an object'],
  ["cursor", '{ "mcpServers": [] }', 'its content or "mcpServers" is not an object'],
  ["codex", "model =", "config.toml:1:8: The configuration is not valid TOML."],
  ["codex", "mcp_servers = 1", 'its content or "mcp_servers" is not an object'],
  [
    "codex",
    'mcp_servers.operations.command = "old"',
    'the table of the server "operations" is written in a form that cannot be replaced',
  ],
  [
    "codex",
    'note = """\n[mcp_servers.operations]\nnot a table\n"""',
    'the table of the server "operations" is written in a form that cannot be replaced',
  ],
])("a file that cannot be edited safely is refused: %s %s", (name, content, problem) => {
  expect(() => addServer(editors[name]!, content, "operations", program)).toThrow(problem);
});

test("a server name is data", () => {
  const text = addServer(editors["cursor"]!, "{}", "__proto__", { command: "x", args: [] });
  expect(Object.keys(JSON.parse(text).mcpServers)).toEqual(["__proto__"]);
});

test.each(Object.entries(editors))("%s: a hub can read what was written", async (name, editor) => {
  const folder = await mkdtemp(join(tmpdir(), "editors "));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, editor.projectFile ?? editor.userFile[1]);
  const cwd = editor.projectFile === undefined ? dirname(file) : folder;
  const started = addToFile(editor, file, "", "started", program);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, editor.toRemote === undefined ? started : addToFile(editor, file, started, "running", hub));

  const { servers, skipped, warnings } = await loadMCPConfig(file, {
    environment: { OPERATIONS_TOKEN: "s3cr3t", OPERATIONS_INPUT_OPERATIONS_TOKEN: "s3cr3t" },
  });

  const token = { headers: { Authorization: "Bearer s3cr3t" } };
  const running = { ...hub, ...(name === "codex" ? { auth: { type: "bearer", token: "s3cr3t" } } : token) };
  expect({ servers, skipped, warnings }).toEqual({
    servers: { started: { command: "npx", args, cwd }, ...(editor.toRemote && { running }) },
    skipped: [],
    warnings: [],
  });
});
