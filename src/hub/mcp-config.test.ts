import { expect, test } from "vitest";
import { readMCPConfig } from "./mcp-config.ts";

const env = { HOME: "/home/ada", GITHUB_TOKEN: "s3cr3t", EMPTY: "", API_BASE: "https://api.example.com" };
const options = { env, workspaceFolder: "/srv/space", userHome: "/home/ada" };

test("reads the servers of a Claude or Cursor file and expands variables", () => {
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

  const file = readMCPConfig(text, options);

  expect(file).toEqual({
    servers: {
      github: {
        command: "npx",
        args: ["-y", "@scope/server", "--root", "/srv/space/src", "/home/ada"],
        env: { TOKEN: "s3cr3t", OTHER: "s3cr3t", MODE: "fast", LEVEL: "3" },
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

test("reads the servers and inputs of a VS Code file", () => {
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

  const asked = readMCPConfig(document, options);
  const answered = readMCPConfig(document, { ...options, inputs: { key: "s3cr3t" } });

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
    local: { command: "node", args: ["space", "a", `\${UNPREFIXED}`, ""], cwd: "/srv/space", env: { KEY: "s3cr3t" } },
  });
});

test("reads settings of VS Code and the field names of other programs", () => {
  const { servers } = readMCPConfig({
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

test("a file can set fields of MCPClientConfig", () => {
  const own = {
    protocol: "legacy",
    trustAnnotations: true,
    pinned: true,
    restart: { limit: 1 },
    tools: { exclude: ["rm*"] },
  };
  const { servers } = readMCPConfig(
    {
      mcpServers: {
        a: { command: "a", inheritEnv: ["PATH"], ...own },
        b: { url: "https://b.example.com", auth: { type: "bearer", token: `\${GITHUB_TOKEN}` } },
      },
    },
    options,
  );

  expect(servers).toEqual({
    a: { command: "a", inheritEnv: ["PATH"], ...own },
    b: { url: "https://b.example.com", auth: { type: "bearer", token: "s3cr3t" } },
  });
});

test("variables are expanded once: their values are not expanded again", () => {
  const { servers } = readMCPConfig(
    { mcpServers: { a: { command: "a", args: [`\${NESTED}`, "$HOME", `\${}`, `\${a b}`, `\${EMPTY:-none}`] } } },
    { env: { ...env, NESTED: `\${GITHUB_TOKEN}` } },
  );

  expect(servers["a"]?.args).toEqual([`\${GITHUB_TOKEN}`, "$HOME", `\${}`, `\${a b}`, "none"]);
});

test("an invalid server is skipped with server, field and reason, and the others are read", () => {
  const file = readMCPConfig(
    {
      mcpServers: {
        good: { command: "good" },
        none: {},
        both: { command: "a", url: "https://a.example.com" },
        unset: { command: "a", env: { TOKEN: `\${NOT_SET_AT_ALL}` } },
        args: { command: "a", args: "-x s3cr3t" },
        arg: { command: "a", args: [{ s3cr3t: 1 }] },
        command: { command: ["s3cr3t"] },
        url: { url: "s3cr3t" },
        socket: { url: "unix:///tmp/s3cr3t.sock" },
        type: { type: "carrier-pigeon", url: "https://a.example.com" },
        auth: { url: "https://a.example.com", auth: { type: "bearer", s3cr3t: "x" } },
        off: { command: "a", disabled: true },
        file: { command: "a", envFile: ".env" },
        text: "s3cr3t",
        constructor: { command: 1 },
      },
    },
    options,
  );

  expect(file.servers).toEqual({ good: { command: "good" } });
  expect(file.skipped.map(({ where, reason }) => ({ where, reason }))).toEqual([
    { where: "mcpServers.none", reason: 'it has neither "command" nor "url".' },
    { where: "mcpServers.both", reason: 'it has both "command" and "url".' },
    { where: "mcpServers.unset.env.TOKEN", reason: "the variable NOT_SET_AT_ALL is not set." },
    { where: "mcpServers.args.args", reason: "it must be an array of strings." },
    { where: "mcpServers.arg.args[0]", reason: "it must be a string." },
    { where: "mcpServers.command.command", reason: "it must be a string." },
    { where: "mcpServers.url.url", reason: "it is not a URL." },
    { where: "mcpServers.socket.url", reason: "it must begin with http:// or https://." },
    { where: "mcpServers.type.type", reason: 'it must be "stdio", "http" or "sse".' },
    { where: "mcpServers.auth.auth", reason: expect.stringContaining('"type": "bearer"') },
    { where: "mcpServers.off", reason: "it is disabled." },
    { where: "mcpServers.file.envFile", reason: "it requires the option readFile of readMCPConfig()." },
    { where: "mcpServers.text", reason: "it must be an object." },
    { where: "mcpServers.constructor.command", reason: "it must be a string." },
  ]);
  expect(JSON.stringify(file)).not.toContain("s3cr3t");
});

test("fields without effect are reported and kept", () => {
  const entry = { command: "a", autoApprove: ["x"], commnad: "b", zzz: { s3cr3t: 1 } };

  const { warnings, unused } = readMCPConfig({ mcpServers: { a: entry } });

  expect(warnings).toEqual([
    { server: "a", where: "mcpServers.a.autoApprove", reason: "this field has no effect here." },
    { server: "a", where: "mcpServers.a.commnad", reason: 'this field is not known. Did you mean "command"?' },
    { server: "a", where: "mcpServers.a.zzz", reason: "this field is not known." },
  ]);
  expect(unused).toEqual({ a: { autoApprove: ["x"], commnad: "b", zzz: { s3cr3t: 1 } } });
});

test("servers of single projects of Claude Code are reported", () => {
  const { servers, warnings } = readMCPConfig({
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

test("values of inputs come from the option, the environment or the file, in this order", () => {
  const document = {
    inputs: [
      { id: "a-1", default: "file" },
      { id: "b", default: "file" },
      { id: "c", default: "file" },
    ],
    servers: { s: { command: "s", args: [`\${input:a-1}`, `\${input:b}`, `\${input:c}`, `\${input:undeclared}`] } },
  };
  const inputs = { OPERATIONS_INPUT_A_1: "env", OPERATIONS_INPUT_B: "env", OPERATIONS_INPUT_UNDECLARED: "env" };

  const { servers } = readMCPConfig(document, { env: inputs, inputs: { "a-1": "option" } });

  expect(servers["s"]?.args).toEqual(["option", "env", "file", "env"]);
});

test("variables of an environment file are read, and env overrides them", () => {
  const files: Record<string, string> = {
    "/srv/space/.env": "# comment\nexport A=1\nB='two words'\nC=\"x\\ny\"\nD = four # rest\r\nE=",
  };
  const { servers } = readMCPConfig(
    { mcpServers: { a: { command: "a", envFile: `\${workspaceFolder}/.env`, env: { A: "own" } } } },
    { ...options, readFile: (path) => files[path]! },
  );

  expect(servers["a"]?.env).toEqual({ A: "own", B: "two words", C: "x\ny", D: "four", E: "" });
});

test("the first of two servers with the same name is read", () => {
  const file = readMCPConfig({ mcpServers: { a: { command: "first" } }, servers: { a: { command: "second" } } });

  expect(file.servers).toEqual({ a: { command: "first" } });
  expect(file.skipped).toEqual([{ server: "a", where: "servers.a", reason: "another server has the same name." }]);
});

test("__proto__ is an ordinary name", () => {
  const { servers } = readMCPConfig('{"mcpServers": {"__proto__": {"command": "a", "env": {"__proto__": "x"}}}}');

  expect(Object.keys(servers)).toEqual(["__proto__"]);
  expect(Object.keys(Object.values(servers)[0]!.env!)).toEqual(["__proto__"]);
  expect(({} as { command?: string }).command).toBeUndefined();
});

test.each([
  [
    "malformed JSON",
    '{"mcpServers": {"a": {"env": {"T": "s3cr3t"} oops }}}',
    "It is not valid JSON: invalid symbol at line 1, column 46",
  ],
  ["an array", "[]", "it must be an object"],
  ["a file without servers", "{}", 'it has neither "mcpServers" nor "servers" nor "mcp_servers"'],
  ["an array of servers", '{"mcpServers": []}', '"mcpServers" must be an object with one entry for each server'],
])("%s throws an error without values", (_, text, problem) => {
  expect(() => readMCPConfig(text)).toThrow(
    expect.objectContaining({ code: "VALIDATION_ERROR", message: `The MCP configuration cannot be read: ${problem}.` }),
  );
});
