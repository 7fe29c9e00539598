import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, renameSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, inject, onTestFinished, test } from "vitest";
import { root } from "../../../scripts/subpaths.ts";
import { hashToken } from "../../../src/auth/index.ts";
import { errorCodesByExitCode } from "../../../src/cli/failures.ts";
import { install, linkPackages } from "../install.ts";
import { writeProject } from "./modules.ts";
import { createSandbox, hasTerminal, installedCommand, type Sandbox } from "./sandbox.ts";

const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const projectFiles = [
  "package.json",
  "operations.config.ts",
  "operations/greeting.ts",
  "tsconfig.json",
  ".gitignore",
  "README.md",
];

let sandbox: Sandbox;
let config: string;

beforeEach(() => {
  sandbox = createSandbox();
  config = join(sandbox.folder, "operations.config.json");
});

afterEach(() => sandbox[Symbol.dispose]());

const failure = (message: string, code = "") => ({ stdout: "", stderr: `error${code}: ${message}\n`, exitCode: 2 });

describe("init", () => {
  test("creates a project that compiles, and whose operation is called and served", async () => {
    expect(await sandbox.run(["init"])).toEqual({
      stdout: `${projectFiles.map((file) => `created  ${file}\n`).join("")}
Next:
  npm install
  npx @alkdev/operations serve
  npx @alkdev/operations call greeting.hello name=Ada
`,
      stderr: "",
      exitCode: 0,
    });
    install(inject("tarball"), sandbox.folder); // What `npm install` does, without a network.

    // The user created the configuration, so that it may run.
    expect(await sandbox.run(["call", "greeting.hello", "name=Ada"])).toEqual({
      stdout: '{"message":"Hello, Ada!"}\n',
      stderr: "",
      exitCode: 0,
    });
    const hub = sandbox.start(["serve", "--port", "0"]);
    await hub.shows("Try in another terminal:\n  npx @alkdev/operations list --hub ");
    hub.process.kill("SIGINT");
    expect(await hub.ended).toMatchObject({
      stdout: expect.stringMatching(/^Listening on http:\/\/127\.0\.0\.1:/),
      stderr: expect.stringContaining("npx @alkdev/operations call greeting.hello name=name --hub "),
      exitCode: 0,
    });

    linkPackages(sandbox.folder, ["@types/node"]);
    const compiler = join(root, "node_modules/.bin/tsc");
    execFileSync(process.execPath, [compiler, "-p", sandbox.folder, "--checkers", "1"], { stdio: "inherit" });
  });

  test("creates a folder, and never changes a file", async () => {
    sandbox.write("my hub/README.md", "mine");
    sandbox.write("my hub/package.json", "{}");
    const { stdout, exitCode } = await sandbox.run(["init", "my hub"]);
    const created = ["operations.config.ts", "operations/greeting.ts", "tsconfig.json", ".gitignore"];
    expect({ stdout, exitCode }).toEqual({
      stdout: `${created.map((file) => `created  my hub/${file}\n`).join("")}kept     my hub/package.json
kept     my hub/README.md

Next:
  cd "my hub"
  npm install @alkdev/operations
  npx @alkdev/operations trust    # after reading the files that were in the folder before
  npx @alkdev/operations serve
  npx @alkdev/operations call greeting.hello name=Ada
`,
      exitCode: 0,
    });
    expect(readFileSync(join(sandbox.folder, "my hub/README.md"), "utf8")).toBe("mine");

    const again = join(sandbox.folder, "my hub/operations.config.ts");
    expect(await sandbox.run(["init", "my hub"])).toEqual(
      failure(`${JSON.stringify(again)} exists. Delete it first, or name another folder.`),
    );
  });

  test.each([
    ["My Hub!", "my-hub"],
    ["!!!", "operations-project"],
  ])("names the package of the folder %j", async (folder, name) => {
    await sandbox.run(["init", folder]);
    expect(JSON.parse(readFileSync(join(sandbox.folder, folder, "package.json"), "utf8"))).toEqual({
      name,
      private: true,
      type: "module",
      scripts: {
        start: "operations serve --config operations.config.ts",
        dev: "operations serve --dev --config operations.config.ts",
      },
      dependencies: { "@alkdev/operations": `^${version}` },
      devDependencies: { "@types/node": "^20.19.0" },
    });
  });

  test("refuses a folder that cannot be created", async () => {
    const file = sandbox.write("file", "");
    const folder = join(realpathSync(file), "inner");
    expect(await sandbox.run(["init", "file/inner"])).toEqual(
      failure(`The file "${folder}" cannot be written: ENOTDIR: not a directory.`),
    );
  });

  test("works without a home folder, and prints JSON", async () => {
    const { stdout, stderr, exitCode } = await sandbox.run(["init", "--json"], { env: { HOME: "" } });
    expect({ stderr, exitCode, ...JSON.parse(stdout) }).toEqual({
      stderr: "",
      exitCode: 0,
      folder: realpathSync(sandbox.folder),
      created: projectFiles,
      kept: [],
      trusted: true,
    });
  });

  test("does not trust modules that were in the folder before", async () => {
    sandbox.write("operations/cloned.mjs", 'import { writeFileSync } from "node:fs"; writeFileSync("ran", "");');
    const { stdout, exitCode } = await sandbox.run(["init", "--json"]);
    expect([JSON.parse(stdout).trusted, exitCode]).toEqual([false, 0]);
    install(inject("tarball"), sandbox.folder);

    const { stderr, exitCode: refused } = await sandbox.run(["list"]);
    expect([stderr.includes("Its folder is not trusted, so nothing was run."), refused]).toEqual([true, 2]);
    expect(existsSync(join(sandbox.folder, "ran"))).toBe(false);
  });
});

