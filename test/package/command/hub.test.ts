import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { root } from "../../../scripts/subpaths.ts";
import { writeProject } from "./modules.ts";
import { createSandbox, type Running, type Sandbox } from "./sandbox.ts";

let sandbox: Sandbox;
let hub: Running;
let url: string;
let token: string;

const named = ["--config", "operations.config.json"];
const printed = "The module prints.\n";

beforeAll(async () => {
  sandbox = createSandbox();
  writeProject(sandbox);
  hub = sandbox.start(["serve", "--json", ...named]);
  await hub.shows('"url"');
  ({ url, token } = JSON.parse(hub.printed.stdout));
});

afterAll(() => sandbox[Symbol.dispose]());

test("a running hub is called with the token that it stored for its user", async () => {
  expect(await sandbox.run(["call", "note.add", "text=42", "--hub", url])).toEqual({
    stdout: '{"text":"42"}\n',
    stderr: "",
    exitCode: 0,
  });
});

test("OPERATIONS_HUB and OPERATIONS_TOKEN name a hub and its token", async () => {
  const input = ["call", "note.add", "--input", '{"text":"a"}'];
  const ada = { HOME: undefined, OPERATIONS_HUB: url, OPERATIONS_TOKEN: token };

  expect(await sandbox.run(input, { env: ada })).toEqual({ stdout: '{"text":"a"}\n', stderr: "", exitCode: 0 });
  expect(await sandbox.run(input, { env: { ...ada, OPERATIONS_TOKEN: "x".repeat(43) } })).toEqual({
    stdout: "",
    stderr:
      "error ACCESS_DENIED: The server does not accept these credentials. Check the token or key. Check OPERATIONS_TOKEN, a token of the hub.\n",
    exitCode: 3,
  });
  expect(await sandbox.run(input, { env: { ...ada, OPERATIONS_TOKEN: undefined } })).toEqual({
    stdout: "",
    stderr:
      "error ACCESS_DENIED: Authentication is required. Send a token or key that this server accepts. Set OPERATIONS_TOKEN, a token of the hub.\n",
    exitCode: 3,
  });
});

test("an operation that the caller may not use is denied, with input in every form", async () => {
  const env = { HOME: undefined, OPERATIONS_HUB: url };
  const denied = {
    stdout: "",
    stderr: expect.stringMatching(/^error ACCESS_DENIED: Authentication is required/),
    exitCode: 3,
  };

  expect(await sandbox.run(["call", "note.add", "--input", '{"text":"a"}'], { env })).toEqual(denied);
  expect(await sandbox.run(["call", "note.add", "text=a"], { env })).toEqual(denied);
  expect(await sandbox.run(["describe", "note.add"], { env })).toEqual(denied);
});

test("the operations of a hub are listed and searched", async () => {
  const all = await sandbox.run(["list", "--hub", url]);
  const found = await sandbox.run(["list", "counts", "--json", "--hub", url]);

  expect(all.stdout.split("\n").slice(0, 5)).toEqual([
    "note.add\tmutation\tAdds a note.",
    "note.fail\tquery\tFails.",
    "note.wait\tquery\tEnds when it is aborted.",
    "note.ticks\tsubscription\tCounts without an end.",
    "hub.operations\tquery\tFinds the operations that the caller may call, best match first.",
  ]);
  expect(JSON.parse(found.stdout)).toMatchObject([{ id: "note.ticks", outputSchema: { type: "integer" } }]);
});

test.each([
  [
    "a misspelled id",
    ["call", "note.ad", "text=1"],
    'No operation "note.ad". Did you mean "note.add"?',
    "OPERATION_NOT_FOUND",
  ],
  [
    "a misspelled id without input",
    ["call", "note.ad"],
    'No operation "note.ad". Did you mean "note.add"?',
    "OPERATION_NOT_FOUND",
  ],
  [
    "a subscription",
    ["call", "note.ticks"],
    '"note.ticks" is a subscription. Run "npx @alkdev/operations subscribe note.ticks".',
    "WRONG_OPERATION_TYPE",
  ],
  [
    "a query",
    ["subscribe", "note.fail"],
    '"note.fail" is not a subscription. Run "npx @alkdev/operations call note.fail".',
    "WRONG_OPERATION_TYPE",
  ],
  [
    "invalid input",
    ["call", "note.add"],
    'Invalid input of "note.add": it must have the required property "text".',
    "VALIDATION_ERROR",
  ],
])("%s is refused by a hub", async (_, args, message, code) => {
  expect(await sandbox.run([...args, "--hub", url])).toEqual({
    stdout: "",
    stderr: `error ${code}: ${message}\n`,
    exitCode: 2,
  });
});

