import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadMCPConfig } from "./index.ts";

const environment = { HOME: "/home/ada", GITHUB_TOKEN: "s3cr3t", EMPTY: "", API_BASE: "https://api.example.com" };

let cwd: string;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), "editor files "));
});
afterEach(() => rm(cwd, { recursive: true }));

async function load(content: string | object, variables: Record<string, string> = environment) {
  const file = join(cwd, "mcp.json");
  await writeFile(file, typeof content === "string" ? content : JSON.stringify(content));
  return loadMCPConfig(file, { environment: variables });
}

test("reads the servers of a Claude or Cursor file and expands variables", async () => {
  const text = `{
    // for all of us
    "mcpServers": {
      "github": {
        "command": "npx",
        "args": ["-y", "@scope/server", "--root", "\${workspaceFolder}/src"],
        "env": { "TOKEN": "\${GITHUB_TOKEN}", "OTHER": "\${env:GITHUB_TOKEN}", "MODE": "\${MODE:-fast}", "LEVEL": 3 },
      },
      "remote": {
        "type": "http",
        "url": "\${API_BASE:-https://localhost}/mcp",
        "headers": { "Authorization": "Bearer \${GITHUB_TOKEN}" },
      },
      "old": { "type": "sse", "url": "https://old.example.com/sse" },
    },
  }`;

  const file = await load(text);

  expect(file).toEqual({
    servers: {
      github: {
        command: "npx",
        args: ["-y", "@scope/server", "--root", `${cwd}/src`],
        env: { TOKEN: "s3cr3t", OTHER: "s3cr3t", MODE: "fast", LEVEL: "3" },
        cwd,
      },
      remote: { url: "https://api.example.com/mcp", headers: { Authorization: "Bearer s3cr3t" } },
      old: { url: "https://old.example.com/sse" },
    },
    skipped: [],
    warnings: [],
  });
});

test("reads all properties with servers, and the field names of other programs", async () => {
  const { servers } = await load({
    servers: { a: { url: "https://a.example.com" } },
    mcpServers: {
      b: { serverUrl: "https://b.example.com" },
      c: { httpUrl: "https://c.example.com", http_headers: { a: "b" } },
    },
  });

  expect(servers).toEqual({
    a: { url: "https://a.example.com" },
    b: { url: "https://b.example.com" },
    c: { url: "https://c.example.com", headers: { a: "b" } },
  });
});

test("values of inputs come from the environment", async () => {
  const document = { servers: { s: { command: "s", args: [`\${input:a-1}`] } } };

  const set = await load(document, { OPERATIONS_INPUT_A_1: "value" });
  const unset = await load(document);

  expect(set.servers["s"]?.args).toEqual(["value"]);
  expect(unset.skipped).toMatchObject([{ reason: "the variable OPERATIONS_INPUT_A_1 is not set." }]);
});

test("variables are expanded once: their values are not expanded again", async () => {
  const { servers } = await load(
    { mcpServers: { a: { command: "a", args: [`\${NESTED}`, "$HOME", `\${}`, `\${a b}`, `\${EMPTY:-none}`] } } },
    { ...environment, NESTED: `\${GITHUB_TOKEN}` },
  );

  expect(servers["a"]?.args).toEqual([`\${GITHUB_TOKEN}`, "$HOME", `\${}`, `\${a b}`, "none"]);
});

