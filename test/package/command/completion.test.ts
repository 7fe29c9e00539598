import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ensureProgram, type Program } from "../../../scripts/ensure-program.ts";
import { until } from "../../../src/internal/testing.ts";
import { createSandbox, hasTerminal, installedCommand, type Sandbox } from "./sandbox.ts";

const zsh = await ensureProgram("zsh");
const fish = await ensureProgram("fish");

/** An API with a hostile name, which a shell would run if it were suggested. */
const api = {
  openapi: "3.1.0",
  info: { title: "Users", version: "1.0.0" },
  servers: [{ url: "http://127.0.0.1:9" }],
  paths: {
    "/users/{id}": {
      get: {
        operationId: "getUser",
        summary: "Reads a user",
        parameters: [
          { name: "id", in: "path", required: true, schema: { type: "string" }, description: "Id of the user" },
          { name: "verbose", in: "query", schema: { type: "boolean" } },
          { name: "$(touch owned)", in: "query", schema: { type: "string" } },
        ],
        responses: { 200: { description: "A user" } },
      },
    },
    "/accounts": {
      get: {
        operationId: "accounts:list",
        parameters: [{ name: "filter:by", in: "query", schema: { type: "string" } }],
        responses: { 200: { description: "" } },
      },
    },
    "/hostile": { get: { operationId: "getX$(touch owned)`touch owned`", responses: { 200: { description: "" } } } },
  },
};

let sandbox: Sandbox;
let environment: NodeJS.ProcessEnv;

beforeAll(() => {
  sandbox = createSandbox();
  sandbox.write("api.json", JSON.stringify(api));
  const bin = join(sandbox.home, "bin");
  mkdirSync(bin);
  symlinkSync(installedCommand, join(bin, "operations"));
  environment = { HOME: sandbox.home, PATH: `${bin}:${process.env["PATH"]}`, TERM: "xterm", SHELL: "/bin/sh" };
});

afterAll(() => sandbox[Symbol.dispose]());

const complete = async (...words: string[]) => (await sandbox.run(["complete", "--", ...words])).stdout;

describe("suggestions", () => {
  const target = ["--openapi", "api.json"];

  test("are commands, options and their values", async () => {
    expect(await complete("to")).toBe("token\tCreate a token for a caller.\n");
    expect(await complete("call", "--env")).toBe("--envelope\tPrint the whole envelope, data and meta.\n");
    expect(await complete("mcp-config", "--for", "c")).toBe("claude\t\nclaude-desktop\t\ncursor\t\ncodex\t\n");
    expect(await complete("completion", "")).toBe("bash\t\nzsh\t\nfish\t\n");
  });

  test("are operations, then the keys of the input that are missing", async () => {
    expect(await complete("call", ...target, "")).toBe("api.getUser\tReads a user\napi.accounts:list\tGET /accounts\n");
    expect(await complete("describe", ...target, "api.g")).toBe("api.getUser\tReads a user\n");
    expect(await complete("call", ...target, "api.getUser", "")).toBe("id=\tId of the user\nverbose=\t\n");
    expect(await complete("call", "api.getUser", "id=1", ...target, "")).toBe("verbose=\t\n");
  });

  test("are file names after options and commands that take one", async () => {
    for (const words of [["call", "--config"], ["types", "-o"], ["list", "--openapi"], ["trust"], ["init"]]) {
      expect([words, await complete(...words, "")]).toEqual([words, ":files\n"]);
    }
  });

  test("are missing where nothing is known, and where something fails", async () => {
    const none = "";
    expect(await complete("unknown", "")).toBe(none);
    expect(await complete("call", "")).toBe(none);
    expect(await complete("call", "--openapi", "missing.json", "")).toBe(none);
    expect(await complete("call", "--unknown", "x", "")).toBe(none);
    expect(await complete("call", ...target, "api.other", "")).toBe(none);
    expect(await complete("call", "--hub", "")).toBe(none);
    expect(await complete("trust", "a.json", "")).toBe(none);
  });

  test("are read again after a while only, because sources take time to start", async () => {
    const file = sandbox.write("moment.json", JSON.stringify(api));
    const first = await complete("call", "--openapi", "moment.json", "api.g");
    rmSync(file);
    expect(await complete("call", "--openapi", "moment.json", "api.get")).toBe(first);
  });

  test("of the configuration in a folder are read when it is trusted, because also a request needs trust", async () => {
    using project = createSandbox();
    project.write("api.json", JSON.stringify(api));
    project.write("operations.config.json", JSON.stringify({ sources: { users: { openapi: "api.json" } } }));
    const completeHere = async () => (await project.run(["complete", "--", "call", "users.g"])).stdout;
    expect(await completeHere()).toBe("");
    await project.run(["trust"]);
    expect(await completeHere()).toBe("users.getUser\tReads a user\n");
  });

  test("run nothing that is not trusted", async () => {
    sandbox.write("cloned/operations.config.mjs", 'import { writeFileSync } from "node:fs"; writeFileSync("ran", "");');
    const outcome = await runShell({ path: "/bin/sh", env: {} }, [
      "-c",
      "cd cloned && operations complete -- call ''; ls",
    ]);
    expect(outcome).toBe("operations.config.mjs\n");
  });
});

