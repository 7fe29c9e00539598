import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { root } from "../../../scripts/subpaths.ts";
import { bearerTokens, createToken, hashToken } from "../../../src/auth/index.ts";
import { createRegistry, defineOperation, Type } from "../../../src/index.ts";
import { listen } from "../../../src/node/index.ts";
import { serveHTTP } from "../../../src/serve/http/index.ts";
import { createSandbox, type Sandbox } from "./sandbox.ts";

/** What the API received, as `METHOD path body`. */
const received: string[] = [];
let server: Server;
let url: string;
let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = createSandbox();
  server = createServer(async (request, response) => {
    const body = await readBody(request);
    if (request.url === "/page") return void response.end("<!doctype html><p>Sign in</p>");
    const { authorization, "x-key": key } = request.headers;
    if (request.url === "/protected.json" && `${authorization} ${key}` !== "Bearer s3cr3t 123") {
      return void response.writeHead(401).end();
    }
    if (request.url === "/openapi.json" || request.url === "/protected.json")
      return void response.end(JSON.stringify(document("/")));
    if (request.url === "/elsewhere.json") return void response.end(JSON.stringify(document("http://127.0.0.1:9/")));
    received.push(`${request.method} ${request.url} ${body}`.trim());
    const respond = responses[`${request.method} ${request.url}`] ?? { status: 404, body: { reason: "missing" } };
    if (respond === "never") return;
    response.writeHead(respond.status, { "content-type": respond.type ?? "application/json" });
    response.end(respond.body instanceof Buffer ? respond.body : JSON.stringify(respond.body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(() => void received.splice(0));

afterAll(() => {
  server.closeAllConnections();
  server.close();
  sandbox[Symbol.dispose]();
});

async function readBody(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const part of request) body += part;
  return body;
}

type Reply = "never" | { status: number; type?: string; body: unknown };

const responses: Record<string, Reply> = {
  "GET /pets/1": { status: 200, body: { id: 1, name: "Fluffy \u001b[31m" } },
  "GET /pets/2": "never",
  "GET /pets/3": { status: 401, body: {} },
  "GET /pets/1/picture": { status: 200, type: "image/png", body: Buffer.from([0x89, 0x50, 0xff]) },
  "GET /pets": { status: 200, body: Array.from({ length: 120_000 }, (_, id) => id) },
  "POST /pets": { status: 204, body: undefined },
};

function document(serverURL: string) {
  const json = (schema: object) => ({ content: { "application/json": { schema } } });
  const pet = { type: "object", properties: { id: { type: "integer" }, name: { type: "string" } }, required: ["name"] };
  const id = { name: "id", in: "path", required: true, schema: { type: "integer" } };
  return {
    openapi: "3.1.0",
    info: { title: "Pets", version: "1.0.0" },
    servers: [{ url: serverURL }],
    paths: {
      "/pets/{id}": {
        get: {
          operationId: "getPet",
          summary: "Returns a pet",
          parameters: [id],
          responses: { 200: json(pet), 404: json({}) },
        },
      },
      "/pets/{id}/picture": {
        get: { operationId: "picture", parameters: [id], responses: { 200: { content: { "image/png": {} } } } },
      },
      "/pets": {
        get: { operationId: "listPets", responses: { 200: json({ type: "array", items: { type: "integer" } }) } },
        post: { operationId: "addPet", requestBody: { required: true, ...json(pet) }, responses: { 204: {} } },
      },
    },
  };
}

const api = () => ["--openapi", `${url}/openapi.json`];
const mcp = (name: string) => [
  "--mcp-command",
  `'${process.execPath}' '${join(root, "test/fixtures/mcp-servers", `${name}.mjs`)}'`,
];

test("list prints ids, types and titles, separated by tabs", async () => {
  expect(await sandbox.run(["list", ...api()])).toEqual({
    stdout:
      "api.getPet\tquery\tReturns a pet\napi.picture\tquery\tGET /pets/{id}/picture\napi.listPets\tquery\tGET /pets\napi.addPet\tmutation\tPOST /pets\n",
    stderr: "",
    exitCode: 0,
  });
});

test("list searches, and prints specs as JSON", async () => {
  const { stdout, stderr, exitCode } = await sandbox.run(["list", "returns", "--json", ...api()]);

  expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
  expect(JSON.parse(stdout)).toEqual([
    expect.objectContaining({
      id: "api.getPet",
      type: "query",
      title: "Returns a pet",
      inputSchema: expect.objectContaining({ type: "object", required: ["id"] }),
    }),
  ]);
});

test("a call prints data as JSON in one line", async () => {
  expect(await sandbox.run(["call", "api.getPet", "id=1", ...api()])).toEqual({
    stdout: '{"id":1,"name":"Fluffy \\u001b[31m"}\n',
    stderr: "",
    exitCode: 0,
  });
});

test.each([
  ["--jq selects", ["--jq", ".name, .id"], '"Fluffy \\u001b[31m"\n1\n'],
  ["--jq with --raw prints strings without quotes", ["--jq", ".name", "--raw"], "Fluffy \u001b[31m\n"],
])("%s", async (_, options, stdout) => {
  expect(await sandbox.run(["call", "api.getPet", "id=1", ...options, ...api()])).toEqual({
    stdout,
    stderr: "",
    exitCode: 0,
  });
});

test("large results are complete, also through --jq", async () => {
  const whole = await sandbox.run(["call", "api.listPets", ...api()]);
  const last = await sandbox.run(["call", "api.listPets", "--jq", "length, .[-1]", ...api()]);
  const failed = await sandbox.run(["call", "api.listPets", "--jq", ".name", ...api()]);

  expect(JSON.parse(whole.stdout)).toHaveLength(120_000);
  expect(last).toEqual({ stdout: "120000\n119999\n", stderr: "", exitCode: 0 });
  expect({ stdout: failed.stdout, exitCode: failed.exitCode }).toEqual({ stdout: "", exitCode: 1 });
  expect(failed.stderr).toContain("The filter of --jq failed: jq: error");
});

test("--envelope prints data and meta", async () => {
  const { stdout } = await sandbox.run(["call", "api.getPet", "id=1", "--envelope", ...api()]);

  expect(JSON.parse(stdout)).toEqual({
    data: { id: 1, name: "Fluffy \u001b[31m" },
    meta: expect.objectContaining({ source: "http", statusCode: 200 }),
  });
});

test("bytes are base64 in JSON, and themselves with --raw and in a file", async () => {
  const json = await sandbox.run(["call", "api.picture", "id=1", ...api()]);
  const raw = await sandbox.run(["call", "api.picture", "id=1", "--raw", "-o", "raw.png", ...api()]);

  expect(json.stdout).toBe('{"base64":"iVD/"}\n');
  expect(raw).toEqual({ stdout: "", stderr: "", exitCode: 0 });
  expect([...readFileSync(join(sandbox.folder, "raw.png"))]).toEqual([0x89, 0x50, 0xff]);
});

test("input comes from arguments, files and stdin; a result without data prints nothing", async () => {
  sandbox.write("pet.json", '{"body":{"id":7}}');
  const empty = { stdout: "", stderr: "", exitCode: 0 };

  expect(await sandbox.run(["call", "api.addPet", "body.name=Rex", "body.id=3", ...api()])).toEqual(empty);
  expect(await sandbox.run(["call", "api.addPet", "--input", "@pet.json", "body.name=12", ...api()])).toEqual(empty);
  const input = '{"body":{"name":"Ada"}}';
  expect(await sandbox.run(["call", "api.addPet", "--input", "-", "--json", ...api()], { input })).toEqual({
    ...empty,
    stdout: "null\n",
  });
  expect(received).toEqual([
    'POST /pets {"name":"Rex","id":3}',
    'POST /pets {"id":7,"name":"12"}',
    'POST /pets {"name":"Ada"}',
  ]);
});

test.each([
  ["an unknown command", ["lst"], 'There is no command "lst". Did you mean "list"?'],
  ["an unknown option", ["list", "--jsn"], 'There is no option "--jsn". Did you mean "--json"?'],
  [
    "an operation that is misspelled",
    ["call", "api.getpet", "id=1"],
    'No operation "api.getpet". Did you mean "api.getPet"?',
  ],
  ["invalid input", ["call", "api.getPet", "id=one"], 'Invalid input of "api.getPet": /id must be an integer.'],
  [
    "a subscription to a query",
    ["subscribe", "api.getPet", "id=1"],
    '"api.getPet" is not a subscription. Run "npx @alkdev/operations call api.getPet".',
  ],
  [
    "an invalid duration",
    ["call", "api.getPet", "--timeout", "5"],
    "The option --timeout takes a duration above 0, such as 500ms, 5s or 2m.",
  ],
  [
    "a file in a missing folder",
    ["call", "api.getPet", "id=1", "-o", "no/x"],
    /^The file ".*no\/x" cannot be written: ENOENT/,
  ],
  [
    "an invalid filter",
    ["call", "api.getPet", "id=1", "--jq", ".["],
    /^The filter of --jq is invalid: jq: error: syntax error/,
  ],
])("%s is refused before anything is called", async (_, args, message) => {
  const { stdout, stderr, exitCode } = await sandbox.run([...args, ...(args.length > 1 ? api() : [])]);

  expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 2 });
  const shown = stderr.replace(/^error(?: [A-Z_]+)?: /, "");
  if (typeof message === "string") expect(shown).toBe(`${message}\n`);
  else expect(shown).toMatch(message);
  expect(received).toEqual([]);
});

test("with --json the last line of stderr is the error", async () => {
  const { stdout, stderr, exitCode } = await sandbox.run(["call", "api.getPet", "id=one", "--json", ...api()]);

  expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 2 });
  expect(JSON.parse(stderr.trimEnd().split("\n").at(-1)!)).toEqual({
    error: {
      code: "VALIDATION_ERROR",
      message: 'Invalid input of "api.getPet": /id must be an integer.',
      operation: "api.getPet",
      issues: [{ path: "/id", message: "must be an integer" }],
    },
  });
});

