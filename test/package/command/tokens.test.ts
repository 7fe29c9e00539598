import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createToken } from "../../../src/auth/index.ts";
import { writeProject } from "./modules.ts";
import { createSandbox, type Sandbox } from "./sandbox.ts";

const ada = createToken();
const operator = createToken();
const setToken = "Set OPERATIONS_TOKEN to a token of the hub.";

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

test("list prints what every caller may call, and that a token is missing", async () => {
  expect(await run(["list"])).toEqual({
    stdout: "hub.operations\tquery\tFinds the operations that the caller may call, best match first.\n",
    stderr: `No token is set, so only operations for every caller are listed. ${setToken}\n`,
    exitCode: 0,
  });
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

test.each([["types"], ["types", "--check"]])("%s %s without a token fails, and writes nothing", async (...args) => {
  expect(await run(args)).toEqual({
    stdout: "",
    stderr: `error: No token is set, so most operations would be missing in the types. ${setToken}\n`,
    exitCode: 3,
  });
  expect(existsSync(join(sandbox.folder, "operations.d.ts"))).toBe(false);
});

test("types reports that it cannot know whether all sources are ready", async () => {
  expect(await run(["types"], ada.token)).toEqual({
    stdout: "",
    stderr: `Without the scope "hub:read", the token cannot read whether all sources are ready. Operations may be missing in the types.
Wrote operations.d.ts and operations.lock.json with 5 operations.
`,
    exitCode: 0,
  });
});

test("doctor reports a missing token, and one that cannot see the sources", async () => {
  const missing = await run(["doctor"]);
  const limited = await run(["doctor", "--hub", hub.OPERATIONS_HUB], ada.token);

  expect([missing.stdout.split("\n").slice(3), missing.exitCode]).toEqual([
    [
      `ok       target: ${hub.OPERATIONS_HUB} responds and has 1 operation for you.`,
      "problem  token: No token is set, so only operations for every caller can be called.",
      `  fix: ${setToken}`,
      "",
    ],
    3,
  ]);
  expect([limited.stdout.split("\n").slice(4), limited.exitCode]).toEqual([
    ["warning  sources: The token may not call hub.sources.", "  fix: Use a token with the scope hub:read.", ""],
    0,
  ]);
});