test("a key that the schema does not describe is reported, whether the input is valid or not", async () => {
  expect(await sandbox.run(["call", "note.add", "txt=1", "--hub", url])).toEqual({
    stdout: "",
    stderr: `warning: The key "txt" is not known. Did you mean "text"?
error VALIDATION_ERROR: Invalid input of "note.add": it must have the required property "text".
`,
    exitCode: 2,
  });
  expect(await sandbox.run(["call", "note.add", "text=1", "\u001b.x=1", "--hub", url])).toEqual({
    stdout: '{"text":"1"}\n',
    stderr: 'warning: The key "\\u001b" is not known.\n',
    exitCode: 0,
  });
});

test("an unexpected error of an operation is not shown to callers of a hub, but to its operator", async () => {
  const remote = await sandbox.run(["call", "note.fail", "--hub", url]);
  const local = await sandbox.run(["call", "note.fail", ...named]);

  expect({ ...remote, stderr: remote.stderr.replace(/[\w-]{20,}/, "ID") }).toEqual({
    stdout: "",
    stderr: expect.stringMatching(/^error EXECUTION_ERROR: The operation failed\./),
    exitCode: 5,
  });
  expect(local).toEqual({ stdout: "", stderr: `${printed}error EXECUTION_ERROR: The disk is full.\n`, exitCode: 5 });
});

test("a call that takes too long exits with 4", async () => {
  const outcome = await sandbox.run(["call", "note.wait", "--timeout", "500ms", "--json", ...named]);

  expect(outcome).toMatchObject({ stdout: "", exitCode: 4 });
  expect(JSON.parse(outcome.stderr.trimEnd().split("\n").at(-1)!).error.code).toBe("TIMEOUT");
});

test("SIGINT aborts a call in the hub", async () => {
  const calling = sandbox.start(["call", "note.wait", "--hub", url]);
  await hub.shows("It waits.");
  calling.process.kill("SIGINT");

  expect(await calling.ended).toEqual({ stdout: "", stderr: "", exitCode: 130 });
  await hub.shows("It was aborted.");
});

test("a hub that does not run, and a URL that is not a hub", async () => {
  const closed = await sandbox.run(["list", "--hub", "http://127.0.0.1:9"]);
  const invalid = await Promise.all(["ftp://x", ""].map((hub) => sandbox.run(["list", "--hub", hub])));

  expect(closed).toEqual({
    stdout: "",
    stderr:
      "error UNAVAILABLE: The server at http://127.0.0.1:9 could not be reached: the connection was refused (ECONNREFUSED). Is the hub running?\n",
    exitCode: 4,
  });
  expect(invalid).toEqual(
    ["ftp://x", ""].map((hub) => ({
      stdout: "",
      stderr: `error: "${hub}" is not the URL of a hub. It begins with http:// or https://.\n`,
      exitCode: 2,
    })),
  );
});

test.each([
  ["a hub", () => ["--hub", url], ""],
  ["a configuration", () => named, `${printed}The subscription ended.\n`],
])("a subscription of %s prints one value per line, and ends after --count", async (_, target, stderr) => {
  expect(await sandbox.run(["subscribe", "note.ticks", "--count", "3", ...target()])).toEqual({
    stdout: "0\n1\n2\n",
    stderr,
    exitCode: 0,
  });
});

test.each([
  ["a hub", () => ["--hub", url]],
  ["a configuration", () => named],
])("a subscription of %s ends quietly when the reader of the pipe is gone", async (_, target) => {
  const reading = sandbox.start(["subscribe", "note.ticks", ...target()]);
  await reading.shows("0\n");
  reading.process.stdout!.destroy();

  expect(await reading.ended).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining("error") });
});