test("a failure of the API exits with 5, missing permission with 3, silence and a closed port with 4", async () => {
  const failed = await sandbox.run(["call", "api.getPet", "id=9", "--json", ...api()]);
  const denied = await sandbox.run(["call", "api.getPet", "id=3", ...api()]);
  const silent = await sandbox.run(["call", "api.getPet", "id=2", "--timeout", "300ms", ...api()]);
  const closed = await sandbox.run(["list", "--openapi", "http://127.0.0.1:9/openapi.json"]);

  expect([failed.exitCode, denied.exitCode, silent.exitCode, closed.exitCode]).toEqual([5, 3, 4, 4]);
  expect(JSON.parse(failed.stderr).error).toMatchObject({ code: "HTTP_404", details: { body: { reason: "missing" } } });
  expect(failed.stdout + denied.stdout + silent.stdout + closed.stdout).toBe("");
});

test("a document cannot send requests to another origin without --base-url", async () => {
  const elsewhere = ["--openapi", `${url}/elsewhere.json`];
  const refused = await sandbox.run(["call", "api.getPet", "id=1", ...elsewhere]);
  const allowed = await sandbox.run(["call", "api.getPet", "id=1", "--base-url", url, ...elsewhere]);

  expect(refused).toEqual({
    stdout: "",
    stderr: `error: "${url}/elsewhere.json" sends requests to "http://127.0.0.1:9", which is another origin. Pass --base-url http://127.0.0.1:9 to allow it.\n`,
    exitCode: 2,
  });
  expect(allowed.exitCode).toBe(0);
});