describe("trust", () => {
  const would = () => `The configuration ${JSON.stringify(config)} runs, opens or reads:
  - sources.notes.modules: "./operations"
`;

  test("a cloned repository runs nothing until its folder is trusted, also after a change", async () => {
    writeProject(sandbox);
    const refused = failure(
      `${would()}Its folder is not trusted, so nothing was run. Read it, then run \`npx @alkdev/operations trust\`, or name it with --config.`,
      " CONFIG_NOT_TRUSTED",
    );
    expect(await sandbox.run(["list"])).toMatchObject(refused);
    expect(await sandbox.run(["serve"])).toMatchObject(refused);
    expect(existsSync(join(sandbox.folder, "loaded"))).toBe(false);

    expect(await sandbox.run(["trust"])).toEqual({
      stdout: `The folder ${JSON.stringify(dirname(config))} is trusted, also after later changes.\n`,
      stderr: would(),
      exitCode: 0,
    });
    expect((await sandbox.run(["call", "note.add", "text=a"])).stdout).toBe('{"text":"a"}\n');

    expect((await sandbox.run(["trust", "--revoke", "operations.config.json"])).stdout).toBe(
      `The folder ${JSON.stringify(dirname(config))} is no longer trusted.\n`,
    );
    expect(await sandbox.run(["list"])).toMatchObject(refused);
    expect((await sandbox.run(["trust", "--revoke", "--json"])).stdout).toBe(
      `${JSON.stringify({ file: config, revoked: false })}\n`,
    );
    await sandbox.run(["trust"]);
    writeProject(sandbox, { history: {} });
    expect(await sandbox.run(["list"])).toMatchObject({ exitCode: 0 });
  });

  test("a cloned repository with a link to a trusted configuration runs only that one", async () => {
    writeProject(sandbox);
    mkdirSync(join(sandbox.folder, "trusted"));
    renameSync(config, join(sandbox.folder, "trusted/operations.config.json"));
    await sandbox.run(["trust", "trusted/operations.config.json"]);
    symlinkSync("trusted/operations.config.json", config);

    expect(await sandbox.run(["list"])).toMatchObject({ stdout: expect.not.stringContaining("note.") });
    expect(existsSync(join(sandbox.folder, "loaded"))).toBe(false);
  });

  test.each([
    ["a bus", { sources: { bus: { nats: { servers: "nats://127.0.0.1:9", trustedBus: true, serve: true } } } }],
    ["another machine", { serve: { port: 0, host: "0.0.0.0" } }],
  ])("a cloned repository does not open a path for %s", async (_title, content) => {
    sandbox.write("operations.config.json", JSON.stringify(content));
    for (const command of ["list", "serve", "types", "doctor"]) {
      expect([command, (await sandbox.run([command])).exitCode]).toEqual([command, 2]);
    }
  });

  test("a hub does not run what is written to its configuration later, unless that is trusted or named", async () => {
    sandbox.write("operations.config.json", '{ "serve": { "port": 0 } }');
    const reload = async (args: readonly string[]) => {
      const hub = sandbox.start(["serve", "--json", ...args]);
      await hub.shows('"url"');
      const { url } = JSON.parse(hub.printed.stdout);
      writeProject(sandbox);
      const run = () => sandbox.run(["call", "hub.reload", "--jq", ".added", "--hub", url]);
      return { run, end: () => hub.process.kill("SIGKILL") };
    };
    const found = await reload([]);
    expect(await found.run()).toEqual(
      failure(
        `${would()}Its folder is not trusted, so nothing was run. Read it, then run \`npx @alkdev/operations trust\`, or name it with --config.`,
        " CONFIG_NOT_TRUSTED",
      ),
    );
    expect(existsSync(join(sandbox.folder, "loaded"))).toBe(false);
    await sandbox.run(["trust"]);
    expect(await found.run()).toMatchObject({ stdout: '["notes"]\n', exitCode: 0 });
    found.end();

    await sandbox.run(["trust", "--revoke"]);
    sandbox.write("operations.config.json", '{ "serve": { "port": 0 } }');
    const named = await reload(["--config", "operations.config.json"]);
    expect(await named.run()).toMatchObject({ stdout: '["notes"]\n', exitCode: 0 });
    named.end();
  });

  test("a configuration that only writes a history needs trust, and only serving it writes the file", async () => {
    const history = join(sandbox.folder, "calls.db");
    sandbox.write("operations.config.json", JSON.stringify({ history: { file: history } }));
    const refused = await sandbox.run(["list"]);
    expect([refused.stderr.includes(`  - history.file: ${JSON.stringify(history)}\n`), refused.exitCode]).toEqual([
      true,
      2,
    ]);

    expect(await sandbox.run(["list", "--config", "operations.config.json"])).toMatchObject({
      stderr: "",
      exitCode: 0,
    });
    expect(existsSync(history)).toBe(false);
  });

  test.skipIf(!hasTerminal)("a terminal asks, and a no runs nothing", async () => {
    writeProject(sandbox);
    const no = sandbox.startInTerminal(["call", "note.add", "text=a"]);
    await no.shows("Do you trust its folder, also after later changes? [y/N] ");
    no.process.stdin!.write("n\n");
    expect((await no.ended).exitCode).toBe(2);
    expect(existsSync(join(sandbox.folder, "loaded"))).toBe(false);

    const yes = sandbox.startInTerminal(["call", "note.add", "text=a"]);
    await yes.shows("Do you trust its folder, also after later changes? [y/N] ");
    yes.process.stdin!.write("y\n");
    expect((await yes.ended).exitCode).toBe(0);
    expect((await sandbox.run(["call", "note.add", "text=b"])).stdout).toBe('{"text":"b"}\n');
  });

  test("needs a configuration and a home folder", async () => {
    expect(await sandbox.run(["trust"])).toEqual(
      failure("There is no operations.config file in this folder. Name it: npx @alkdev/operations trust FILE."),
    );
    expect(await sandbox.run(["trust", "x.json"])).toEqual(
      failure(`The file ${JSON.stringify(join(sandbox.folder, "x.json"))} does not exist.`),
    );
    writeProject(sandbox);
    expect(await sandbox.run(["trust"], { env: { HOME: "" } })).toEqual(
      failure("There is no home folder to store the trust in. Set XDG_STATE_HOME, or name the file with --config."),
    );
  });
});

