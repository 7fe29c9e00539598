import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
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
        "args": ["-y", "@scope/server", "--root", "\${workspaceFolder}/src", "\${userHome}"],
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
        args: ["-y", "@scope/server", "--root", `${cwd}/src`, "/home/ada"],
        env: { TOKEN: "s3cr3t", OTHER: "s3cr3t", MODE: "fast", LEVEL: "3" },
        cwd,
      },
      remote: { url: "https://api.example.com/mcp", headers: { Authorization: "Bearer s3cr3t" } },
      old: { url: "https://old.example.com/sse", transport: "sse" },
    },
    inputs: [],
    skipped: [],
    warnings: [],
    unused: {},
  });
});

test("reads the servers and inputs of a VS Code file", async () => {
  const document = {
    inputs: [
      { type: "promptString", id: "key", description: "API key", password: true },
      { type: "pickString", id: "mode", options: ["a", { label: "B", value: "b" }], default: "a" },
    ],
    servers: {
      local: {
        type: "stdio",
        command: "node",
        args: [`\${workspaceFolderBasename}`, `\${input:mode}`, `\${UNPREFIXED}`, `\${env:EMPTY}`],
        cwd: `\${workspaceFolder}`,
        env: { KEY: `\${input:key}`, GONE: null },
      },
    },
  };

  const asked = await load(document);
  const answered = await load(document, { ...environment, OPERATIONS_INPUT_KEY: "s3cr3t" });

  expect(asked.inputs).toEqual([
    { id: "key", description: "API key", password: true },
    { id: "mode", password: false, default: "a", options: ["a", "b"] },
  ]);
  expect(asked).toMatchObject({
    servers: {},
    skipped: [
      {
        server: "local",
        where: "servers.local.env.KEY",
        reason: 'the input "key" is not set. Set the variable OPERATIONS_INPUT_KEY.',
      },
    ],
  });
  expect(answered.servers).toEqual({
    local: { command: "node", args: [basename(cwd), "a", `\${UNPREFIXED}`, ""], cwd, env: { KEY: "s3cr3t" } },
  });
});

test("reads settings of VS Code and the field names of other programs", async () => {
  const { servers } = await load({
    mcp: { servers: { a: { url: "https://a.example.com" } } },
    mcpServers: {
      b: { serverUrl: "https://b.example.com" },
      c: { httpUrl: "https://c.example.com", includeTools: ["x"] },
    },
  });

  expect(servers).toEqual({
    a: { url: "https://a.example.com" },
    b: { url: "https://b.example.com" },
    c: { url: "https://c.example.com", tools: { include: ["x"] } },
  });
});

test("a file can set fields of MCPClientConfig", async () => {
  const own = {
    protocol: "legacy",
    trustAnnotations: true,
    pinned: true,
    restart: { limit: 1 },
    tools: { exclude: ["rm*"] },
  };
  const { servers } = await load({
    mcpServers: {
      a: { command: "a", inheritEnv: ["PATH"], ...own },
      b: { url: "https://b.example.com", auth: { type: "bearer", token: `\${GITHUB_TOKEN}` } },
    },
  });

  expect(servers).toEqual({
    a: { command: "a", inheritEnv: ["PATH"], ...own, cwd },
    b: { url: "https://b.example.com", auth: { type: "bearer", token: "s3cr3t" } },
  });
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
      type: { type: "carrier-pigeon", url },
      auth: { url, auth: { type: "bearer" } },
      header: { url, env_http_headers: { a: ["s3cr3t"] } },
      names: { command: "a", env_vars: "s3cr3t" },
      seconds: { command: "a", tool_timeout_sec: "s3cr3t" },
      tools: { command: "a", includeTools: ["b", ["s3cr3t"]] },
      own: { command: "a", restart: "s3cr3t" },
      off: { command: "a", disabled: true },
      file: { command: "a", envFile: "s3cr3t.env" },
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
      reason: `only VS Code knows the value of "\${config:my.key}". Use \${env:NAME} instead.`,
    },
    {
      where: "mcpServers.editor.headers.a",
      reason: `only VS Code knows the value of "\${command:sign.in}". Use \${env:NAME} instead.`,
    },
    { where: "mcpServers.args.args", reason: "it must be a list of strings." },
    { where: "mcpServers.arg.args[0]", reason: "it must be a string." },
    { where: "mcpServers.command.command", reason: "it must be a string that is not empty." },
    { where: "mcpServers.url.url", reason: "it must begin with http:// or https://." },
    { where: "mcpServers.socket.url", reason: "it must begin with http:// or https://." },
    { where: "mcpServers.type.type", reason: 'it must be "stdio", "http" or "sse".' },
    { where: "mcpServers.auth.auth", reason: 'it must have the key "token".' },
    { where: "mcpServers.header.env_http_headers", reason: "it must be a string." },
    { where: "mcpServers.names.env_vars", reason: "it must be an array of names." },
    { where: "mcpServers.seconds.tool_timeout_sec", reason: "it must be a number above 0." },
    { where: "mcpServers.tools.includeTools", reason: "it must be a string." },
    { where: "mcpServers.own.restart", reason: "it must be true or false or an object." },
    { where: "mcpServers.off", reason: "it is disabled." },
    { where: "mcpServers.file.envFile", reason: "the file cannot be read. Check that it exists and is a file." },
    { where: "mcpServers.text", reason: "it must be an object." },
    { where: "mcpServers.constructor.command", reason: "it must be a string that is not empty." },
    { where: 'mcpServers["two words"]', reason: 'it must have either "command" or "url".' },
  ]);
  expect(JSON.stringify(file)).not.toContain("s3cr3t");
});

