/* biome-ignore-all lint/suspicious/noTemplateCurlyInString: JSON and YAML contain variables. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { env, type HubConfig, loadConfig, resolveConfig } from "./index.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "hub mistakes "));
});
afterEach(() => rm(folder, { recursive: true }));

/** Loads a configuration and returns the message of the error, with `#` instead of the path of the file. */
async function messageOf(name: string, text: string, environment: Record<string, string> = {}): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  try {
    await loadConfig(file, { environment });
  } catch (error) {
    expect(error).toMatchObject({ code: "VALIDATION_ERROR", mayHaveRun: false });
    return (error as Error).message.replaceAll(file, "#");
  }
  return "The configuration is valid.";
}

const source = (text: string) => `{ "sources": { "a": ${text} } }`;

describe("mistakes in JSON", () => {
  test.each([
    // Text that is not JSON.
    ["", "#:1:1: It is not valid JSON: value expected."],
    ['{ "serve": { "port": 1 } oops }', "#:1:26: It is not valid JSON: invalid symbol."],
    ['{ "serve": { "host": "s3cr3t', "#:1:22: It is not valid JSON: unexpected end of string."],
    ['{\n  "serve": {},\n  "serve": {}\n}', '#:3:3: It is not valid JSON: the key "serve" exists twice.'],
    // Keys.
    ["[]", "#:1:1: The configuration must be an object."],
    ['{\n  "source": {}\n}', '#:2:3: Unknown key "source". Did you mean "sources"?'],
    ['{ "zzz": 1 }', '#:1:3: Unknown key "zzz". Valid keys are $schema, sources, serve, access, rules, history.'],
    ['{ "serve": { "prot": 1 } }', '#:1:14: Unknown key "prot" in "serve". Did you mean "port"?'],
    [
      '{ "__proto__": {} }',
      '#:1:3: Unknown key "__proto__". Valid keys are $schema, sources, serve, access, rules, history.',
    ],
    // Sources.
    ['{ "sources": [] }', '#:1:14: "sources" must be an object.'],
    [source("1"), '#:1:21: "sources.a" must be an object.'],
    [
      source("{}"),
      '#:1:21: "sources.a" must have one of the keys "modules", "openapi", "mcp", "mcpConfig", "nats", "redis", "websocket".',
    ],
    [source('{ "opanapi": "x" }'), '#:1:23: Unknown key "opanapi" in "sources.a". Did you mean "openapi"?'],
    [
      source('{ "modules": "x", "openapi": "y" }'),
      '#:1:21: "sources.a" has the keys "modules" and "openapi". Remove all but one of them.',
    ],
    [source('{ "modules": 1 }'), '#:1:34: "sources.a.modules" must be a string.'],
    [source('{ "modules": "x", "include": "y" }'), '#:1:50: "sources.a.include" must be a list of strings.'],
    [source('{ "modules": "x", "include": [1] }'), '#:1:51: "sources.a.include[0]" must be a string.'],
    [
      source('{ "modules": "x", "namespace": "a.b" }'),
      '#:1:52: "sources.a.namespace" must be 1 to 64 characters without dots or control characters.',
    ],
    [
      source('{ "modules": "x", "accessControl": {} }'),
      '#:1:56: "sources.a.accessControl" must have the key "requiredScopes".',
    ],
    [
      source('{ "openapi": "x", "auth": { "type": "baerer" } }'),
      '#:1:57: "sources.a.auth.type" must be "bearer" or "apiKey" or "basic" or "oauth2". Did you mean "bearer"?',
    ],
    [source('{ "openapi": "x", "auth": "s3cr3t" }'), '#:1:47: "sources.a.auth" must be an object.'],
    [
      source('{ "openapi": "x", "auth": { "token": "s3cr3t" } }'),
      '#:1:47: "sources.a.auth" must have one of the keys "type", "schemes".',
    ],
    [source('{ "openapi": "x", "retry": 3 }'), '#:1:48: "sources.a.retry" must be true or false or an object.'],
    [
      source('{ "openapi": "x", "retry": { "retires": 3 } }'),
      '#:1:50: Unknown key "retires" in "sources.a.retry". Did you mean "retries"?',
    ],
    [source('{ "openapi": "x", "timeout": 0 }'), '#:1:50: "sources.a.timeout" must be a number above 0.'],
    [source('{ "openapi": "x", "headers": { "a": 1 } }'), '#:1:57: "sources.a.headers.a" must be a string.'],
    [
      source('{ "openapi": "x", "pagination": { "kind": "cursr" } }'),
      '#:1:63: "sources.a.pagination.kind" must be "link" or "cursor" or "offset" or "page". Did you mean "cursor"?',
    ],
    [
      source('{ "openapi": "x", "pagination": { "kind": "page" } }'),
      '#:1:53: "sources.a.pagination" must have the key "parameter".',
    ],
    [
      source('{ "openapi": "x", "limits": { "operation": 1 } }'),
      '#:1:51: Unknown key "operation" in "sources.a.limits". Did you mean "operations"?',
    ],
    [source('{ "mcp": {} }'), '#:1:30: "sources.a.mcp" has neither "command" nor "url". Set one of them.'],
    [
      source('{ "mcp": { "command": "x", "url": "y" } }'),
      '#:1:30: "sources.a.mcp" has both "command" and "url". Set one of them.',
    ],
    [source('{ "mcp": { "command": ["npx", "s3cr3t"] } }'), '#:1:43: "sources.a.mcp.command" must be a string.'],
    [
      source('{ "mcp": { "url": "y", "auth": { "type": "oauth", "token": "s3cr3t" } } }'),
      '#:1:62: "sources.a.mcp.auth.type" must be "bearer" or "clientCredentials" or "provider".',
    ],
    [
      source('{ "mcp": { "url": "y", "auth": { "type": "bearer" } } }'),
      '#:1:52: "sources.a.mcp.auth" must have the key "token".',
    ],
    [
      source('{ "mcp": { "url": "y", "auth": { "type": "bearer", "token": "" } } }'),
      '#:1:81: "sources.a.mcp.auth.token" must be a string that is not empty.',
    ],
    [source('{ "mcpConfig": "~/.cursor/mcp.json" }'), '#:1:36: "sources.a.mcpConfig" must be an object.'],
    [
      source('{ "nats": { "servers": "127.0.0.1" } }'),
      '#:1:31: "sources.a.nats" is a bus, on which calls have to be signed. Set "sign" to a key that its peers share, or "trustedBus" to true if every program on the bus may act as any caller.',
    ],
    [
      source('{ "redis": { "trustedBus": false } }'),
      '#:1:32: "sources.a.redis" is a bus, on which calls have to be signed. Set "sign" to a key that its peers share, or "trustedBus" to true if every program on the bus may act as any caller.',
    ],
    [
      source('{ "nats": { "servers": 1, "trustedBus": true } }'),
      '#:1:44: "sources.a.nats.servers" must be a string or a list of strings.',
    ],
    [source('{ "websocket": {} }'), '#:1:36: "sources.a.websocket" must have the key "url".'],
    [
      '{ "sources": { "a.b": { "modules": "x" } } }',
      '#:1:16: The name of the source "a.b" must have 1 to 64 characters and no dots or control characters.',
    ],
    [
      '{ "sources": { "hub": { "modules": "x" } } }',
      '#:1:16: The source "hub" needs another name: "hub" is the namespace of the hub\'s own operations.',
    ],
    // Serving, access, rules, history.
    [
      '{ "sources": { "calls": { "openapi": "x" } }, "serve": {} }',
      '#:1:16: The operations of the source "calls" cannot be reached over HTTP: the hub serves WebSockets at "/calls". Set "namespace" to another name.',
    ],
    [
      '{ "sources": { "a": { "modules": "x", "namespace": "mcp" } }, "serve": { "websocket": false } }',
      '#:1:16: The operations of the source "a" cannot be reached over HTTP: the hub serves MCP at "/mcp". Set "namespace" to another name.',
    ],
    ['{ "serve": { "port": 70000 } }', '#:1:22: "serve.port" must be a port: an integer from 0 to 65535.'],
    ['{ "serve": { "port": "4000" } }', '#:1:22: "serve.port" must be a port: an integer from 0 to 65535.'],
    ['{ "serve": { "http": "yes" } }', '#:1:22: "serve.http" must be true or false.'],
    [
      '{ "serve": { "console": true } }',
      '#:1:25: "serve.console" must be false, because the console does not exist yet.',
    ],
    [
      '{ "serve": { "http": false, "mcp": false, "websocket": false } }',
      '#:1:12: "serve" disables http, mcp and websocket. Enable one of them, or remove "serve".',
    ],
    [
      '{ "access": { "tokens": [{ "hash": "s3cr3t", "identity": { "id": "ada", "scopes": [] } }] } }',
      '#:1:36: "access.tokens[0].hash" must be "sha256:" and 64 hexadecimal digits. Create a token and its hash with "operations token".',
    ],
    [
      '{ "access": { "tokens": [{}] } }',
      '#:1:26: "access.tokens[0]" must have the key "hash".\n#:1:26: "access.tokens[0]" must have the key "identity".',
    ],
    ['{ "rules": [{ "match": "a.*" }] }', '#:1:13: "rules[0]" has no effect. Set "requiredScopes" or "deny": true.'],
    [
      '{ "rules": [{ "match": "a", "deny": true, "type": "mutaton" }] }',
      '#:1:51: "rules[0].type" must be "query" or "mutation" or "subscription". Did you mean "mutation"?',
    ],
    ['{ "history": { "keep": "a week" } }', '#:1:24: "history.keep" must be a duration such as "7d", "12h" or "30m".'],
    ['{ "history": { "limit": 0 } }', '#:1:25: "history.limit" must be an integer of 1 or more.'],
    ['{ "history": { "payloads": true } }', '#:1:28: "history.payloads" must be a list of strings.'],
  ])("%s", async (text, message) => {
    expect(await messageOf("operations.config.json", text)).toBe(message);
  });

  test("all mistakes are reported, the first twenty with their text", async () => {
    const rules = Array.from({ length: 23 }, () => '{ "match": 1 }').join(",\n");

    const message = await messageOf("operations.config.json", `{ "rules": [\n${rules}\n] }`);

    const lines = message.split("\n");
    expect(lines[0]).toBe('#:2:12: "rules[0].match" must be a string.');
    expect(lines[19]).toBe('#:21:12: "rules[19].match" must be a string.');
    expect(lines[20]).toBe("There are 3 more mistakes.");
    expect(lines).toHaveLength(21);
  });

  test("the details of the error have the positions", async () => {
    const file = join(folder, "operations.config.json");
    await writeFile(file, '{\r\n  "serve": { "prot": 1 } }');

    await expect(loadConfig(file)).rejects.toMatchObject({
      details: {
        file,
        errors: [{ path: "serve.prot", message: expect.stringMatching("Did you mean"), line: 2, column: 14 }],
        total: 1,
      },
    });
  });
});