test("a file that does not name its server is listed, and called with --base-url only", async () => {
  const file = ["--openapi", sandbox.write("relative.json", JSON.stringify(document("/")))];
  const listed = await sandbox.run(["list", ...file]);
  const refused = await sandbox.run(["call", "api.getPet", "id=1", ...file]);
  const allowed = await sandbox.run(["call", "api.getPet", "id=1", "--base-url", url, ...file]);

  expect(listed).toMatchObject({ stdout: expect.stringContaining("api.getPet\tquery\t"), stderr: "", exitCode: 0 });
  expect(refused).toEqual({
    stdout: "",
    stderr: `error: "${file[1]}" does not name its server. Pass --base-url URL.\n`,
    exitCode: 2,
  });
  expect(allowed.exitCode).toBe(0);
});

test("a protected document needs a header or a token, and a page is not a document", async () => {
  const protectedAPI = ["--openapi", `${url}/protected.json`];
  const listed = await sandbox.run(["list", ...protectedAPI]);
  const page = await sandbox.run(["list", "--openapi", `${url}/page`]);
  const credentials = ["--token", "s3cr3t", "--header", "X-Key: 123"];
  const called = await sandbox.run(["call", "api.getPet", "id=1", "--jq", ".id", ...protectedAPI, ...credentials]);
  const malformed = await sandbox.run(["list", ...protectedAPI, "--header", "X-Key"]);

  expect([listed.stdout, listed.exitCode]).toEqual(["", 3]);
  expect(listed.stderr).toContain(
    `error UPSTREAM_DENIED: The OpenAPI document at ${url}/protected.json cannot be fetched.`,
  );
  expect([page.stdout, page.stderr.includes(`${url}/page`)]).toEqual(["", true]);
  expect(called).toEqual({ stdout: "1\n", stderr: "", exitCode: 0 });
  expect([malformed.stderr, malformed.exitCode]).toEqual([
    'error: The option --header takes a header, such as "x-api-key: 123".\n',
    2,
  ]);
});