test.each([
  ["ts", 'import { a } from "./a.ts";\n', 2],
  ["mjs", "", 1],
  ["js", "// a comment\n", 2],
])("a syntax error in a .%s configuration is reported with its line", async (extension, head, line) => {
  const file = `operations.config.${extension}`;
  sandbox.write(file, `${head}export default { sources: { a: { modules "./s3cr3t" } } };`);
  const { stderr, exitCode } = await sandbox.run(["list", "--config", file]);
  // The reason is that of the parser, which depends on the version of Node.
  const [place, reason] = stderr.split(" The configuration cannot be run: ");
  expect([place, reason?.includes("s3cr3t"), exitCode]).toEqual([`error VALIDATION_ERROR: ${file}:${line}:`, false, 2]);
});

describe("token", () => {
  test("prints the token, and the line of the configuration that contains its hash", async () => {
    const { stdout, stderr, exitCode } = await sandbox.run(["token", "ada", "--scopes", "tasks,github"]);
    const hash = hashToken(stdout.trim());
    expect({ stderr, exitCode }).toEqual({
      stderr: `The token is shown once. Send it to the caller, and add this line to access.tokens of the configuration:

  {"hash":"${hash}","identity":{"id":"ada","scopes":["tasks","github"]}},

`,
      exitCode: 0,
    });

    const json = await sandbox.run(["token", "ci", "--json"]);
    const { token, ...entry } = JSON.parse(json.stdout);
    expect(entry).toEqual({ hash: hashToken(token), identity: { id: "ci", scopes: [] } });
    expect(json.stderr).toBe("");
  });

  test("needs the id of the caller", async () => {
    expect(await sandbox.run(["token"])).toMatchObject({ stdout: "", exitCode: 2 });
    expect(await sandbox.run(["token", ""])).toMatchObject({ stdout: "", exitCode: 2 });
  });
});