test.each([
  ["a hub", () => ["--hub", url]],
  ["a configuration", () => named],
])("SIGINT ends a subscription of %s with 130", async (_, target) => {
  const reading = sandbox.start(["subscribe", "note.ticks", ...target()]);
  await reading.shows("0\n");
  reading.process.kill("SIGINT");

  expect(await reading.ended).toMatchObject({ exitCode: 130, stderr: expect.not.stringContaining("error") });
});

test("SIGINT aborts the handler of a call, and --json reports it", async () => {
  const calling = sandbox.start(["call", "note.wait", "--json", ...named]);
  await calling.shows("It waits.");
  calling.process.kill("SIGINT");
  const { stdout, stderr, exitCode } = await calling.ended;

  expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 130 });
  expect(stderr).toContain("It was aborted.");
  expect(JSON.parse(stderr.trimEnd().split("\n").at(-1)!).error.code).toBe("ABORTED");
});

test("SIGINT ends a command that reads its input from stdin", async () => {
  const reading = sandbox.start(["call", "note.add", "--input", "-", ...named]);
  await reading.shows(printed);
  reading.process.kill("SIGINT");

  expect(await reading.ended).toEqual({ stdout: "", stderr: printed, exitCode: 130 });
});

test("a search without results prints nothing on stdout", async () => {
  expect(await sandbox.run(["list", "zebra", "--hub", url])).toEqual({
    stdout: "",
    stderr: "No operation was found.\n",
    exitCode: 0,
  });
});

test("nothing that a module prints reaches stdout", async () => {
  expect(await sandbox.run(["call", "note.add", "text=a", ...named])).toEqual({
    stdout: '{"text":"a"}\n',
    stderr: printed,
    exitCode: 0,
  });
});

test("a call or description of an API starts only that source of a configuration, and any other call all of them", async () => {
  const pet = { get: { operationId: "get", responses: { 200: { description: "A pet" } } } };
  const document = { openapi: "3.1.0", info: { title: "A", version: "1" }, servers: [{ url }], paths: { "/pet": pet } };
  sandbox.write("pets.json", JSON.stringify(document));
  const sources = { notes: { modules: "./operations" }, note: { openapi: "pets.json" } };
  const config = ["--config", sandbox.write("two.json", JSON.stringify({ sources }))];

  for (const command of ["call", "describe"]) {
    expect(await sandbox.run([command, "note.get", ...config])).toMatchObject({
      stderr: expect.not.stringContaining(printed),
    });
  }
  expect(await sandbox.run(["call", "note.add", "text=a", ...config])).toMatchObject({
    stdout: '{"text":"a"}\n',
    stderr: expect.stringContaining(printed),
  });
});

test("a configuration works without a home folder", async () => {
  const env = { HOME: undefined, XDG_STATE_HOME: undefined };

  expect(await sandbox.run(["call", "note.add", "text=a", ...named], { env })).toMatchObject({
    stdout: '{"text":"a"}\n',
    exitCode: 0,
  });
});

test("a configuration that was found, not named, runs nothing in a pipe", async () => {
  using clone = createSandbox();
  writeProject(clone);
  for (const args of [["list"], ["call", "note.add", "text=a"], ["serve"], ["list", "--json"]]) {
    const { stdout, stderr, exitCode } = await clone.run(args);

    expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 2 });
    expect(stderr).toContain("Its folder is not trusted, so nothing was run.");
  }
  expect(existsSync(join(clone.folder, "loaded"))).toBe(false);
});

test("serve --stdio serves MCP, and prints nothing else on stdout", async () => {
  const serving = sandbox.start(["serve", "--stdio", ...named]);
  const send = (message: object) => serving.process.stdin!.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const clientInfo = { name: "test", version: "1" };
  send({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo } });
  send({ method: "notifications/initialized" });
  send({ id: 2, method: "tools/call", params: { name: "note_add", arguments: { text: "a" } } });
  await serving.shows('"id":2');
  serving.process.stdin!.end();
  const { stdout, stderr, exitCode } = await serving.ended;

  expect(exitCode).toBe(0);
  expect(stderr).toBe(`${printed}Serving MCP on stdin and stdout.\n`);
  const messages = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(messages.map(({ id }) => id)).toEqual([1, 2]);
  expect(messages[1].result.structuredContent).toEqual({ text: "a" });
});