test("several sources have names, and settings that follow them", async () => {
  const two = ["--openapi", `pets=${url}/protected.json`, "--token", "s3cr3t", "--header", "x-key:123"];
  const all = [...two, "--mcp-command", `fs=${mcp("errors")[1]}`];
  const listed = await sandbox.run(["list", ...all]);
  const written = await sandbox.run(["types", "-o", "two.d.ts", ...all]);
  const unnamed = await sandbox.run(["list", ...api(), ...api()]);
  const early = await sandbox.run(["list", "--token", "a", ...all]);
  const misplaced = await sandbox.run(["list", ...mcp("errors"), "--header", "a: b"]);

  expect(listed.stdout.split("\n").map((line) => line.split("\t")[0])).toEqual(
    expect.arrayContaining(["pets.getPet", "fs.is_error"]),
  );
  expect(written.stderr).toMatch(/^Wrote two.d.ts with \d+ operations.\n$/);
  const types = readFileSync(join(sandbox.folder, "two.d.ts"), "utf8");
  expect([types.includes("getPet"), types.includes("is_error")]).toEqual([true, true]);
  expect([unnamed, early, misplaced].map(({ stderr }) => stderr)).toEqual([
    'error: Two sources have the name "api". Name them, such as --openapi weather=URL.\n',
    "error: Pass --token after the source that it is for.\n",
    "error: The option --header is for --openapi and --mcp only.\n",
  ]);
});

test("a server of this package that is not a hub is used like one", async () => {
  const { token } = createToken();
  const { url: served, close } = await listen(
    {
      "/": serveHTTP(
        createRegistry({
          operations: [
            defineOperation({
              namespace: "note",
              name: "add",
              type: "mutation",
              description: "Adds a note.",
              inputSchema: Type.Object({ count: Type.Integer() }),
              outputSchema: Type.Object({ count: Type.Integer() }),
              handler: (input) => input,
            }),
          ],
        }),
        { authenticate: bearerTokens([{ hash: hashToken(token), identity: { id: "ada", scopes: [] } }]) },
      ),
    },
    { port: 0 },
  );
  const run = (...args: string[]) => sandbox.run([...args, "--hub", served, "--token", token]);
  const outcomes = [
    await run("list"),
    await run("call", "note.add", "count=1"),
    await run("call", "note.ad", "count=1"),
    await run("types", "-o", "-"),
    await run("sources"),
  ];
  const denied = await sandbox.run(["list", "--hub", served]);
  await close();

  expect(outcomes.map(({ stdout, stderr, exitCode }) => [stdout.split("\n")[0], stderr, exitCode])).toEqual([
    ["note.add\tmutation\tAdds a note.", "", 0],
    ['{"count":1}', "", 0],
    ["", 'error OPERATION_NOT_FOUND: No operation "note.ad". Did you mean "note.add"?\n', 2],
    [expect.any(String), "", 0],
    ["", `error: ${JSON.stringify(served)} is not a hub, so it records no calls and has no sources.\n`, 2],
  ]);
  expect(denied.exitCode).toBe(3);
});