describe("mistakes in YAML", () => {
  test.each([
    ["serve:\n  port: 1\n port: s3cr3t", "#:3:1: It is not valid YAML: bad indent."],
    ["serve: { token: s3cr3t", "#:1:23: It is not valid YAML: bad indent."],
    ["serve:\n  port: 1\n  port: 2", "#:3:3: It is not valid YAML: duplicate key."],
    ["serve: *s3cr3t", "#: It is not valid YAML: too many or unresolved aliases."],
    ["serve: !s3cr3t 1", "#:1:8: It is not valid YAML: tag resolve failed."],
    ["", "#: The configuration must be an object."],
    ["sources:\n  a:\n    opanapi: x", '#:3:5: Unknown key "opanapi" in "sources.a". Did you mean "openapi"?'],
    ["serve:\n  port: many", '#:2:9: "serve.port" must be a port: an integer from 0 to 65535.'],
    ["rules:\n  - match: a\n    deny: yes please", '#:3:11: "rules[0].deny" must be true or false.'],
    [
      "serve: &serve\n  prot: 1\nhistory: *serve",
      '#:2:3: Unknown key "prot" in "serve". Did you mean "port"?\n#:2:3: Unknown key "prot" in "history". Valid keys are file, keep, limit, payloads.',
    ],
  ])("%s", async (text, message) => {
    expect(await messageOf("operations.config.yaml", text)).toBe(message);
  });
});

