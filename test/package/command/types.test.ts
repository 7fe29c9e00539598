import { execFile } from "node:child_process";
import { readdirSync, readFileSync, symlinkSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { root } from "../../../scripts/subpaths.ts";
import { writeProject } from "./modules.ts";
import { createSandbox, hasTerminal, type Sandbox } from "./sandbox.ts";

let sandbox: Sandbox;
beforeAll(() => {
  sandbox = createSandbox();
  writeProject(sandbox);
});
afterAll(() => sandbox[Symbol.dispose]());

const named = ["--config", "operations.config.json"];
const printed = "The module prints.\n";

test("describe prints signature, example, access and source of an operation", async () => {
  const described = await sandbox.run(["describe", "note.add", ...named]);

  expect({ ...described, stdout: described.stdout.replace(sandbox.folder, "FOLDER") }).toEqual({
    stdout: `/** Adds a note. */
note.add(input: { text: string }): Promise<{ text: string }>

Example:
  npx @alkdev/operations call note.add text=text

Access: requires the scope "notes"

Source: FOLDER/operations.config.json, version 1.0.0
`,
    stderr: printed,
    exitCode: 0,
  });
});

test("describe prints JSON for programs, and suggests the id that was meant", async () => {
  const json = await sandbox.run(["describe", "note.add", "--jq", "[.id, .signature, .example]", ...named]);
  const misspelled = await sandbox.run(["describe", "note.ad", ...named]);

  expect(json).toEqual({
    stdout: `${JSON.stringify([
      "note.add",
      "/** Adds a note. */\nnote.add(input: { text: string }): Promise<{ text: string }>;\n",
      { text: "text" },
    ])}\n`,
    stderr: printed,
    exitCode: 0,
  });
  expect(misspelled).toEqual({
    stdout: "",
    stderr: `${printed}error OPERATION_NOT_FOUND: No operation "note.ad". Did you mean "note.add"?\n`,
    exitCode: 2,
  });
});

test("types of a configuration and of its running hub compile with the installed package, and invalid calls do not", async () => {
  const hub = sandbox.start(["serve", "--json", ...named]);
  await hub.shows('"url"');
  const { url } = JSON.parse(hub.printed.stdout) as { url: string };

  const written = await sandbox.run(["types", "--hub", url]);
  const checked = await sandbox.run(["types", "--check", "--hub", url]);
  hub.process.kill("SIGINT");
  await hub.ended;

  expect(written).toEqual({
    stdout: "",
    stderr: expect.stringMatching(/^Wrote operations.d.ts and operations.lock.json with \d+ operations.\n$/),
    exitCode: 0,
  });
  expect(checked).toEqual({ stdout: "", stderr: "", exitCode: 0 });
  expect(readdirSync(sandbox.folder)).toEqual(expect.arrayContaining(["operations.d.ts", "operations.lock.json"]));
  expect(await compile(program)).toEqual("");
});

const program = `
import type { OperationContext } from "@alkdev/operations";
import { connect } from "@alkdev/operations/client";
import type { Operations } from "./operations.js";

export async function run(context: OperationContext): Promise<string> {
  const client = connect<Operations>("http://127.0.0.1:4000");
  const { text } = await client.note.add({ text: "a" });
  for await (const tick of client.note.ticks({})) tick.toFixed();
  // @ts-expect-error: the text is a string
  client.note.add({ text: 1 });
  // @ts-expect-error: the operation does not exist
  client.note.ad({ text: "a" });
  // @ts-expect-error: the text is missing
  context.call("note.add", {});
  return text + (await context.call("note.add", { text: "a" })).text;
}
`;

/** Compiles a program beside the types. Returns what the compiler prints. */
async function compile(content: string): Promise<string> {
  sandbox.write("program.ts", content);
  sandbox.write("package.json", '{ "type": "module" }');
  const compilerOptions = {
    strict: true,
    noEmit: true,
    module: "nodenext",
    target: "es2022",
    lib: ["es2023", "dom", "esnext.disposable"],
    types: [],
    skipLibCheck: true,
  };
  sandbox.write("tsconfig.json", JSON.stringify({ compilerOptions, files: ["program.ts", "operations.d.ts"] }));
  symlinkSync(join(inject("consumer"), "node_modules"), join(sandbox.folder, "node_modules"));
  const compiler = join(dirname(createRequire(import.meta.url).resolve("@typescript/native/package.json")), "bin/tsc");
  const run = promisify(execFile)(process.execPath, [compiler, "-p", sandbox.folder, "--checkers", "1"]);
  return (await run.catch((error: { stdout: string }) => error)).stdout;
}

test("types --check lists breaking and harmless changes apart, and exits with 5", async () => {
  using project = createSandbox();
  writeProject(project);
  await project.run(["types", "-o", "src.d.ts", ...named]);
  const module = readFileSync(join(project.folder, "operations/notes.mjs"), "utf8");
  project.write(
    "operations/notes.mjs",
    module
      .replace('"Adds a note.", { text }', '"Adds a note.", { text, title: text }')
      .replace('"Fails."', '"Always fails."'),
  );

  expect(await project.run(["types", "--check", "-o", "src.d.ts", ...named])).toEqual({
    stdout: `Breaking changes:
  note.add: The input at "/title" is new and required.

Harmless changes:
  note.fail: The documentation changed.
`,
    stderr: `${printed}error CONTRACTS_CHANGED: The contracts differ from src.lock.json: 1 breaking change and 1 harmless change. Run "npx @alkdev/operations types" to accept them.\n`,
    exitCode: 5,
  });
});

test("types are not written while a source is missing", async () => {
  using project = createSandbox();
  const sources = { notes: { modules: "./operations" }, gone: { openapi: "./gone.json" } };
  writeProject(project, { sources });

  const { stdout, stderr, exitCode } = await project.run(["types", ...named]);

  expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 4 });
  expect(stderr).toMatch(
    /error UNAVAILABLE: The source "gone" is not ready: .*\. Its operations would be missing in the types\.\n$/,
  );
  expect(readdirSync(project.folder)).not.toContain("operations.d.ts");
});