test("a filter that does not end is stopped by --timeout and by signals", async () => {
  const endless = ["call", "api.getPet", "id=1", "--jq", "def f: f; f", ...api()];
  const late = await sandbox.run([...endless, "--timeout", "1500ms"]);
  const running = sandbox.start(endless);
  while (received.length < 2) await new Promise(setImmediate);
  running.process.kill("SIGINT");

  expect(late).toEqual({
    stdout: "",
    stderr: "error TIMEOUT: The filter of --jq did not end in time. Pass a longer --timeout.\n",
    exitCode: 4,
  });
  expect((await running.ended).exitCode).toBe(130);
});

test("JSON escapes characters that reorder text, also in a pipe", async () => {
  const name = "a\u202eb\u009b";
  const { stdout } = await sandbox.run(["list", "--json", "--openapi", hostile(name)]);

  expect(stdout).toContain("a\\u202eb\\u009b");
  expect(JSON.parse(stdout)[0].title).toBe(name);
});

function hostile(summary: string): string {
  const get = { operationId: "get", summary, responses: { 204: { description: "" } } };
  const servers = [{ url }];
  return sandbox.write(
    "hostile.json",
    JSON.stringify({ openapi: "3.1.0", info: { title: "", version: "" }, servers, paths: { "/": { get } } }),
  );
}

test("tools of an MCP server that a command starts are listed and called, without the SDK being installed", async () => {
  const list = await sandbox.run(["list", ...mcp("errors")]);
  const failed = await sandbox.run(["call", "tools.is_error", "--json", ...mcp("errors")]);
  const envelope = await sandbox.run(["call", "tools.is_error", "--envelope", ...mcp("errors")]);

  expect(list.stdout.split("\n", 1)).toEqual(["tools.unknown\tmutation\tTool unknown"]);
  expect({ ...failed, stderr: JSON.parse(failed.stderr).error.message }).toEqual({
    stdout: "",
    stderr: "it broke",
    exitCode: 5,
  });
  expect(JSON.parse(envelope.stdout)).toMatchObject({ data: { name: 1 }, meta: { source: "mcp", isError: true } });
  expect(envelope.exitCode).toBe(5);
});

test("a program that is missing, ends or is silent is unreachable", async () => {
  const missing = await sandbox.run(["list", "--mcp-command", "no-such-program-here"]);
  const ended = await sandbox.run(["list", ...mcp("exits-at-start")]);
  const silent = await sandbox.run(["list", "--timeout", "300ms", ...mcp("silent")]);

  expect([missing.exitCode, ended.exitCode, silent.exitCode]).toEqual([4, 4, 4]);
});

test("two targets, and none, are refused", async () => {
  const two = await sandbox.run(["list", "--hub", "http://127.0.0.1:9", ...api()]);
  const none = await sandbox.run(["list"]);

  expect(two).toEqual({ stdout: "", stderr: "error: Pass --hub or --openapi, not both.\n", exitCode: 2 });
  expect(none).toEqual({
    stdout: "",
    stderr:
      "error: No configuration, hub or source was found. Pass --openapi, --mcp, --mcp-command, --hub or --config, or run the command in a folder with an operations.config file.\n",
    exitCode: 2,
  });
});

test("an operation of a source that is not available exits with 4, with input in every form", async () => {
  const sources = { api: { openapi: "http://127.0.0.1:9/openapi.json" } };
  sandbox.write("unavailable.json", JSON.stringify({ sources }));
  for (const input of [[], ["id=7"], ["--input", "{}"]]) {
    const { stdout, stderr, exitCode } = await sandbox.run([
      "call",
      "api.get",
      ...input,
      "--config",
      "unavailable.json",
    ]);
    const message = 'error UNAVAILABLE: "api.get" is not available at the moment.';
    expect([stdout, stderr.includes(message), exitCode]).toEqual(["", true, 4]);
  }
});

test("help goes to stdout, begins with examples, and usage without a command to stderr", async () => {
  const help = await sandbox.run(["--help"]);
  const none = await sandbox.run([]);
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

  expect(help.stdout).toMatch(/^Examples:\n {2}npx @alkdev\/operations /);
  expect({ ...help, stdout: "" }).toEqual({ stdout: "", stderr: "", exitCode: 0 });
  expect(none).toEqual({ stdout: "", stderr: help.stdout, exitCode: 2 });
  expect(await sandbox.run(["--version"])).toEqual({ stdout: `${version}\n`, stderr: "", exitCode: 0 });
});