test("fields without effect are reported and kept", async () => {
  const entry = { command: "a", autoApprove: ["x"], commnad: "b", zzz: { s3cr3t: 1 } };

  const { warnings, unused } = await load({ mcpServers: { a: entry } });

  expect(warnings).toEqual([
    { server: "a", where: "mcpServers.a.autoApprove", reason: "this field has no effect here." },
    { server: "a", where: "mcpServers.a.commnad", reason: 'this field is not known. Did you mean "command"?' },
    { server: "a", where: "mcpServers.a.zzz", reason: "this field is not known." },
  ]);
  expect(unused).toEqual({ a: { autoApprove: ["x"], commnad: "b", zzz: { s3cr3t: 1 } } });
});

test("servers of single projects of Claude Code are reported", async () => {
  const { servers, warnings } = await load({
    mcpServers: {},
    projects: {
      "/srv/shop": { mcpServers: { a: { command: "a" } } },
      "/srv/none": { mcpServers: {} },
      "/srv/other": {},
    },
  });

  expect(servers).toEqual({});
  expect(warnings).toEqual([
    {
      server: "a",
      where: 'projects["/srv/shop"].mcpServers.a',
      reason: 'servers of single projects are not read. Copy it to "mcpServers".',
    },
  ]);
});

test("only the inputs that the read servers use are requested", async () => {
  const inputs = ["of-a", "of-b", "unused"].map((id) => ({ id }));
  const servers = {
    a: { command: "a", env: { A: `\${input:of-a}` } },
    b: { command: "b", args: [`-k\${input:of-b}`] },
  };
  await writeFile(join(cwd, "inputs.json"), JSON.stringify({ inputs, servers }));

  const all = await loadMCPConfig(join(cwd, "inputs.json"), { environment: {} });
  const one = await loadMCPConfig(join(cwd, "inputs.json"), { environment: {}, servers: ["b"] });

  expect(all.inputs.map(({ id }) => id)).toEqual(["of-a", "of-b"]);
  expect(one.inputs.map(({ id }) => id)).toEqual(["of-b"]);
});

test("values of inputs come from the environment or else from the file", async () => {
  const { servers } = await load(
    {
      inputs: [
        { id: "a-1", default: "file" },
        { id: "b", default: "file" },
      ],
      servers: { s: { command: "s", args: [`\${input:a-1}`, `\${input:b}`, `\${input:undeclared}`] } },
    },
    { OPERATIONS_INPUT_A_1: "env", OPERATIONS_INPUT_UNDECLARED: "env" },
  );

  expect(servers["s"]?.args).toEqual(["env", "file", "env"]);
});

test("variables of an environment file are read, and env overrides them", async () => {
  await writeFile(join(cwd, ".env"), "# comment\nexport A=1\nB='two words'\nC=\"x\\ny\"\nD = four # rest\r\nE=");

  const { servers } = await load({
    mcpServers: { a: { command: "a", envFile: `\${workspaceFolder}/.env`, env: { A: "own" } } },
  });

  expect(servers["a"]?.env).toEqual({ A: "own", B: "two words", C: "x\ny", D: "four", E: "" });
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