describe("mistakes in programs", () => {
  test.each([
    [
      "an unknown key",
      'export default {\n  sources: { a: { opanapi: "x" } },\n};',
      '#:2:19: Unknown key "opanapi" in "sources.a". Did you mean "openapi"?',
    ],
    [
      "a key in quotes, after comments and strings with braces",
      'export default {\n  // sources of "all" {\n  "sources": { a: { modules: "}{" /* } */ }, "b": { \'modules\': 1 } },\n};',
      '#:3:53: "sources.b.modules" must be a string.',
    ],
    [
      "an element of an array",
      'export default {\n  rules: [\n    { match: "a", deny: true },\n    { match: 1 },\n  ],\n};',
      '#:4:7: "rules[1].match" must be a string.',
    ],
    [
      "a shorthand",
      "const serve = { port: -1 };\nexport default {\n  serve };",
      '#:1:17: "serve.port" must be a port: an integer from 0 to 65535.',
    ],
    ["a computed value", 'export default Object.fromEntries([["ser" + "ve", 1]]);', '#: "serve" must be an object.'],
    [
      "a missing default export",
      "export const config = {};",
      "#: It has no default export. Write: export default defineConfig({ … })",
    ],
    ["an error", 'throw new Error("Out of order.\\ns3cr3t");', "#: It cannot be run: Out of order."],
    ["a missing import", 'import "./missing.mjs";', /^#: It cannot be run: Cannot find module/],
    ["a syntax error", 'export default { serve: "s3cr3t }', /^#: It cannot be run: /],
    [
      "a function in a place where none is allowed",
      "export default { serve: { port() {} } };",
      '#:1:27: "serve.port" must be a port: an integer from 0 to 65535.',
    ],
  ])("%s", async (_, text, message) => {
    const found = await messageOf("operations.config.mjs", text);

    expect(found).toEqual(typeof message === "string" ? message : expect.stringMatching(message));
    expect(found).not.toContain("s3cr3t");
  });
});

describe("mistakes with variables", () => {
  test.each([
    [
      "is not set",
      source('{ "openapi": "x", "auth": { "type": "bearer", "token": "${TOKEN}" } }'),
      '#:1:76: The variable "TOKEN" is not set, and "sources.a.auth.token" uses it. Set it in the environment.',
    ],
    [
      "is a file that does not exist",
      source('{ "mcp": { "url": "https://a.example.com/${file:key.txt}" } }'),
      '#:1:39: The file "key.txt" cannot be read, and "sources.a.mcp.url" uses it. Check that it exists.',
    ],
    [
      "has another form",
      source('{ "mcp": { "command": "x", "env": { "A": "${A:-s3cr3t}" } } }'),
      '#:1:62: "sources.a.mcp.env.A" contains an invalid variable. Write ${NAME} or ${file:path}.',
    ],
    [
      "is in a secret that is not expanded",
      source('{ "nats": { "sign": "${KEY}" } }'),
      '#:1:41: "sources.a.nats.sign" contains a variable, which is only expanded in "auth", "headers", "env", "url". Use env() in operations.config.ts instead.',
    ],
  ])("a variable that %s", async (_, text, message) => {
    expect(await messageOf("operations.config.json", text)).toBe(message);
  });

  test("a variable of a program is not set", async () => {
    const text = `import { env } from "${new URL("config.ts", import.meta.url).href}";
export default { sources: { a: { openapi: "x",
  headers: { "x-key": env("TOKEN") } } } };`;

    expect(await messageOf("operations.config.mjs", text)).toBe(
      '#:3:14: The variable "TOKEN" is not set, and "sources.a.headers.x-key" uses it. Set it in the environment.',
    );
  });

  test("a configuration that is not in a file is reported without place", () => {
    expect(() =>
      resolveConfig({ sources: { a: { openapi: "x", baseUrl: env("BASE") } } }, { environment: {} }),
    ).toThrow(
      expect.objectContaining({
        message: 'The variable "BASE" is not set, and "sources.a.baseUrl" uses it. Set it in the environment.',
      }),
    );
  });
});

test("no message contains a value, whichever part of a configuration is invalid", async () => {
  const secret = "s3cr3t";
  const valid = {
    $schema: secret,
    sources: {
      a: { modules: secret, include: [secret], rename: { "a.b": secret }, accessControl: { requiredScopes: [secret] } },
      b: { openapi: secret, headers: { a: secret }, auth: { type: "bearer", token: secret }, retry: { retries: 1 } },
      c: { mcp: { command: secret, args: [secret], env: { A: secret }, pinned: { a: secret } } },
      d: { mcp: { url: secret, auth: { type: "clientCredentials", clientId: secret, clientSecret: secret } } },
      e: { nats: { servers: [secret], sign: secret, connect: { pass: secret } } },
      f: { redis: { url: secret, sign: secret, prefix: secret } },
      g: { websocket: { url: secret, auth: { type: "bearer", token: secret } } },
      h: { mcpConfig: { file: secret, servers: [secret] } },
    },
    serve: { host: secret, port: 1 },
    access: { tokens: [{ hash: `sha256:${"0".repeat(64)}`, identity: { id: secret, scopes: [secret] } }] },
    rules: [{ match: secret, requiredScopes: [secret] }],
    history: { file: secret, keep: "7d", payloads: [secret] },
  };
  /** Returns copies of a value in which one part, at any depth, is replaced by something else. */
  function mutate(value: unknown): unknown[] {
    const here = [secret, 1, null, [secret], [[secret]], { [`x${secret.length}`]: secret }];
    if (typeof value !== "object" || value === null) return here;
    const inside = Object.entries(value).flatMap(([key, member]) =>
      mutate(member).map((part) => Object.assign(Array.isArray(value) ? [...value] : { ...value }, { [key]: part })),
    );
    return [...here, ...inside];
  }
  const file = join(folder, "operations.config.json");
  await writeFile(file, JSON.stringify(valid));
  const { config } = await loadConfig(file);
  const refused: string[] = [];

  for (const mutated of mutate(valid)) {
    try {
      resolveConfig(mutated as HubConfig, { file, folder });
    } catch (error) {
      refused.push(`${(error as Error).message} ${JSON.stringify(error)}`);
    }
  }

  expect(config.serve?.port).toBe(1);
  expect(refused.length).toBeGreaterThan(200);
  expect(refused.filter((message) => message.includes(secret))).toEqual([]);
});

test("a syntax error in TypeScript is reported without its line", async () => {
  const message = await messageOf("operations.config.ts", 'export default { serve: "s3cr3t } as const;');

  expect(message).toMatch(/^#: It cannot be run: /);
  expect(message).not.toContain("s3cr3t");
});

test.each([
  [
    "a missing file",
    "missing.json",
    /^The configuration ".*missing\.json" cannot be read: ENOENT.* or create one with "operations init"\.$/,
  ],
  ["another format", "config.ini", /^".*config\.ini" is not a configuration\. Its name must end with /],
])("%s", async (_, name, message) => {
  await expect(loadConfig(join(folder, name))).rejects.toMatchObject({
    code: "VALIDATION_ERROR",
    message: expect.stringMatching(message),
  });
});
