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
    ["", "#:1:1: The configuration is not valid JSON: value expected."],
    ['{ "serve": { "port": 1 } oops }', "#:1:26: The configuration is not valid JSON: invalid symbol."],
    ['{ "serve": { "host": "s3cr3t', "#:1:22: The configuration is not valid JSON: unexpected end of string."],
    [
      '{\n  "serve": {},\n  "serve": {}\n}',
      '#:3:3: The configuration is not valid JSON: the key "serve" exists twice.',
    ],
    // Keys.
    ["[]", "#:1:1: The configuration must be an object."],
    ['{\n  "source": {}\n}', '#:2:3: "source" is not a known key. Did you mean "sources"?'],
    [
      '{ "zzz": 1 }',
      '#:1:3: "zzz" is not a known key. Valid keys are $schema, sources, serve, access, rules, history.',
    ],
    ['{ "serve": { "prot": 1 } }', '#:1:14: "serve.prot" is not a known key. Did you mean "port"?'],
    [
      '{ "__proto__": {} }',
      '#:1:3: "__proto__" is not a known key. Valid keys are $schema, sources, serve, access, rules, history.',
    ],
    // Sources.
    ['{ "sources": [] }', '#:1:3: "sources" must be an object.'],
    [source("1"), '#:1:16: "sources.a" must be an object.'],
    [
      source("{}"),
      '#:1:16: "sources.a" must have one of the keys "modules", "openapi", "mcp", "mcpConfig", "nats", "redis", "websocket".',
    ],
    [source('{ "opanapi": "x" }'), '#:1:23: "sources.a.opanapi" is not a known key. Did you mean "openapi"?'],
    [
      source('{ "modules": "x", "openapi": "y" }'),
      '#:1:16: "sources.a" has the keys "modules" and "openapi". Remove all but one of them.',
    ],
    [source('{ "modules": 1 }'), '#:1:23: "sources.a.modules" must be a string.'],
    [source('{ "modules": "x", "include": "y" }'), '#:1:39: "sources.a.include" must be a list of strings.'],
    [source('{ "modules": "x", "include": [1] }'), '#:1:51: "sources.a.include[0]" must be a string.'],
    [
      source('{ "modules": "x", "namespace": "a.b" }'),
      '#:1:39: "sources.a.namespace" must be 1 to 64 characters without dots or control characters.',
    ],
    [
      source('{ "modules": "x", "accessControl": {} }'),
      '#:1:39: "sources.a.accessControl" must have the key "requiredScopes".',
    ],
    [
      source('{ "openapi": "x", "auth": { "type": "baerer" } }'),
      '#:1:49: "sources.a.auth.type" must be "bearer" or "apiKey" or "basic" or "oauth2". Did you mean "bearer"?',
    ],
    [source('{ "openapi": "x", "auth": "s3cr3t" }'), '#:1:39: "sources.a.auth" must be an object.'],
    [
      source('{ "openapi": "x", "auth": { "token": "s3cr3t" } }'),
      '#:1:39: "sources.a.auth" must have one of the keys "type", "schemes".',
    ],
    ...["bearer", "apiKey", "basic", "oauth2"].map((type) => [
      source(`{ "openapi": "x", "auth": { "type": "${type}", "password": "s3cr3t" } }`),
      '#:1:39: "sources.a.auth" has no credentials. Set "token" for bearer and apiKey, "username" and "password" for basic, "tokenUrl" and "clientId" for oauth2.',
    ]),
    [source('{ "openapi": "x", "retry": 3 }'), '#:1:39: "sources.a.retry" must be true or false or an object.'],
    [
      source('{ "openapi": "x", "retry": { "retires": 3 } }'),
      '#:1:50: "sources.a.retry.retires" is not a known key. Did you mean "retries"?',
    ],
    [source('{ "openapi": "x", "timeout": 0 }'), '#:1:39: "sources.a.timeout" must be a number above 0.'],
    [source('{ "openapi": "x", "headers": { "a": 1 } }'), '#:1:52: "sources.a.headers.a" must be a string.'],
    [
      source('{ "openapi": "x", "pagination": { "kind": "cursr" } }'),
      '#:1:55: "sources.a.pagination.kind" must be "link" or "cursor" or "offset" or "page". Did you mean "cursor"?',
    ],
    [
      source('{ "openapi": "x", "pagination": { "kind": "page" } }'),
      '#:1:39: "sources.a.pagination" must have the key "parameter".',
    ],
    [
      source('{ "openapi": "x", "limits": { "operation": 1 } }'),
      '#:1:51: "sources.a.limits.operation" is not a known key. Did you mean "operations"?',
    ],
    [source('{ "mcp": {} }'), '#:1:23: "sources.a.mcp" must have either "command" or "url".'],
    [
      source('{ "mcp": { "command": "x", "url": "y" } }'),
      '#:1:23: "sources.a.mcp" must have either "command" or "url".',
    ],
    [
      source('{ "mcp": { "command": ["npx", "s3cr3t"] } }'),
      '#:1:32: "sources.a.mcp.command" must be a string that is not empty.',
    ],
    [
      source('{ "mcp": { "url": "y", "auth": { "type": "oauth", "token": "s3cr3t" } } }'),
      '#:1:54: "sources.a.mcp.auth.type" must be "bearer" or "clientCredentials" or "provider".',
    ],
    [
      source('{ "mcp": { "url": "y", "auth": { "type": "bearer" } } }'),
      '#:1:44: "sources.a.mcp.auth" must have the key "token".',
    ],
    [
      source('{ "mcp": { "url": "y", "auth": { "type": "bearer", "token": "" } } }'),
      '#:1:72: "sources.a.mcp.auth.token" must be a string that is not empty.',
    ],
    [source('{ "mcpConfig": "~/.cursor/mcp.json" }'), '#:1:23: "sources.a.mcpConfig" must be an object.'],
    [
      source('{ "nats": { "servers": "127.0.0.1" } }'),
      '#:1:23: "sources.a.nats" is a bus, on which calls have to be signed. Set "sign" to a key that its peers share, or "trustedBus" to true if every program on the bus may act as any caller.',
    ],
    [
      source('{ "redis": { "trustedBus": false } }'),
      '#:1:23: "sources.a.redis" is a bus, on which calls have to be signed. Set "sign" to a key that its peers share, or "trustedBus" to true if every program on the bus may act as any caller.',
    ],
    [
      source('{ "nats": { "servers": 1, "trustedBus": true } }'),
      '#:1:33: "sources.a.nats.servers" must be a string or a list of strings.',
    ],
    [source('{ "websocket": {} }'), '#:1:23: "sources.a.websocket" must have the key "url".'],
    [
      '{ "sources": { "a.b": { "modules": "x" } } }',
      '#:1:16: "sources[\\"a.b\\"]" must have a name of 1 to 64 characters without dots or control characters.',
    ],
    [
      '{ "sources": { "hub": { "modules": "x" } } }',
      '#:1:16: "sources.hub" needs another namespace, because the hub itself uses "hub". Set "namespace" to another name.',
    ],
    // Serving, access, rules, history.
    [
      '{ "sources": { "calls": { "openapi": "x" } }, "serve": {} }',
      '#:1:16: "sources.calls" needs another namespace, because the hub itself uses "calls". Set "namespace" to another name.',
    ],
    [
      '{ "sources": { "a": { "modules": "x", "namespace": "mcp" } }, "serve": { "websocket": false } }',
      '#:1:16: "sources.a" needs another namespace, because the hub itself uses "mcp". Set "namespace" to another name.',
    ],
    ['{ "serve": { "port": 70000 } }', '#:1:14: "serve.port" must be a port: an integer from 0 to 65535.'],
    ['{ "serve": { "port": "4000" } }', '#:1:14: "serve.port" must be a port: an integer from 0 to 65535.'],
    ['{ "serve": { "http": "yes" } }', '#:1:14: "serve.http" must be true or false.'],
    [
      '{ "serve": { "http": false, "mcp": false, "websocket": false } }',
      '#:1:3: "serve" disables http, mcp and websocket. Enable one of them, or remove "serve".',
    ],
    [
      '{ "access": { "tokens": [{ "hash": "s3cr3t", "identity": { "id": "ada", "scopes": [] } }] } }',
      '#:1:28: "access.tokens[0].hash" must be "sha256:" and 64 hexadecimal digits. Create a token and its hash with "operations token".',
    ],
    [
      '{ "access": { "tokens": [{}] } }',
      '#:1:26: "access.tokens[0]" must have the key "hash".\n#:1:26: "access.tokens[0]" must have the key "identity".',
    ],
    ['{ "rules": [{ "match": "a.*" }] }', '#:1:13: "rules[0]" has no effect. Set "requiredScopes" or "deny": true.'],
    [
      '{ "rules": [{ "match": "a", "deny": true, "type": "mutaton" }] }',
      '#:1:43: "rules[0].type" must be "query" or "mutation" or "subscription". Did you mean "mutation"?',
    ],
    [
      `{ "access": { "tokens": [${Array(2).fill(`{ "hash": "sha256:${"0".repeat(64)}", "identity": { "id": "a", "scopes": [] } }`)}] } }`,
      '#:1:3: "access" contains a hash twice. Create one token per caller.',
    ],
    ['{ "history": { "keep": "a week" } }', '#:1:16: "history.keep" must be a duration such as "7d", "12h" or "30m".'],
    ['{ "history": { "limit": 0 } }', '#:1:16: "history.limit" must be an integer of 1 or more.'],
    ['{ "history": { "payloads": true } }', '#:1:16: "history.payloads" must be a list of strings.'],
  ])("%s", async (text, message) => {
    expect(await messageOf("operations.config.json", text)).toBe(message);
  });

  test.each(["json", "yaml"])("%s that is nested too deeply", async (extension) => {
    for (const text of ['{"a":'.repeat(100_000), "[".repeat(500)]) {
      const message = "#: The configuration is nested more than 200 levels deep.";
      expect(await messageOf(`operations.config.${extension}`, text)).toBe(message);
    }
  });

  test("all mistakes are reported, the first twenty with their text", async () => {
    const rules = Array.from({ length: 23 }, () => '{ "match": 1 }').join(",\n");

    const message = await messageOf("operations.config.json", `{ "rules": [\n${rules}\n] }`);

    const lines = message.split("\n");
    expect(lines[0]).toBe('#:2:3: "rules[0].match" must be a string that is not empty.');
    expect(lines[19]).toBe('#:21:3: "rules[19].match" must be a string that is not empty.');
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
    ["serve:\n  port: 1\n port: s3cr3t", "#:3:1: The configuration is not valid YAML: bad indent."],
    ["serve: { token: s3cr3t", "#:1:23: The configuration is not valid YAML: bad indent."],
    ["serve:\n  port: 1\n  port: 2", "#:3:3: The configuration is not valid YAML: duplicate key."],
    ["serve: *s3cr3t", "#: The configuration is not valid YAML: too many, unresolved or circular aliases."],
    ["sources: &a { a: *a }", "#: The configuration is not valid YAML: too many, unresolved or circular aliases."],
    ["sources: !!omap\n  - a: { modules: s3cr3t }", '#:1:1: "sources" must be an object.'],
    ["serve: !s3cr3t 1", "#:1:8: The configuration is not valid YAML: tag resolve failed."],
    ["", "#: The configuration must be an object."],
    ["sources:\n  a:\n    opanapi: x", '#:3:5: "sources.a.opanapi" is not a known key. Did you mean "openapi"?'],
    ["serve:\n  port: many", '#:2:3: "serve.port" must be a port: an integer from 0 to 65535.'],
    ["rules:\n  - match: a\n    deny: yes please", '#:3:5: "rules[0].deny" must be true or false.'],
    [
      "serve: &serve\n  prot: 1\nhistory: *serve",
      '#:2:3: "serve.prot" is not a known key. Did you mean "port"?\n#:3:1: "history.prot" is not a known key. Valid keys are file, keep, limit, payloads.',
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
      '#: "sources.a.opanapi" is not a known key. Did you mean "openapi"?',
    ],
    [
      "an element of an array",
      'export default {\n  rules: [\n    { match: "a", deny: true },\n    { match: 1 },\n  ],\n};',
      '#: "rules[1].match" must be a string that is not empty.',
    ],
    [
      "a missing default export",
      "export const config = {};",
      "#: The configuration has no default export. Write: export default defineConfig({ … })",
    ],
    ["a Map", "export default {\n  sources: new Map(),\n};", '#: "sources" must be an object.'],
    [
      "an object that contains itself",
      "const rules = [];\nrules.push({ match: rules });\nexport default { rules };",
      "#: The configuration cannot be used: it is nested more than 200 levels deep.",
    ],
    [
      "an error",
      'const port = 1;\nthrow new Error("Out of order.\\ns3cr3t");',
      "#:2: The configuration cannot be run: Out of order.",
    ],
    [
      "a missing import",
      'import "./missing.mjs";',
      /^#(?::1)?: The configuration cannot be run: Cannot find module '.*missing\.mjs' imported from #\.$/,
    ],
    [
      "a missing package",
      'import "not-installed";',
      /^#(?::1)?: The configuration cannot be run: Cannot find package 'not-installed' imported from #\. Install the packages of the project: npm install$/,
    ],
    ["a syntax error", 'export default { serve: "s3cr3t }', /^#(?::1)?: The configuration cannot be run: /],
    [
      "a function in a place where none is allowed",
      "export default { serve: { port() {} } };",
      '#: "serve.port" must be a port: an integer from 0 to 65535.',
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
      '#:1:67: "sources.a.auth.token" cannot be used: the variable TOKEN is not set.',
    ],
    [
      "is a file that does not exist",
      source('{ "mcp": { "url": "https://a.example.com/${file:key.txt}" } }'),
      '#:1:32: "sources.a.mcp.url" cannot be used: the file cannot be read. Check that it exists and is a file.',
    ],
    [
      "has another form",
      source('{ "mcp": { "command": "x", "env": { "A": "${A:-s3cr3t}" } } }'),
      '#:1:57: "sources.a.mcp.env.A" cannot be used: a variable is malformed. Write ${NAME} or ${file:path}.',
    ],
    [
      "is in a secret that is not expanded",
      source('{ "nats": { "sign": "${KEY}" } }'),
      '#:1:33: "sources.a.nats.sign" cannot be used: variables are only expanded in "auth", "headers", "env", "url". Use env() in operations.config.ts instead.',
    ],
  ])("a variable that %s", async (_, text, message) => {
    expect(await messageOf("operations.config.json", text)).toBe(message);
  });

  test("a variable of a program is not set", async () => {
    const text = `import { env } from "${new URL("config.ts", import.meta.url).href}";
export default { sources: { a: { openapi: "x",
  headers: { "x-key": env("TOKEN") } } } };`;

    expect(await messageOf("operations.config.mjs", text)).toBe(
      '#: "sources.a.headers.x-key" cannot be used: the variable TOKEN is not set.',
    );
  });

  test("a configuration that is not in a file is reported without place", () => {
    expect(() =>
      resolveConfig({ sources: { a: { openapi: "x", baseUrl: env("BASE") } } }, { environment: {} }),
    ).toThrow(
      expect.objectContaining({
        message: '"sources.a.baseUrl" cannot be used: the variable BASE is not set.',
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

test("a syntax error in TypeScript is reported without the text of its line", async () => {
  const message = await messageOf("operations.config.ts", 'export default { serve: "s3cr3t } as const;');

  expect(message).toMatch(/^#(?::1)?: The configuration cannot be run: .*[^:]\.$/);
  expect(message).not.toContain("s3cr3t");
});

test.each([
  ["a missing file", "missing.json", /missing\.json: The configuration cannot be read: ENOENT.* Check the path\.$/],
  ["another format", "config.ini", /config\.ini: The configuration must be a file whose name ends with one of \.ts, /],
])("%s", async (_, name, message) => {
  await expect(loadConfig(join(folder, name))).rejects.toMatchObject({
    code: "VALIDATION_ERROR",
    message: expect.stringMatching(message),
  });
});