test("an invalid server is skipped with server, field and reason, and the others are read", async () => {
  const url = "https://a.example.com";
  const file = await load({
    mcpServers: {
      good: { command: "good" },
      none: {},
      both: { command: "a", url },
      unset: { command: "a", env: { TOKEN: `\${NOT_SET_AT_ALL}` } },
      setting: { command: "a", args: [`--key=\${config:my.key}`] },
      editor: { url, headers: { a: `\${command:sign.in}` } },
      args: { command: "a", args: "-x s3cr3t" },
      arg: { command: "a", args: [{ s3cr3t: 1 }] },
      command: { command: ["s3cr3t"] },
      url: { url: "s3cr3t" },
      socket: { url: "unix:///tmp/s3cr3t.sock" },
      off: { command: "a", disabled: true },
      text: "s3cr3t",
      constructor: { command: 1 },
      "two words": {},
    },
  });

  expect(file.servers).toEqual({ good: { command: "good", cwd } });
  expect(file.skipped.map(({ where, reason }) => ({ where, reason }))).toEqual([
    { where: "mcpServers.none", reason: 'it must have either "command" or "url".' },
    { where: "mcpServers.both", reason: 'it must have either "command" or "url".' },
    { where: "mcpServers.unset.env.TOKEN", reason: "the variable NOT_SET_AT_ALL is not set." },
    {
      where: "mcpServers.setting.args[0]",
      reason: `only the editor knows the value of "\${config:my.key}". Use \${env:NAME} instead.`,
    },
    {
      where: "mcpServers.editor.headers.a",
      reason: `only the editor knows the value of "\${command:sign.in}". Use \${env:NAME} instead.`,
    },
    { where: "mcpServers.args.args", reason: "it must be a list of strings." },
    { where: "mcpServers.arg.args[0]", reason: "it must be a string." },
    { where: "mcpServers.command.command", reason: "it must be a string that is not empty." },
    { where: "mcpServers.url.url", reason: "it must begin with http:// or https://." },
    { where: "mcpServers.socket.url", reason: "it must begin with http:// or https://." },
    { where: "mcpServers.off", reason: "it is disabled." },
    { where: "mcpServers.text", reason: "it must be an object." },
    { where: "mcpServers.constructor.command", reason: "it must be a string that is not empty." },
    { where: 'mcpServers["two words"]', reason: 'it must have either "command" or "url".' },
  ]);
  expect(JSON.stringify(file)).not.toContain("s3cr3t");
});

test("fields that are ignored are reported in one warning", async () => {
  const entry = { type: "stdio", command: "a", autoApprove: ["x"], commnad: "b", zzz: { s3cr3t: 1 } };

  const { warnings } = await load({ mcpServers: { a: entry, b: { command: "b", timeout: 1 } } });

  expect(warnings).toEqual([
    { server: "a", where: "mcpServers.a", reason: 'the fields "autoApprove", "commnad", "zzz" are ignored.' },
    { server: "b", where: "mcpServers.b", reason: 'the field "timeout" is ignored.' },
  ]);
});

test("the first of two servers with the same name is read", async () => {
  const file = await load({ mcpServers: { a: { command: "first" } }, servers: { a: { command: "second" } } });

  expect(file.servers).toEqual({ a: { command: "first", cwd } });
  expect(file.skipped).toEqual([{ server: "a", where: "servers.a", reason: "another server has the same name." }]);
});

test("__proto__ is an ordinary name", async () => {
  const { servers } = await load('{"mcpServers": {"__proto__": {"command": "a", "env": {"__proto__": "x"}}}}');

  expect(Object.keys(servers)).toEqual(["__proto__"]);
  expect(Object.keys(Object.values(servers)[0]!.env!)).toEqual(["__proto__"]);
  expect(({} as { command?: string }).command).toBeUndefined();
});

test.each([
  [
    "malformed JSON",
    '{"mcpServers": {"a": {"env": {"T": "s3cr3t"} oops }}}',
    ":1:46: The configuration is not valid JSON: invalid symbol.",
  ],
  ["an array", "[]", ': The configuration must have the key "mcpServers", "servers" or "mcp_servers".'],
  ["a file without servers", "{}", ': The configuration must have the key "mcpServers", "servers" or "mcp_servers".'],
  ["an array of servers", '{"mcpServers": []}', ": The configuration must have an object of servers in mcpServers."],
])("%s throws an error without values", async (_, text, problem) => {
  await expect(load(text)).rejects.toMatchObject({
    code: "VALIDATION_ERROR",
    message: `${join(cwd, "mcp.json")}${problem}`,
  });
});