describe("mcp-config", () => {
  const shared = ["-y", "@alkdev/operations", "serve", "--stdio", "--config"];

  test("prints what to add to the file of an editor, and the command of the product", async () => {
    writeProject(sandbox);
    const { stdout, stderr, exitCode } = await sandbox.run(["mcp-config", "--for", "claude", "--name", "notes"]);
    expect({ servers: JSON.parse(stdout), stderr, exitCode }).toEqual({
      servers: {
        mcpServers: { notes: { type: "stdio", command: "npx", args: [...shared, "operations.config.json"] } },
      },
      stderr: `Add this to .mcp.json or ~/.claude.json. Or run: claude mcp add --scope project notes -- npx ${shared.join(" ")} operations.config.json\n`,
      exitCode: 0,
    });
    const cursor = await sandbox.run(["mcp-config", "--for", "cursor"]);
    expect(JSON.parse(cursor.stdout).mcpServers.operations).toEqual({
      command: "npx",
      args: [...shared, `\${workspaceFolder}/operations.config.json`],
    });
    expect(readdirSync(sandbox.folder).filter((name) => name.startsWith("."))).toEqual([]);
  });

  test("prints a program that starts in any folder for the file of a user", async () => {
    writeProject(sandbox);
    const { stdout } = await sandbox.run(["mcp-config", "--for", "claude-desktop", "--json"]);
    const { command, args } = JSON.parse(stdout).mcpServers.operations;
    expect([command, ...args]).toEqual([
      process.execPath,
      realpathSync(installedCommand),
      "serve",
      "--stdio",
      "--config",
      config,
    ]);
    const server = ["--mcp-command", [command, ...args].map((word: string) => `'${word}'`).join(" ")];
    expect((await sandbox.run(["call", "tools.note_add", "text=a", ...server])).stdout).toBe('{"text":"a"}\n');
  });

  test("prints the URL of a running hub without its token, and where the token is from", async () => {
    writeProject(sandbox);
    const env = { OPERATIONS_HUB: "http://127.0.0.1:4000" };
    const cursor = await sandbox.run(["mcp-config", "--for", "cursor"], { env });
    expect(JSON.parse(cursor.stdout).mcpServers.operations).toEqual({
      url: "http://127.0.0.1:4000/mcp",
      headers: { Authorization: `Bearer \${env:OPERATIONS_TOKEN}` },
    });
    expect(cursor.stderr).toBe(`Add this to .cursor/mcp.json or ~/.cursor/mcp.json.
Set OPERATIONS_TOKEN where Cursor runs. The hub prints its token when it starts; \`npx @alkdev/operations token NAME\` creates one for \`access.tokens\`.
`);
    const codex = await sandbox.run(["mcp-config", "--for", "codex"], { env });
    expect(codex.stdout).toBe(
      "codex mcp add operations --url http://127.0.0.1:4000/mcp --bearer-token-env-var OPERATIONS_TOKEN\n",
    );
    const named = await sandbox.run(["mcp-config", "--for", "codex", "--config", "operations.config.json"], { env });
    expect(named.stdout).toBe(`codex mcp add operations -- npx ${shared.join(" ")} operations.config.json\n`);
  });

  test("refuses what it cannot do", async () => {
    const run = (...args: string[]) => sandbox.run(["mcp-config", ...args]);
    const names = "claude, claude-desktop, cursor, vscode, windsurf, gemini, codex";
    expect(await run()).toEqual(failure(`Pass --for with the name of an editor: ${names}.`));
    expect(await run("--for", "curser")).toEqual(failure('There is no editor "curser". Did you mean "cursor"?'));
    expect(await run("--for", "claude")).toEqual(
      failure("There is no operations.config file in this folder. Pass --config FILE, or --hub URL of a running hub."),
    );
    for (const url of ["javascript:alert(1)", "127.0.0.1:4000"]) {
      expect(await run("--for", "claude", "--hub", url)).toEqual(
        failure(`"${url}" is not the URL of a hub. It begins with http:// or https://.`),
      );
    }
    expect(await run("--for", "claude-desktop", "--hub", "http://127.0.0.1:4000")).toEqual(
      failure("The file of Claude Desktop cannot contain URLs, only programs. Pass --config instead of --hub."),
    );
  });
});

