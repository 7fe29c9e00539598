import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { root } from "../../../scripts/subpaths.ts";
import { writeProject } from "./modules.ts";
import { createSandbox, hasTerminal, installedCommand, type Sandbox } from "./sandbox.ts";

let sandbox: Sandbox;

beforeEach(() => {
  sandbox = createSandbox();
  writeProject(sandbox);
});

afterEach(() => sandbox[Symbol.dispose]());

const named = ["--config", "operations.config.json"];
const escapes = [
  "--mcp-command",
  `'${process.execPath}' '${join(root, "test/fixtures/mcp-servers/terminal-escapes.mjs")}'`,
];
const shown = "\\u001b]0;owned\\u0007\\u001b[2J\\u009b31m\\u202e";
const bold = (text: string) => `\u001b[1m${text}\u001b[22m`;
const dim = (text: string) => `\u001b[2m${text}\u001b[22m`;
const cyan = (text: string) => `\u001b[36m${text}\u001b[39m`;
const green = (text: string) => `\u001b[32m${text}\u001b[39m`;
const red = (text: string) => `\u001b[31m${text}\u001b[39m`;

describe.skipIf(!hasTerminal)("in a terminal", () => {
  test("list prints a table that fits the terminal, without control characters", async () => {
    const { stdout, exitCode } = await sandbox.startInTerminal(["list", ...escapes]).ended;

    expect(exitCode).toBe(0);
    expect(stdout).toBe(
      `${bold("tools.show")}  ${cyan("mutation")}  ${dim(`A${shown}B`)}\n` +
        `${bold("tools.fail")}  ${cyan("mutation")}  ${dim("Tool fail")}\n`,
    );
  });

  test("results and errors have no control characters, in every format", async () => {
    const raw = await sandbox.startInTerminal(["call", "tools.show", "--jq", ".[0].text", "--raw", ...escapes]).ended;
    const json = await sandbox.startInTerminal(["call", "tools.show", "--json", ...escapes]).ended;
    const error = await sandbox.startInTerminal(["call", "tools.fail", ...escapes]).ended;
    const jsonError = await sandbox.startInTerminal(["call", "tools.fail", "--json", ...escapes]).ended;

    expect(raw.stdout).toContain(`before${shown}after\n`);
    expect(json.stdout).toContain(`before${shown}after`);
    expect(error.stdout).toContain(`${red("error EXECUTION_ERROR:")} it broke${shown}`);
    expect([raw.exitCode, json.exitCode, error.exitCode, jsonError.exitCode]).toEqual([0, 0, 5, 5]);
    for (const { stdout } of [raw, json, jsonError]) expect(stdout.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  test("data is indented and coloured, and not coloured with NO_COLOR", async () => {
    const call = ["call", "note.add", "text=a", ...named];
    const colored = await sandbox.startInTerminal(call).ended;
    const plain = await sandbox.startInTerminal(call, { env: { NO_COLOR: "1" } }).ended;

    expect(colored.stdout).toBe(`The module prints.\n{\n  ${cyan('"text"')}: ${green('"a"')}\n}\n`);
    expect(plain.stdout).toBe('The module prints.\n{\n  "text": "a"\n}\n');
  });

  test("Ctrl-C ends a subscription with 130", async () => {
    const reading = sandbox.startInTerminal(["subscribe", "note.ticks", "--no-color", ...named]);
    await reading.shows("\n3\n");
    reading.process.stdin!.write("\u0003");

    expect(await reading.ended).toMatchObject({ exitCode: 130, stdout: expect.not.stringContaining("error:") });
  });

  test("a configuration that was found runs after a yes, which is remembered", async () => {
    const asking = sandbox.startInTerminal(["call", "note.add", "text=a"]);
    await asking.shows("Do you trust its folder, also after later changes? [y/N] ");
    const hadRun = existsSync(join(sandbox.folder, "loaded"));
    asking.process.stdin!.write("y\r");

    expect(hadRun).toBe(false);
    expect(await asking.ended).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('"text"') });
    expect(await sandbox.run(["call", "note.add", "text=a"])).toMatchObject({ exitCode: 0, stdout: '{"text":"a"}\n' });
  });

  test.each([["n\r"], ["\r"], ["\u0004"], ["\u0003"]])(
    "a configuration that was found does not run after %j",
    async (key) => {
      const asking = sandbox.startInTerminal(["list"]);
      await asking.shows("Do you trust its folder, also after later changes? [y/N] ");
      asking.process.stdin!.write(key);

      expect((await asking.ended).exitCode).toBe(key === "\u0003" ? 130 : 2);
      expect(existsSync(join(sandbox.folder, "loaded"))).toBe(false);
    },
  );

  test("a result that cannot be written is a failure", () => {
    const full = openSync("/dev/full", "w");
    const { status, stderr } = spawnSync(process.execPath, [installedCommand, "token", "ada", "--json"], {
      stdio: ["ignore", full, "pipe"],
      encoding: "utf8",
    });
    closeSync(full);

    expect(status).toBe(1);
    expect(JSON.parse(stderr)).toEqual({
      error: { code: "UNEXPECTED", message: "ENOSPC: no space left on device, write." },
    });
  });
});
