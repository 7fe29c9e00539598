import { expect, test } from "vitest";
import { addServer, type EditorServer, EditProblem, editors, formatServer } from "./editors.ts";

const program: EditorServer = { command: "npx", args: ["-y", "@alkdev/operations", "serve", "--stdio"] };
const hub: EditorServer = { url: "http://127.0.0.1:4000/mcp" };
const args = ["-y", "@alkdev/operations", "serve", "--stdio"];
const bearer = (reference: string) => ({ Authorization: `Bearer $${reference}` });

test.each([
  ["claude", { mcpServers: { operations: { type: "stdio", command: "npx", args } } }],
  ["claude-desktop", { mcpServers: { operations: { command: "npx", args } } }],
  ["cursor", { mcpServers: { operations: { command: "npx", args } } }],
  ["vscode", { servers: { operations: { type: "stdio", command: "npx", args } } }],
  ["windsurf", { mcpServers: { operations: { command: "npx", args } } }],
  ["gemini", { mcpServers: { operations: { command: "npx", args } } }],
])("%s: a program", (name, expected) => {
  const text = formatServer(editors[name]!, "operations", program);
  expect(JSON.parse(text)).toEqual(expected);
  expect(text).toBe(`${JSON.stringify(expected, null, 2)}\n`);
});

test.each([
  ["claude", { type: "http", url: hub.url, headers: bearer("{OPERATIONS_TOKEN}") }],
  ["cursor", { url: hub.url, headers: bearer("{env:OPERATIONS_TOKEN}") }],
  ["windsurf", { serverUrl: hub.url, headers: bearer("{env:OPERATIONS_TOKEN}") }],
  ["gemini", { httpUrl: hub.url, headers: bearer("{OPERATIONS_TOKEN}") }],
])("%s: a running hub, whose token stays in the environment", (name, entry) => {
  expect(JSON.parse(formatServer(editors[name]!, "operations", hub))).toEqual({ mcpServers: { operations: entry } });
});

test("vscode: a running hub, whose token the editor requests", () => {
  const vscode = editors["vscode"]!;
  const text = formatServer(vscode, "operations", hub);
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

test("claude-desktop: a running hub is refused, because the file has only programs", () => {
  expect(() => formatServer(editors["claude-desktop"]!, "operations", hub)).toThrow(
    new EditProblem("its file cannot contain URLs, only programs"),
  );
});

test("codex: a program and a running hub", () => {
  const codex = editors["codex"]!;
  expect(formatServer(codex, "operations", program)).toBe(`[mcp_servers.operations]
command = "npx"
args = [ "-y", "@alkdev/operations", "serve", "--stdio" ]
`);
  expect(formatServer(codex, "operations", hub)).toBe(`[mcp_servers.operations]
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
command = "old"

[mcp_servers.operations.env]
KEY = "x"

[mcp_servers.files] # mine
command = "files"
`;
  const once = addServer(codex, content, "operations", { command: "new", args: [] });
  expect(once).toBe(`# My settings
model = "o9" # stays

[mcp_servers.files] # mine
command = "files"

[mcp_servers.operations]
command = "new"
args = []
`);
  expect(addServer(codex, once, "operations", { command: "new", args: [] })).toBe(once);
});

test.each([
  ["cursor", "{ mcpServers", "it is not valid JSON with comments: see line 1"],
  ["cursor", "[]", "it is not an object"],
  ["cursor", '{ "mcpServers": [] }', '"mcpServers" is not an object'],
  ["codex", "model =", "it is not valid TOML"],
  ["codex", "mcp_servers = 1", '"mcp_servers" is not a table'],
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
  expect(() => addServer(editors[name]!, content, "operations", program)).toThrow(new EditProblem(problem));
});

test("a server name is data", () => {
  const text = addServer(editors["cursor"]!, "{}", "__proto__", { command: "x", args: [] });
  expect(Object.keys(JSON.parse(text).mcpServers)).toEqual(["__proto__"]);
});