describe("help", () => {
  test("prints what --help prints, also of a command", async () => {
    expect(await sandbox.run(["help"])).toEqual(await sandbox.run(["--help"]));
    expect(await sandbox.run(["help", "token"])).toEqual(await sandbox.run(["token", "--help"]));
    expect(await sandbox.run(["help", "tokn"])).toEqual(failure('There is no command "tokn". Did you mean "token"?'));
  });

  test("describes all commands as JSON, each with examples", async () => {
    const { version: printed, commands } = JSON.parse((await sandbox.run(["help", "--json"])).stdout);
    const names = commands.map(({ name }: { name: string }) => name);
    const design =
      "serve list describe call subscribe calls sources console types init token trust doctor mcp-config completion".split(
        " ",
      );
    expect([printed, names.toSorted()]).toEqual([version, [...design, "help"].toSorted()]);
    for (const { examples } of commands) expect(examples.length).toBeGreaterThan(0);
  });

  test("the page about the command lists every command and error code", async () => {
    const { commands } = JSON.parse((await sandbox.run(["help", "--json"])).stdout);
    const page = readFileSync(join(root, "docs/command.md"), "utf8");
    // Its tables are written from the code; the options of short commands are in their help only.
    const missing = commands.filter(({ name }: { name: string }) => !page.includes(`| \`${name}\` |`));
    expect(missing).toEqual([]);
    const codes = Object.values(errorCodesByExitCode).flat();
    expect(codes.filter((code) => !page.includes(`\`${code}\``))).toEqual([]);
  });
});