test("serve prints its address before a source is ready, changes of sources, and calls with their codes", async () => {
  const silent = createServer();
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const openapi = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
  const sources = { notes: { modules: "./operations" }, slow: { openapi } };
  const config = sandbox.write("slow.json", JSON.stringify({ sources, serve: { port: 0 } }));
  const serving = sandbox.start(["serve", "--config", config]);
  await serving.shows("The source notes is ready: 4 operations\n");
  const [, served] = /^Listening on (.*)\n/.exec(serving.printed.stdout)!;
  await sandbox.run(["call", "note.fail", "--hub", served!]);
  await sandbox.run(["call", "note.add", "text=a", "--hub", served!]);
  await serving.shows("note.add  succeeded");
  const listed = await sandbox.run(["calls", "--hub", served!]);
  const tree = await sandbox.run(["calls", listed.stdout.split("\t", 1)[0]!, "--hub", served!]);
  const failed = await sandbox.run(["calls", "--failed", "--hub", served!]);
  const states = await sandbox.run(["sources", "--hub", served!]);
  const data = await sandbox.run(["sources", "--json", "--jq", "map(.status)", "--hub", served!]);
  serving.process.kill("SIGTERM");
  const { stdout, stderr } = await serving.ended;
  silent.closeAllConnections();
  silent.close();

  const time = "\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d";
  expect(stdout).not.toContain("note");
  expect(stderr).toMatch(
    new RegExp(
      `^${time}  note.fail  EXECUTION_ERROR  \\S+ ms  http, operator\n[^]*${time}  note.add  succeeded  `,
      "m",
    ),
  );
  expect(listed.stdout).toMatch(
    new RegExp(
      `^\\d+\t${time}\tnote.fail\tEXECUTION_ERROR\t\\S+ ms\thttp, operator\n\\d+\t${time}\tnote.add\tsucceeded\t`,
    ),
  );
  expect(tree.stdout).toMatch(new RegExp(`^note.fail  EXECUTION_ERROR  \\S+ ms  http, operator  ${time}\n`));
  expect([failed.stdout.split("\n").length, failed.exitCode]).toEqual([2, 0]);
  expect(states.stdout).toMatch(
    new RegExp(`^notes\tmodules\tready\t4 operations\tsince ${time}\t\nslow\topenapi\tconnecting\t0 operations\t`),
  );
  expect(data.stdout).toBe('["ready","connecting"]\n');
});

test("calls -f prints calls as they end, and as JSON", async () => {
  const lines = sandbox.start(["calls", "-f", "--operation", "note.*", "--hub", url]);
  const data = sandbox.start(["calls", "-f", "--failed", "--json", "--hub", url]);
  const called = async () => {
    await sandbox.run(["call", "note.fail", "--hub", url]);
    return [lines, data].every(({ printed }) => printed.stdout.includes("note.fail"));
  };
  while (!(await called())); // It is not known when they have subscribed.
  for (const { process } of [lines, data]) process.kill("SIGINT");

  expect((await lines.ended).stdout).toMatch(/^\S+ \S+ {2}note.fail {2}EXECUTION_ERROR {2}\S+ ms {2}http, operator\n/);
  expect(JSON.parse((await data.ended).stdout.split("\n", 1)[0]!)).toMatchObject({
    status: "failed",
    operationId: "note.fail",
    code: "EXECUTION_ERROR",
  });
});

test("a port that is taken, and one that is invalid", async () => {
  const taken = await sandbox.run(["serve", "--port", new URL(url).port, ...named]);
  const invalid = await sandbox.run(["serve", ...named], { env: { PORT: "http" } });

  expect({ stdout: taken.stdout, exitCode: taken.exitCode }).toEqual({ stdout: "", exitCode: 4 });
  expect(taken.stderr).toContain(new URL(url).port);
  expect(invalid).toEqual({
    stdout: "",
    stderr: "error: The port is invalid. Pass a number from 0 to 65535 as PORT.\n",
    exitCode: 2,
  });
});

