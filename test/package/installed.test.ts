import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import ts from "typescript";
import { expect, inject, test } from "vitest";
import { root, subpaths } from "../../scripts/subpaths.ts";
import { install, linkPeers } from "./install.ts";
import { expectedReport } from "./program.ts";

/** A consumer of its own, because these tests also install peers, which other tests must not have. */
const consumer = install(inject("tarball"), join(dirname(inject("tarball")), "consumer-with-peers"));
const program = readFileSync(new URL("program.ts", import.meta.url), "utf8");
const write = (file: string, text: string) => writeFileSync(join(consumer, file), text);

/** Runs a tool in the consumer's folder; a failure shows what the tool printed. */
function run(command: string, args: string[]): string {
  try {
    return execFileSync(command, args, { cwd: consumer, encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${command} ${args.join(" ")} failed\n${stdout}${stderr}`);
  }
}

/** Library types are checked too: ours must not need what a consumer may lack. */
const strictOptions = {
  strict: true,
  noEmit: true,
  target: "ES2022",
  lib: ["ES2023", "ESNext.Disposable", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
  types: [],
};

const tool = (name: string) => resolve(root, "node_modules/.bin", name);

test("the package runs on plain Node, and every sub-path loads", () => {
  write("program.mjs", ts.transpile(program, { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext }));
  const loads = subpaths.map(({ specifier }) => `await import(${JSON.stringify(specifier)});`);
  const start = ['import { runProgram } from "./program.mjs";', "console.log(JSON.stringify(await runProgram()));"];
  write("main.mjs", [...loads, ...start].join("\n"));

  expect(JSON.parse(run(process.execPath, ["main.mjs"]))).toEqual(expectedReport);
});

test("connecting to an MCP server without the SDK fails with the command that installs it", () => {
  const connecting = 'createMCPClient("x", { command: "x" }).catch(({ code, message }) => console.log(code, message));';
  write("mcp.mjs", `import { createMCPClient } from "@alkdev/operations/from-mcp"; ${connecting}`);

  expect(run(process.execPath, ["mcp.mjs"])).toBe(
    "UNAVAILABLE The package @modelcontextprotocol/client is required for MCP servers and is not installed. " +
      "Install it: npm install @modelcontextprotocol/client\n",
  );
});

test("the root needs no peer: a program that declares its registry gets a checked context.env from the packed types", () => {
  const fixture = (name: string) => readFileSync(new URL(`../fixtures/register/${name}.ts`, import.meta.url), "utf8");
  for (const name of ["operations", "registry"]) write(`${name}.mts`, fixture(name).replaceAll('.ts"', '.mjs"'));
  const compilerOptions = { ...strictOptions, exactOptionalPropertyTypes: true, module: "NodeNext" };
  write("tsconfig.json", JSON.stringify({ compilerOptions, files: ["registry.mts"] }));

  expect(run(tool("tsc"), ["-p", "tsconfig.json"])).toBe("");
});

test("MCP servers receive the name and version of the package", () => {
  linkPeers(consumer);
  const program = `import { createMCPClient } from "@alkdev/operations/from-mcp";
    const send = async ({ params }) => {
      console.log(JSON.stringify(params.clientInfo));
      process.exit();
    };
    await createMCPClient("x", { transport: () => ({ start: async () => {}, close: async () => {}, send }) });`;
  write("client-info.mjs", program);
  const { name, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

  expect(JSON.parse(run(process.execPath, ["client-info.mjs"]))).toEqual({ name, version });
});

test.each(["NodeNext", "Bundler"])("types resolve for consumers with moduleResolution %s", (moduleResolution) => {
  linkPeers(consumer);
  const imports = subpaths.map(({ specifier }, index) => `import * as path${index} from "${specifier}";`);
  const uses = subpaths.map((_, index) => `export const names${index}: string[] = Object.keys(path${index});`);
  write("program.mts", program);
  write("types.mts", [...imports, ...uses].join("\n"));
  const compilerOptions = {
    ...strictOptions,
    module: moduleResolution === "Bundler" ? "ESNext" : "NodeNext",
    moduleResolution,
    types: ["node"],
  };
  write("tsconfig.json", JSON.stringify({ compilerOptions, files: ["program.mts", "types.mts"] }));

  expect(run(tool("tsc"), ["-p", "tsconfig.json"])).toBe("");
});

test("an option may be undefined, as what comes from the environment is, also with exactOptionalPropertyTypes", () => {
  linkPeers(consumer);
  const program = `import { PendingRequestMap } from "@alkdev/operations";
    import { createNATSTransport } from "@alkdev/operations/transport-nats";
    import { createRedisTransport } from "@alkdev/operations/transport-redis";
    import { createWebSocketServer, createWebSocketTransport } from "@alkdev/operations/transport-websocket";
    import { createWorkerPool, createWorkerTransport } from "@alkdev/operations/transport-worker";
    const { URL, PREFIX, TOKEN } = process.env;
    export const nats = createNATSTransport({ servers: URL, prefix: PREFIX, limits: undefined });
    export const redis = createRedisTransport({ url: URL, prefix: PREFIX, heartbeat: undefined });
    export const client = createWebSocketTransport("", { token: TOKEN, reconnect: undefined });
    export const server = createWebSocketServer({ path: PREFIX, allowedHosts: undefined });
    export const pool = createWorkerPool("", { size: undefined, worker: undefined, startTimeout: undefined });
    export const parent = createWorkerTransport(undefined, { limits: undefined });
    export const call = new PendingRequestMap().call("a.b", {}, { token: TOKEN, deadline: undefined });`;
  write("options.mts", program);
  // Types of the client for NATS are wrong by themselves then.
  const compilerOptions = { ...strictOptions, exactOptionalPropertyTypes: true, skipLibCheck: true };
  write(
    "tsconfig.json",
    JSON.stringify({
      compilerOptions: { ...compilerOptions, module: "NodeNext", types: ["node"] },
      files: ["options.mts"],
    }),
  );

  expect(run(tool("tsc"), ["-p", "tsconfig.json"])).toBe("");
});

test("the tarball contains built modules, their types, docs and examples, and nothing else", () => {
  const files = run("tar", ["-tzf", inject("tarball")])
    .trim()
    .split("\n");
  const wanted =
    /^package\/(dist\/.*(?<!\.test|\.test-d|\.examples|testing)\.(js|d\.ts)|dist\/cli\/LICENSES\.txt|config\.schema\.json|(docs\/(decisions\/)?)?[A-Za-z0-9-]+\.md|examples\/README\.md|examples\/[a-z-]+\/.*\.(ts|mjs|json|yaml)|LICENSE-[A-Z]+|package\.json)$/;

  expect(files.filter((file) => !wanted.test(file))).toEqual([]);
  expect(files).toEqual(
    expect.arrayContaining([
      "package/LICENSE-MIT",
      "package/LICENSE-APACHE",
      "package/README.md",
      "package/docs/README.md",
      "package/examples/README.md",
    ]),
  );
});

test("publint has nothing to say", async () => {
  const pkgDir = join(consumer, "node_modules/@alkdev/operations");

  const { messages, pkg } = await publint({ pkgDir, strict: true });

  expect(messages.map((message) => formatMessage(message, pkg as Record<string, unknown>))).toEqual([]);
});

test("are-the-types-wrong has nothing to say", () => {
  expect(() => run(tool("attw"), [inject("tarball"), "--profile", "esm-only", "--no-color"])).not.toThrow();
});
