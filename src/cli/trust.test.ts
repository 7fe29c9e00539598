import { mkdtemp, readdir, realpath, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { HubConfig } from "../hub/index.ts";
import { checkTrust, type RequireTrustOptions, requireTrust, revokeTrust, storeTrust } from "./trust.ts";

let folder: string;
let options: RequireTrustOptions;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "trust-")));
  options = { environment: { XDG_STATE_HOME: join(folder, "state") } };
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
    },
    history: { file: "~/.bashrc" },
  });
  const { actions, trusted } = await checkTrust(file, options.environment);
  expect({ actions, trusted }).toEqual({
    actions: [
      'run the modules in "./operations" for the source "tasks"',
      'run "npx" "-y" "server \\u001b[2J" for the source "files"',
      'read the variable "KEY" for the source "remote"',
      'read the file "~/.ssh/id_rsa" for the source "remote"',
      'run the MCP servers of ".mcp.json" for the source "mine"',
      'read the variable "GITHUB_TOKEN" for the source "github"',
      'write the history of calls to "~/.bashrc"',
    ],
    trusted: false,
  });
});

test("a configuration that runs and reads nothing needs no trust", async () => {
  const file = await write("operations.config.json", { sources: { api: { openapi: "https://example.com/a.json" } } });
  expect(await checkTrust(file, homeless)).toMatchObject({ actions: [], trusted: true });
});

test("a configuration that nothing has checked yet is read with care", async () => {
  const file = await write(
    "operations.config.yaml",
    "sources: { a: null, b: [1], c: { modules: 7 }, d: { mcp: { command: { x: 1 }, args: no } }, __proto__: { mcpConfig: 1 } }",
  );
  expect((await checkTrust(file, options.environment)).actions).toEqual([
    'run the modules in "7" for the source "c"',
    'run "[object Object]" "no" for the source "d"',
    'run the MCP servers of "undefined" for the source "__proto__"',
  ]);
  await write("operations.config.yaml", "sources: 5");
  expect((await checkTrust(file, options.environment)).actions).toEqual([]);
});

test.each(["ts", "js", "mjs"])("a program is not read to decide about it: .%s", async (extension) => {
  const file = await write(`operations.config.${extension}`, "throw new Error('it ran')");
  expect(await checkTrust(file, options.environment)).toMatchObject({
    actions: ["run it, because it is a program"],
    trusted: false,
  });
});

test("trust is bound to the content and the real path", async () => {
  const file = await write("operations.config.json", tasks);
  await storeTrust(await checkTrust(file, options.environment), options.environment);
  const trusted = async (path: string) => (await checkTrust(path, options.environment)).trusted;
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

test("a changed or new MCP file in the folder ends the trust; one of the user does not", async () => {
  const own = await write("user.json", "{}");
  const inner = await realpath(await mkdtemp(join(folder, "project-")));
  const file = join(inner, "operations.config.json");
  const mcpConfig = (path: string) => ({ mcpConfig: { file: path } });
  const sources = { a: mcpConfig(".mcp.json"), b: mcpConfig(own), c: mcpConfig("../user.json"), d: mcpConfig("~/x") };
  await writeFile(file, JSON.stringify({ sources }));
  const trust = async () => storeTrust(await checkTrust(file, options.environment), options.environment);
  const trusted = async () => (await checkTrust(file, options.environment)).trusted;

  await trust();
  await writeFile(own, '{ "mcpServers": {} }');
  expect(await trusted()).toBe(true);
  await writeFile(join(inner, ".mcp.json"), "{}");
  expect(await trusted()).toBe(false);
  await trust();
  expect(await trusted()).toBe(true);
  await writeFile(join(inner, ".mcp.json"), "[]");
  expect(await trusted()).toBe(false);
});

test("trust can be revoked, also after the file is gone", async () => {
  const file = await write("operations.config.json", tasks);
  expect(await revokeTrust(file, options.environment)).toBe(false);
  await storeTrust(await checkTrust(file, options.environment), options.environment);
  expect(await revokeTrust(file, options.environment)).toBe(true);
  expect((await checkTrust(file, options.environment)).trusted).toBe(false);
  await storeTrust(await checkTrust(file, options.environment), options.environment);
  await rm(file);
  expect(await revokeTrust(file, options.environment)).toBe(true);
});

test("a record that is damaged, or of another path, is not trust", async () => {
  const file = await write("operations.config.json", tasks);
  const check = await checkTrust(file, options.environment);
  await storeTrust(check, options.environment);
  const [name] = await readdir(join(folder, "state/operations/trusted"));
  const record = join(folder, "state/operations/trusted", name!);
  for (const content of ["{", "null", JSON.stringify({ file: "/other", hash: check.hash })]) {
    await writeFile(record, content);
    expect((await checkTrust(file, options.environment)).trusted).toBe(false);
  }
});

test("only the user can read what is trusted", async () => {
  const file = await write("operations.config.json", tasks);
  await storeTrust(await checkTrust(file, options.environment), options.environment);
  const records = join(folder, "state/operations/trusted");
  const [name] = await readdir(records);
  const mode = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
  expect([await mode(records), await mode(join(records, name!))]).toEqual(["700", "600"]);
});

test("in a pipe an untrusted configuration is refused with the list of what it would run", async () => {
  const file = await write("operations.config.json", tasks);
  await expect(requireTrust(file, options)).rejects.toMatchObject({
    code: "CONFIG_NOT_TRUSTED",
    mayHaveRun: false,
    message: [
      `The configuration ${JSON.stringify(file)} would:`,
      '  - run the modules in "./operations" for the source "tasks"',
      "It is not trusted, so nothing was run. Read it, then run `operations trust`, or name it with --config.",
    ].join("\n"),
  });
});

test("a terminal asks once: a yes is stored, a no is not", async () => {
  const file = await write("operations.config.json", tasks);
  const questions: string[] = [];
  const ask = (reply: boolean) => async (question: string) => {
    questions.push(question);
    return reply;
  };
  await expect(requireTrust(file, { ...options, ask: ask(false) })).rejects.toThrow("It is not trusted");
  await requireTrust(file, { ...options, ask: ask(true) });
  await requireTrust(file, { ...options, ask: ask(false) });
  const question = `The configuration ${JSON.stringify(file)} would:
  - run the modules in "./operations" for the source "tasks"
Do you trust it?`;
  expect(questions).toEqual([question, question]);
});

test("without a state folder a yes holds for one command", async () => {
  const file = await write("operations.config.json", tasks);
  await requireTrust(file, { environment: homeless, ask: async () => true });
  expect((await checkTrust(file, homeless)).trusted).toBe(false);
});
