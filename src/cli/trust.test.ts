import { mkdir, mkdtemp, readdir, realpath, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
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
      files: { mcp: { command: "npx", args: ["-y", "server \u001b[2J"] } },
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
      bus: { nats: { servers: "nats://127.0.0.1:4222", trustedBus: true, serve: true } },
      queue: { redis: { url: "redis://127.0.0.1:6379", trustedBus: true } },
      office: { websocket: { url: "ws://127.0.0.1:4000/calls" } },
    },
    history: { file: "~/.bashrc" },
    serve: { host: "0.0.0.0" },
  });
  const { actions, isStored } = await checkTrust(file, environment);
  expect({ actions, isStored }).toEqual({
    actions: [
      'run the modules in "./operations" for the source "tasks"',
      'run "npx" "-y" "server \\u001b[2J" for the source "files"',
      'read the variable "KEY" for the source "remote"',
      'read the file "~/.ssh/id_rsa" for the source "remote"',
      'run the MCP servers of ".mcp.json" for the source "mine"',
      'read the variable "GITHUB_TOKEN" for the source "github"',
      'exchange calls with other programs over NATS for the source "bus"',
      'exchange calls with other programs over Redis for the source "queue"',
      'exchange calls with other programs over WebSocket for the source "office"',
      'accept connections from other machines on "0.0.0.0"',
      'write the history of calls to "~/.bashrc"',
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
    'run the modules in "7" for the source "c"',
    'run "[object Object]" "no" for the source "d"',
    'run the MCP servers of "undefined" for the source "__proto__"',
  ]);
  await write("operations.config.yaml", "sources: 5");
  expect((await checkTrust(file, environment)).actions).toEqual([]);
});

test.each(["ts", "js", "mjs"])("a program is not read to decide about it: .%s", async (extension) => {
  const file = await write(`operations.config.${extension}`, "throw new Error('it ran')");
  expect(await checkTrust(file, environment)).toMatchObject({
    actions: ["run it, because it is a program"],
    isStored: false,
  });
});

test("trust is bound to the content and the real path", async () => {
  const file = await write("operations.config.json", tasks);
  await storeTrust(await checkTrust(file, environment), environment);
  const trusted = async (path: string) => (await checkTrust(path, environment)).isStored;
  expect(await trusted(file)).toBe(true);

  await symlink(file, join(folder, "link.json"));
  expect(await trusted(join(folder, "link.json"))).toBe(true);

  await write("operations.config.json", `${JSON.stringify(tasks)} `);
  expect(await trusted(file)).toBe(false);

  await write("operations.config.json", tasks);
  expect(await trusted(file)).toBe(true);

  await rename(file, join(folder, "moved.json"));
  expect(await trusted(join(folder, "moved.json"))).toBe(false);
});

test.each([".mcp.json", "../user.json", "~mine/mcp.json"])(
  "a changed or new MCP file %s ends the trust",
  async (path) => {
    const inner = await realpath(await mkdtemp(join(folder, "project-")));
    const file = join(inner, "operations.config.json");
    await writeFile(file, JSON.stringify({ sources: { a: { mcpConfig: { file: path } } } }));
    await mkdir(join(inner, "~mine"));
    await rm(join(inner, path), { force: true });
    const trust = async () => storeTrust(await checkTrust(file, environment), environment);
    const trusted = async () => (await checkTrust(file, environment)).isStored;

    await trust();
    await writeFile(join(inner, path), "{}");
    expect(await trusted()).toBe(false);
    await trust();
    expect(await trusted()).toBe(true);
    await writeFile(join(inner, path), "[]");
    expect(await trusted()).toBe(false);
  },
);

test("a changed MCP file of the user does not end the trust", async () => {
  const own = await write("user.json", "{}");
  const sources = { a: { mcpConfig: { file: own } }, b: { mcpConfig: { file: "~/mcp.json" } } };
  const file = await write("operations.config.json", JSON.stringify({ sources }));
  await storeTrust(await checkTrust(file, environment), environment);
  await writeFile(own, '{ "mcpServers": {} }');
  expect((await checkTrust(file, environment)).isStored).toBe(true);
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

test("a record that is damaged, or of another path, is not trust", async () => {
  const file = await write("operations.config.json", tasks);
  const check = await checkTrust(file, environment);
  await storeTrust(check, environment);
  const [name] = await readdir(join(folder, "state/operations/trusted"));
  const record = join(folder, "state/operations/trusted", name!);
  const other = await checkTrust(await write("other.json", tasks), environment);
  for (const content of ["", "null", other.hash]) {
    await writeFile(record, content);
    expect((await checkTrust(file, environment)).isStored).toBe(false);
  }
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
      `The configuration ${JSON.stringify(file)} would:`,
      '  - run the modules in "./operations" for the source "tasks"',
      "It is not trusted, so nothing was run. Read it, then run `operations trust`, or name it with --config.",
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
  await expect(requireTrust(file, environment, confirm(false))).rejects.toThrow("It is not trusted");
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