test("serve serves one source of an option, and prints a URL with the token of its user", async () => {
  const folder = join(sandbox.home, "state");
  mkdirSync(folder);
  sandbox.write("api.json", JSON.stringify({ openapi: "3.1.0", info: { title: "A", version: "1" }, paths: {} }));
  const serving = sandbox.start(["serve", "--openapi", "api.json", "--port", "0"], { env: { XDG_STATE_HOME: folder } });
  await serving.shows("calls --follow");
  const stored = readdirSync(join(folder, "operations/hubs"));
  serving.process.kill("SIGTERM");
  const { stdout, stderr, exitCode } = await serving.ended;

  const [, served] = /^Listening on (http:\/\/127\.0\.0\.1:\d+)\n/.exec(stdout)!;
  expect(stdout.replaceAll(/[\w-]{43}/g, "TOKEN")).toBe(`Listening on ${served}
  Console    ${served}/console/#code=TOKEN  (signs in once, within 5 minutes)
  HTTP       ${served}/openapi.json
  MCP        ${served}/mcp
  WebSocket  ${served!.replace("http", "ws")}/calls
  Token      TOKEN  (for other programs; this command finds it)
`);
  expect([stderr.replace(/^[\d :-]{19} {2}/gm, ""), exitCode]).toEqual([
    `The source api is ready: 0 operations
Try in another terminal:
  npx @alkdev/operations list --hub ${served}
  npx @alkdev/operations calls --follow --hub ${served}
`,
    0,
  ]);
  expect(stored).toHaveLength(1);
  expect(readdirSync(join(folder, "operations/hubs"))).toEqual([]);
});

test("serve serves an MCP server of an option, over MCP and over HTTP", async () => {
  const server = join(root, "test/fixtures/mcp-servers/errors.mjs");
  const serving = sandbox.start([
    "serve",
    "--mcp-command",
    `'${process.execPath}' '${server}'`,
    "--port",
    "0",
    "--json",
  ]);
  await serving.shows('"url"');
  const served = JSON.parse(serving.printed.stdout);
  const called = await sandbox.run(["call", "tools.is_error", "--json", "--hub", served.url]);
  serving.process.kill("SIGTERM");

  expect(JSON.parse(called.stderr).error).toMatchObject({ operation: "tools.is_error", message: "it broke" });
  expect(await serving.ended).toMatchObject({ stderr: "", exitCode: 0 });
});

test("SIGINT ends a hub cleanly", async () => {
  hub.process.kill("SIGINT");

  expect(await hub.ended).toMatchObject({ exitCode: 0 });
  expect(readdirSync(join(sandbox.home, ".local/state/operations/hubs"))).toEqual([]);
});

test("a late rejection of a module is reported and the hub goes on, and a late exception stops it with 1", async () => {
  using other = createSandbox();
  writeProject(other);
  other.write(
    "operations/late.mjs",
    `const define = (name, handler) => ({
      namespace: "late", name, type: "query", description: "", version: "1.0.0", accessControl: { requiredScopes: [] },
      inputSchema: { type: "object" }, outputSchema: { type: "string" }, handler,
    });
    export default [
      define("reject", () => { setTimeout(() => Promise.reject(new Error("It is late.")), 0); return "done"; }),
      define("throw", () => { setTimeout(() => { throw new Error("It broke."); }, 0); return "done"; }),
    ];`,
  );
  const running = other.start(["serve", "--json", ...named]);
  await running.shows('"url"');
  const at = ["--hub", JSON.parse(running.printed.stdout).url];
  expect(await other.run(["call", "late.reject", ...at])).toMatchObject({ stdout: `"done"\n`, exitCode: 0 });
  await running.shows("It is late.");
  expect(running.printed.stderr).toMatch(
    /was rejected and not handled, and the hub goes on\. .*late\.mjs:\d+: It is late\./,
  );
  expect(await other.run(["call", "note.add", "text=a", ...at])).toMatchObject({ exitCode: 0 });
  await other.run(["call", "late.throw", ...at]);
  const { exitCode, stderr } = await running.ended;
  expect([exitCode, stderr.includes("An exception was not handled.")]).toEqual([1, true]);
});
