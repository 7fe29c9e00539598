import { mkdtemp, readdir, realpath, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import type { HubConfig } from "../hub/index.ts";
import { type ConfigTrust, checkTrust, requireTrust, revokeTrust, storeTrust } from "./trust.ts";

let folder: string;
let environment: Record<string, string>;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "trust-")));
  environment = { XDG_STATE_HOME: join(folder, "state") };
});

afterEach(() => rm(folder, { recursive: true }));

async function write(name: string, content: HubConfig | string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const reference = (name: string) => `$${"{"}${name}}`;
/** The environment of a user without a home folder. */
const homeless = { HOME: "" };
const tasks: HubConfig = { sources: { tasks: { modules: "./operations" } } };

test("everything that a configuration would run or read is listed", async () => {
  const file = await write("operations.config.json", {
    sources: {
      tasks: { modules: "./operations" },
      files: {
        mcp: {
          command: "npx",
          args: ["-y", "server \u001b[2J"],
          cwd: "/",
          env: { NODE_OPTIONS: "--import ./evil.mjs" },
          inheritEnv: ["HOME"],
          ...{ later: "a field that does not exist yet" },
        },
      },
      remote: {
        mcp: {
          url: "https://example.com/mcp",
          headers: { "x-key": `${reference("KEY")} ${reference("file:~/.ssh/id_rsa")}` },
        },
      },
      mine: { mcpConfig: { file: ".mcp.json" } },
      github: {
        openapi: "https://example.com/openapi.json",
        auth: { type: "bearer", token: reference("GITHUB_TOKEN") },
      },
      local: { openapi: "../openapi.json" },
      bus: { nats: { servers: "nats://127.0.0.1:4222", trustedBus: true, serve: true } },
      office: { websocket: { url: "ws://127.0.0.1:4000/calls" } },
    },
    history: { file: "~/.bashrc" },
    serve: { host: "0.0.0.0" },
  });
  const { actions, isStored } = await checkTrust(file, environment);
  expect({ actions, isStored }).toEqual({
    actions: [
      'sources.tasks.modules: "./operations"',
      'sources.files.mcp.command: "npx"',
      'sources.files.mcp.args: ["-y","server \\u001b[2J"]',
      'sources.files.mcp.cwd: "/"',
      'sources.files.mcp.env: {"NODE_OPTIONS":"--import ./evil.mjs"}',
      'sources.files.mcp.inheritEnv: ["HOME"]',
      'sources.files.mcp.later: "a field that does not exist yet"',
      'sources.remote.mcp.url: "https://example.com/mcp"',
      `sources.remote.mcp.headers: {"x-key":"${reference("KEY")} ${reference("file:~/.ssh/id_rsa")}"}`,
      'sources.mine.mcpConfig: {"file":".mcp.json"}',
      'sources.github.openapi: "https://example.com/openapi.json"',
      `sources.github.auth: {"type":"bearer","token":"${reference("GITHUB_TOKEN")}"}`,
      'sources.local.openapi: "../openapi.json"',
      'sources.bus.nats: {"servers":"nats://127.0.0.1:4222","trustedBus":true,"serve":true}',
      'sources.office.websocket: {"url":"ws://127.0.0.1:4000/calls"}',
      'history.file: "~/.bashrc"',
      'serve.host: "0.0.0.0"',
    ],
    isStored: false,
  });
});

test("a configuration that runs and reads nothing, and is open to this machine only, needs no trust", async () => {
  const file = await write("operations.config.json", {
    sources: { api: { openapi: "https://example.com/a.json" } },
    serve: { host: "127.0.0.2" },
  });
  expect(await requireTrust(file, homeless)).toMatchObject({ isStored: false });
  expect(await checkTrust(file, homeless)).toMatchObject({ actions: [] });
});

test("a configuration that nothing has checked yet is read with care", async () => {
  const file = await write(
    "operations.config.yaml",
    "sources: { a: null, b: [1], c: { modules: 7 }, d: { mcp: { command: { x: 1 }, args: no } }, __proto__: { mcpConfig: 1 } }",
  );
  expect((await checkTrust(file, environment)).actions).toEqual([
    "sources.c.modules: 7",
    'sources.d.mcp.command: {"x":1}',
    'sources.d.mcp.args: "no"',
    "sources.__proto__.mcpConfig: 1",
  ]);
  await write("operations.config.yaml", "sources: 5");
  expect((await checkTrust(file, environment)).actions).toEqual([]);
});

test.each(["ts", "js", "mjs"])("a program is not read to decide about it: .%s", async (extension) => {
  const file = await write(`operations.config.${extension}`, "throw new Error('it ran')");
  expect(await checkTrust(file, environment)).toMatchObject({
    actions: ["It is a program, which runs."],
    isStored: false,
  });
});

test("trust is that of a folder by its real path, also after later changes", async () => {
  const file = await write("operations.config.json", tasks);
  await storeTrust(await checkTrust(file, environment), environment);
  const trusted = async (path: string) => (await checkTrust(path, environment)).isStored;
  expect(await trusted(file)).toBe(true);
  await write("operations.config.json", `${JSON.stringify(tasks)} `);
  expect(await trusted(file)).toBe(true);
  await symlink(file, join(folder, "link.json"));
  expect(await trusted(join(folder, "link.json"))).toBe(true);

  const inner = await mkdtemp(join(folder, "inner-"));
  await writeFile(join(inner, "operations.config.json"), JSON.stringify(tasks));
  expect(await trusted(join(inner, "operations.config.json"))).toBe(false);
  const outside = await realpath(await mkdtemp(join(tmpdir(), "outside-")));
  onTestFinished(() => rm(outside, { recursive: true }));
  await rename(file, join(outside, "operations.config.json"));
  expect(await trusted(join(outside, "operations.config.json"))).toBe(false);
});

test("trust that cannot be stored is reported", async () => {
  const blocked = { XDG_STATE_HOME: await write("not-a-folder", "") };
  const file = await write("operations.config.json", tasks);
  await expect(storeTrust(await checkTrust(file, blocked), blocked)).rejects.toMatchObject({
    code: "USAGE",
    message: expect.stringMatching(/^The file .* cannot be written: ENOTDIR/),
  });
});

test("trust can be revoked, also after the file is gone", async () => {
  const file = await write("operations.config.json", tasks);
  expect(await revokeTrust(file, environment)).toBe(false);
  await storeTrust(await checkTrust(file, environment), environment);
  expect(await revokeTrust(file, environment)).toBe(true);
  expect((await checkTrust(file, environment)).isStored).toBe(false);
  await storeTrust(await checkTrust(file, environment), environment);
  await rm(file);
  expect(await revokeTrust(file, environment)).toBe(true);
});

test("only the user can read what is trusted", async () => {
  const file = await write("operations.config.json", tasks);
  await storeTrust(await checkTrust(file, environment), environment);
  const records = join(folder, "state/operations/trusted");
  const [name] = await readdir(records);
  const mode = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
  expect([await mode(records), await mode(join(records, name!))]).toEqual(["700", "600"]);
});

test("in a pipe an untrusted configuration is refused with the list of what it would run", async () => {
  const file = await write("operations.config.json", tasks);
  await expect(requireTrust(file, environment)).rejects.toMatchObject({
    code: "CONFIG_NOT_TRUSTED",
    mayHaveRun: false,
    message: [
      `The configuration ${JSON.stringify(file)} runs, opens or reads:`,
      '  - sources.tasks.modules: "./operations"',
      "Its folder is not trusted, so nothing was run. Read it, then run `npx @alkdev/operations trust`, or name it with --config.",
    ].join("\n"),
  });
});

test("only what is not trusted has to be confirmed, and confirming it stores nothing", async () => {
  const file = await write("operations.config.json", tasks);
  const confirmed: ConfigTrust[] = [];
  const confirm = (reply: boolean) => async (trust: ConfigTrust) => {
    confirmed.push(trust);
    return reply;
  };
  const trust = await checkTrust(file, environment);
  await expect(requireTrust(file, environment, confirm(false))).rejects.toThrow("Its folder is not trusted");
  expect(await requireTrust(file, environment, confirm(true))).toEqual(trust);
  expect(await checkTrust(file, environment)).toEqual(trust);
  await storeTrust(trust, environment);
  await requireTrust(file, environment, confirm(false));
  expect(confirmed).toEqual([trust, trust]);
});

test("a link to a trusted configuration is loaded from the folder of that configuration", async () => {
  const file = await write("operations.config.json", tasks);
  await storeTrust(await checkTrust(file, environment), environment);
  const link = join(await mkdtemp(join(folder, "cloned-")), "operations.config.json");
  await symlink(file, link);
  expect(await requireTrust(link, environment)).toMatchObject({ file: await realpath(file) });
});
