import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ensureProgram, type Program } from "../../../scripts/ensure-program.ts";
import { until } from "../../../src/internal/testing.ts";
import { createSandbox, hasTerminal, installedCommand, type Running, type Sandbox } from "./sandbox.ts";

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
let hub: Running;
let url: string;
let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  sandbox = createSandbox();
  sandbox.write("api.json", JSON.stringify(api));
  hub = sandbox.start(["serve", "--openapi", "api.json", "--port", "0", "--json"]);
  await hub.shows('"url"');
  url = JSON.parse(hub.printed.stdout).url;
  const bin = join(sandbox.home, "bin");
  mkdirSync(bin);
  symlinkSync(installedCommand, join(bin, "operations"));
  environment = {
    HOME: sandbox.home,
    PATH: `${bin}:${process.env["PATH"]}`,
    TERM: "xterm",
    SHELL: "/bin/sh",
    OPERATIONS_HUB: url,
  };
});

afterAll(() => sandbox[Symbol.dispose]());

const complete = async (...words: string[]) => (await sandbox.run(["complete", "--", ...words])).stdout;

describe("suggestions", () => {
  const target = () => ["--hub", url];

  test("are commands, options and their values", async () => {
    expect(await complete("to")).toBe("token\tCreate a token for a caller.\n");
    expect(await complete("call", "--env")).toBe("--envelope\tPrint the whole envelope, data and meta.\n");
    expect(await complete("mcp-config", "--for", "c")).toBe("claude\t\nclaude-desktop\t\ncursor\t\ncodex\t\n");
    expect(await complete("completion", "")).toBe("bash\t\nzsh\t\nfish\t\n");
  });

  test("are operations of a running hub, then the keys of the input that are missing", async () => {
    expect(await complete("call", ...target(), "api.")).toBe(
      "api.getUser\tReads a user\napi.accounts:list\tGET /accounts\n",
    );
    expect(await complete("describe", ...target(), "api.g")).toBe("api.getUser\tReads a user\n");
    expect(await complete("call", ...target(), "api.getUser", "")).toBe("id=\tId of the user\nverbose=\t\n");
    expect(await complete("call", "api.getUser", "id=1", ...target(), "")).toBe("verbose=\t\n");
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
    expect(await complete("call", "--openapi", "api.json", "")).toBe(none);
    expect(await complete("call", "--unknown", "x", "")).toBe(none);
    expect(await complete("call", ...target(), "api.other", "")).toBe(none);
    expect(await complete("call", "--hub", "")).toBe(none);
    expect(await complete("trust", "a.json", "")).toBe(none);
  });

  test("run no configuration, even if it is trusted", async () => {
    sandbox.write("cloned/operations.config.mjs", 'import { writeFileSync } from "node:fs"; writeFileSync("ran", "");');
    const outcome = await runShell({ path: "/bin/sh", env: {} }, [
      "-c",
      "cd cloned && operations trust >/dev/null && operations complete -- call ''; ls",
    ]);
    expect(outcome).not.toContain("ran\n");
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
  ["operations desc\t", "<describe>"],
  ["operations call api.g\t i\t7", "<call><api.getUser><id=7>"],
  ["operations call api.getUser id=1 \t", "<call><api.getUser><id=1><verbose=>"],
  ["operations mcp-config --for cu\t --na\t", "<mcp-config><--for><cursor><--name>"],
  ["operations call api.a\t filter:\tx", "<call><api.accounts:list><filter:by=x>"],
  ["operations call api.accounts:\t", "<call><api.accounts:list>"],
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
    ["operations tok", "token\tCreate a token for a caller.\n"],
    ["operations call ap", "api.accounts:list\tGET /accounts\napi.getUser\tReads a user\n"],
    ["operations call api.accounts:", "api.accounts:list\tGET /accounts\n"],
    ["operations call --openapi api", "api.json\n"],
    ["operations call api.getUser ", "id=\tId of the user\nverbose=\n"],
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