test("without a lock, a check is invalid usage; without a home folder, types are written", async () => {
  using project = createSandbox();
  writeProject(project);

  expect(await project.run(["types", "--check", "--json", ...named])).toEqual({
    stdout: "",
    stderr: `${printed}${JSON.stringify({
      error: {
        code: "USAGE",
        message: `${JSON.stringify(join(project.folder, "operations.lock.json"))} does not exist. Run "npx @alkdev/operations types --lock" once and keep the file.`,
      },
    })}\n`,
    exitCode: 2,
  });
  expect(await project.run(["types", ...named], { env: { HOME: undefined } })).toEqual({
    stdout: "",
    stderr: expect.stringMatching(
      /^The module prints.\nWrote operations.d.ts and operations.lock.json with \d+ operations.\n$/,
    ),
    exitCode: 0,
  });
});

test("types of a source have a lock of their own if --lock demands one, and no link leads them out of the folder", async () => {
  using project = createSandbox();
  using elsewhere = createSandbox();
  const document = {
    openapi: "3.1.0",
    info: { title: "\u202e", version: "1" },
    servers: [{ url: "https://example.com" }],
    paths: { "/a": { get: { operationId: "a", responses: { 200: { description: "" } } } } },
  };
  project.write("api.json", JSON.stringify(document));
  symlinkSync(elsewhere.folder, join(project.folder, "link"));
  symlinkSync(join(elsewhere.folder, "outside.d.ts"), join(project.folder, "linked.d.ts"));
  const source = ["--openapi", "./api.json", "--base-url", "https://example.com"];

  const plain = await project.run(["types", ...source]);
  const locked = await project.run(["types", "-o", "api.d.ts", "--lock", ...source]);
  const checked = await project.run(["types", "-o", "api.d.ts", "--check", ...source]);
  const linked = await project.run(["types", "-o", "linked.d.ts", ...source]);
  const outside = await project.run(["types", "-o", "link/api.d.ts", ...source]);

  expect([plain, locked, checked, linked].map(({ stderr, exitCode }) => [stderr, exitCode])).toEqual([
    ["Wrote operations.d.ts with 1 operation.\n", 0],
    ["Wrote api.d.ts and api.lock.json with 1 operation.\n", 0],
    ["", 0],
    ["Wrote linked.d.ts with 1 operation.\n", 0],
  ]);
  expect({ stdout: outside.stdout, exitCode: outside.exitCode }).toEqual({ stdout: "", exitCode: 2 });
  expect(outside.stderr).toContain("a link leads out of the folder");
  expect(readdirSync(elsewhere.folder)).toEqual([]);
  const written = ["api.d.ts", "api.json", "api.lock.json", "link", "linked.d.ts", "operations.d.ts"];
  expect(readdirSync(project.folder).filter((name) => !name.startsWith("."))).toEqual(written);
});

test("a reader that leaves early ends types quietly", async () => {
  const early = sandbox.start(["types", "-o", "-", ...named]);
  early.process.stdout!.destroy();
  expect(await early.ended).toMatchObject({ exitCode: 0 });
});

test.each([
  ["types", () => ""],
  ["doctor", () => ""],
  ["doctor --json", () => '{"error":{"code":"ABORTED","message":"The user interrupted the command."}}\n'],
  [
    "list --json",
    (url: string) => {
      const message = `The start of ${JSON.stringify(url)} was interrupted.`;
      return `${JSON.stringify({ error: { code: "ABORTED", message } })}\n`;
    },
  ],
])("Ctrl-C ends %s while it connects", async (command, stderr) => {
  const requests: unknown[] = [];
  const silent = createServer((request) => requests.push(request.url));
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  try {
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/openapi.json`;
    const waiting = sandbox.start([...command.split(" "), "--openapi", url]);
    await new Promise((resolve) => silent.once("request", resolve));
    waiting.process.kill("SIGINT");
    expect(await waiting.ended).toEqual({ stdout: "", stderr: stderr(url), exitCode: 130 });
  } finally {
    silent.closeAllConnections();
    silent.close();
  }
});

describe.skipIf(!hasTerminal)("in a terminal", () => {
  test("a description has no control characters of others", async () => {
    const server = join(root, "test/fixtures/mcp-servers/terminal-escapes.mjs");
    const command = `'${process.execPath}' '${server}'`;
    const { stdout, exitCode } = await sandbox.startInTerminal(["describe", "tools.show", "--mcp-command", command])
      .ended;

    expect(exitCode).toBe(0);
    expect(stdout).toContain("tools.show(input: ");
    expect(stdout.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });
});