describe("doctor", () => {
  const head = `ok       node: Node ${process.versions.node}.\n`;

  test("reports that everything works", async () => {
    writeProject(sandbox);
    expect(await sandbox.run(["doctor", "--config", "operations.config.json"])).toEqual({
      stdout: `${head}ok       config: ${config} is valid.
ok       port: Port 0 of 127.0.0.1 is free.
ok       source notes: modules, 4 operations.
`,
      stderr: "The module prints.\n",
      exitCode: 0,
    });
  });

  test("reports what does not work, and how to fix it", async () => {
    const taken = createServer();
    onTestFinished(() => void taken.close());
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const { port } = taken.address() as { port: number };
    const sources = { missing: { modules: "./missing" }, tool: { mcp: { command: "no-such-program" } } };
    writeProject(sandbox, { sources, serve: { port } });
    const { stdout, exitCode } = await sandbox.run(["doctor", "--json", "--config", "operations.config.json"]);
    const problems = JSON.parse(stdout).filter(({ status }: { status: string }) => status === "problem");
    expect({ problems, exitCode }).toEqual({
      problems: [
        {
          check: "port",
          status: "problem",
          message: `The hub cannot listen on port ${port} of 127.0.0.1: listen EADDRINUSE: address already in use 127.0.0.1:${port}.`,
          fix: "End the program that uses the port, or set another serve.port.",
          exitCode: 4,
        },
        {
          check: "source missing",
          status: "problem",
          message: expect.stringContaining(join(sandbox.folder, "missing")),
          fix: "Correct the path or the module that the reason names.",
          exitCode: 4,
        },
        {
          check: "source tool",
          status: "problem",
          message: expect.stringContaining('The program "no-such-program" was not found'),
          fix: "Start the command of the source in a terminal, or check its URL and `auth`.",
          exitCode: 4,
        },
      ],
      exitCode: 4,
    });
  });

  test("reports an invalid and an untrusted configuration, and a missing one", async () => {
    expect(await sandbox.run(["doctor"])).toEqual({
      stdout: `${head}warning  config: There is no operations.config file in this folder.
  fix: Create one with \`npx @alkdev/operations init\`, or pass --config.
`,
      stderr: "",
      exitCode: 0,
    });
    sandbox.write("operations.config.json", '{ "sorces": {} }');
    expect((await sandbox.run(["doctor"])).stdout).toContain("  - sorces: {}\n"); // An unknown field may be harmful.
    expect(await sandbox.run(["doctor", "--config", "operations.config.json"])).toEqual({
      stdout: `${head}problem  config: operations.config.json:1:3: "sorces" is not a known key. Did you mean "sources"?
`,
      stderr: "",
      exitCode: 2,
    });
    writeProject(sandbox);
    const { stdout, exitCode } = await sandbox.run(["doctor"]);
    expect([stdout.includes("Its folder is not trusted, so nothing was run."), exitCode]).toEqual([true, 2]);
    expect(existsSync(join(sandbox.folder, "loaded"))).toBe(false);
  });

  test("reports that the hub of the configuration is running, but not that of another one, or another program", async () => {
    const checkPort = async (port: number, config = {}, env = {}, name = "operations.config.json") => {
      writeProject(sandbox, { serve: { port }, ...config });
      const { stdout } = await sandbox.run(["doctor", "--config", name], { env });
      return /^.* port: .*\n(?: {2}fix: .*)?/m.exec(stdout)?.[0].trim();
    };
    writeProject(sandbox);
    const hub = sandbox.start(["serve", "--json", "--config", "operations.config.json"]);
    await hub.shows('"url"');
    const { url } = JSON.parse(hub.printed.stdout) as { url: string };
    const own = Number(new URL(url).port);
    expect(await checkPort(own)).toBe(`ok       port: The hub of this configuration is running at ${url}.`);
    const file = join(realpathSync(sandbox.folder), "operations.config.json");
    sandbox.write("copy.json", readFileSync(file, "utf8"));
    expect(await checkPort(own, {}, {}, "copy.json")).toContain(
      `\n  fix: End the hub of "${file}", or set another serve.port.`,
    );

    const other = createServer((socket) => socket.destroy());
    onTestFinished(() => void other.close());
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as { port: number };
    expect(await checkPort(port)).toBe(
      `problem  port: The hub cannot listen on port ${port} of 127.0.0.1: listen EADDRINUSE: address already in use 127.0.0.1:${port}.
  fix: End the program that uses the port, or set another serve.port.`,
    );
    expect(await checkPort(port, {}, { PORT: "http" })).toBe(
      "problem  port: The port is invalid. Pass a number from 0 to 65535 as PORT.",
    );
  });

  test("reports whether a hub responds", async () => {
    const { stdout, exitCode } = await sandbox.run(["doctor", "--hub", "http://127.0.0.1:9"]);
    expect([stdout.split("\n")[1], exitCode]).toEqual([
      "problem  target: The server at http://127.0.0.1:9 could not be reached: the connection was refused (ECONNREFUSED). Is the hub running?",
      4,
    ]);
  });
});