/** Runs a shell without a terminal, and returns what it prints. */
async function runShell({ path, env }: Program, args: readonly string[]): Promise<string> {
  const child = spawn(path, args, { cwd: sandbox.folder, env: { ...env, ...environment } });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (part) => (printed += part));
  await once(child, "close");
  return printed;
}

/**
 * Types a line into an interactive shell, in which the command only prints its arguments, and returns what it printed. Tab
 * is a tab, and the line feed is added.
 */
async function type(line: string, command: string, env: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn("/usr/bin/script", ["-qefc", command, "/dev/null"], { cwd: sandbox.folder, env });
  let shown = "";
  child.stdout.setEncoding("utf8").on("data", (part) => (shown += part));
  const ended = once(child, "close");
  try {
    await until(() => shown.includes("READY> "));
    child.stdin.write(`${line}\n`);
    await until(() => /ran:.*:end/.test(shown));
    return /ran:(.*):end/.exec(shown)![1]!;
  } finally {
    child.kill("SIGKILL");
    await ended;
  }
}

/** The start file of a shell, with the completion that a user adds to it. */
const startFile = (shell: string) => `PS1='READY> '
operations() { if [ "$1" = complete ]; then command operations "$@"; else printf 'ran:'; printf '<%s>' "$@"; printf ':end\\n'; fi; }
source <(command operations completion ${shell})
`;

const typed: ReadonlyArray<[line: string, ran: string]> = [
  ["operations ca\t", "<call>"],
  ["operations call --openapi api.json api.g\t i\t7", "<call><--openapi><api.json><api.getUser><id=7>"],
  [
    "operations call --openapi api.json api.getUser id=1 \t",
    "<call><--openapi><api.json><api.getUser><id=1><verbose=>",
  ],
  ["operations mcp-config --for cu\t --wr\t", "<mcp-config><--for><cursor><--write>"],
  [
    "operations call --openapi api.json api.a\t filter:\tx",
    "<call><--openapi><api.json><api.accounts:list><filter:by=x>",
  ],
  ["operations call --openapi api.json api.accounts:\t", "<call><--openapi><api.json><api.accounts:list>"],
  ["operations list --openapi ap\t", "<list><--openapi><api.json>"],
];

describe.skipIf(!hasTerminal)("bash", () => {
  test.each(typed)("completes %j", async (line, ran) => {
    // Loading it twice, as with two start files, is harmless.
    const file = sandbox.write(".bashrc", startFile("bash") + startFile("bash"));
    expect(await type(line, `bash --noprofile --rcfile ${file} -i`, environment)).toBe(ran);
    expect(await runShell({ path: "/bin/sh", env: {} }, ["-c", "ls"])).not.toContain("owned");
  });

  test("evaluates nothing that is typed", async () => {
    const file = sandbox.write(".bashrc", startFile("bash"));
    const line = `operations call '$(touch typed)' \t`;
    expect(await type(line, `bash --noprofile --rcfile ${file} -i`, environment)).toBe("<call><$(touch typed)>");
    expect(await runShell({ path: "/bin/sh", env: {} }, ["-c", "ls"])).not.toContain("typed");
  });
});

describe.skipIf(!hasTerminal || zsh === undefined)("zsh", () => {
  test.each(typed)("completes %j", async (line, ran) => {
    const { path, env } = zsh!;
    const root = dirname(dirname(path)); // A zsh that is not installed has its modules and functions beside it.
    sandbox.write(
      ".zshenv",
      `module_path=(${root}/{usr/,}lib/*/zsh/*(/N) $module_path)\nfpath=(${root}/{usr/,}share/zsh/functions/**/*(/N) $fpath)\n`,
    );
    sandbox.write(".zshrc", `autoload -Uz compinit && compinit -u -D\n${startFile("zsh")}`);
    const shell = { ...env, ...environment, ZDOTDIR: sandbox.folder };
    expect(await type(line, `${path} -i`, shell)).toBe(ran);
    expect(await runShell({ path: "/bin/sh", env: {} }, ["-c", "ls"])).not.toContain("owned");
  });
});

describe.skipIf(fish === undefined)("fish", () => {
  test.each([
    ["operations ca", "call\tCall an operation and print its result.\n"],
    ["operations call --openapi api.json ap", "api.accounts:list\tGET /accounts\napi.getUser\tReads a user\n"],
    ["operations call --openapi api.json api.accounts:", "api.accounts:list\tGET /accounts\n"],
    ["operations call --openapi api", "api.json\n"],
    ["operations call --openapi api.json api.getUser ", "id=\tId of the user\nverbose=\n"],
    ["operations mcp-config --for cl", "claude\nclaude-desktop\n"],
  ])("completes %j", async (line, expected) => {
    // A fish that is not installed has its functions beside it.
    const functions = `${dirname(dirname(fish!.path))}/share/fish/functions`;
    const script = `set -a fish_function_path ${functions}; operations completion fish | source; complete -C '${line}'`;
    expect(await runShell(fish!, ["--no-config", "-c", script])).toBe(expected);
  });
});

test("an unknown shell is refused", async () => {
  expect(await sandbox.run(["completion", "fisch"])).toEqual({
    stdout: "",
    stderr: 'error: There is no completion for "fisch". Did you mean "fish"?\n',
    exitCode: 2,
  });
});
