import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createToken } from "../../../src/auth/index.ts";
import { writeProject } from "./modules.ts";
import { createSandbox, type Sandbox } from "./sandbox.ts";

const ada = createToken();
const operator = createToken();
const setToken = "Set OPERATIONS_TOKEN, a token of the hub.";

let sandbox: Sandbox;
let hub: { OPERATIONS_HUB: string };

/** A hub with one source that works and one that does not, for two callers. */
beforeAll(async () => {
  sandbox = createSandbox();
  const down = { openapi: "http://127.0.0.1:9/openapi.json" };
  writeProject(sandbox, {
    sources: { notes: { modules: "./operations" }, down },
    access: {
      tokens: [
        { hash: ada.hash, identity: { id: "ada", scopes: ["notes"] } },
        { hash: operator.hash, identity: { id: "operator", scopes: ["notes", "hub:read"] } },
      ],
    },
  });
  const running = sandbox.start(["serve", "--json", "--config", "operations.config.json"]);
  await running.shows('"url"');
  hub = { OPERATIONS_HUB: JSON.parse(running.printed.stdout).url };
});

afterAll(() => sandbox[Symbol.dispose]());

function run(args: readonly string[], token?: string) {
  return sandbox.run(args, { env: { ...hub, OPERATIONS_TOKEN: token } });
}

test.each([["list"], ["types"], ["types", "--check"], ["calls"], ["sources"]])(
  "%s %s without a token fails, and says what to set",
  async (...args) => {
    expect(await run(args)).toEqual({
      stdout: "",
      stderr: `error ACCESS_DENIED: Authentication is required. Send a token or key that this server accepts. ${setToken}\n`,
      exitCode: 3,
    });
    expect(existsSync(join(sandbox.folder, "operations.d.ts"))).toBe(false);
  },
);

test("--token is the token of a hub, and calls are those of its identity", async () => {
  expect(await run(["call", "note.add", "text=a", "--token", ada.token], "wrong")).toMatchObject({ exitCode: 0 });
  expect(await run(["call", "hub.reload", "--token", ada.token])).toMatchObject({
    stderr: expect.stringMatching(/^error ACCESS_DENIED: [^\n]*hub:admin[^\n]*\.\n$/), // The token itself is right.
    exitCode: 3,
  });
  const denied = await run(["calls", "--token", ada.token]);
  expect([denied.stderr.includes("hub:read"), denied.exitCode]).toEqual([true, 3]);
  const own = await run(["calls", "--token", operator.token]);
  expect([own.stdout, own.stderr, own.exitCode]).toEqual(["", "No call was found.\n", 0]);
});

test("list reports the sources that are not ready to those who may see them", async () => {
  const { stdout, stderr, exitCode } = await run(["list", "note"], operator.token);
  expect([stdout.includes("note.add"), stderr, exitCode]).toEqual([
    true,
    expect.stringMatching(/^The source "down" is not ready: The OpenAPI document cannot be fetched\. .*\.\n$/),
    0,
  ]);
  expect(await run(["list", "note"], ada.token)).toMatchObject({ stderr: "", exitCode: 0 });
});

test("list of a configuration reports a source that does not respond", async () => {
  sandbox.write("silent.json", JSON.stringify({ sources: { silent: { mcp: { command: "sleep", args: ["60"] } } } }));
  expect(await sandbox.run(["list", "--config", "silent.json", "--timeout", "500ms"])).toMatchObject({
    stderr: 'The source "silent" is not ready: it is connecting.\n',
    exitCode: 0,
  });
});

test("types reports that it cannot know whether all sources are ready", async () => {
  expect(await run(["types"], ada.token)).toEqual({
    stdout: "",
    stderr: `Without the scope "hub:read", the token cannot read whether all sources are ready. Operations may be missing in the types.
Wrote operations.d.ts and operations.lock.json with 7 operations.
`,
    exitCode: 0,
  });
});

test("doctor reports a missing token, and one that cannot see the sources", async () => {
  const missing = await run(["doctor"]);
  const limited = await run(["doctor", "--hub", hub.OPERATIONS_HUB], ada.token);

  expect([missing.stdout.split("\n").slice(1), missing.exitCode]).toEqual([
    [`problem  target: Authentication is required. Send a token or key that this server accepts. ${setToken}`, ""],
    3,
  ]);
  expect([limited.stdout.split("\n").slice(2), limited.exitCode]).toEqual([
    ["warning  sources: The token may not call hub.sources.", "  fix: Use a token with the scope hub:read.", ""],
    0,
  ]);
});
