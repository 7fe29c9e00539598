import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import ts from "typescript";
import { expect, inject, test } from "vitest";
import { root, subpaths } from "../../scripts/subpaths.ts";
import { install, linkPeers } from "./install.ts";
import { expectedReport } from "./program.ts";

/** A folder of a consumer without the optional peers. Its parent has the installed package. */
const bare = mkdtempSync(join(inject("consumer"), "bare-"));
const consumer = install(inject("tarball"), join(dirname(inject("tarball")), "consumer-with-peers"));
linkPeers(consumer);
const program = readFileSync(new URL("program.ts", import.meta.url), "utf8");
const write = (file: string, text: string, folder = consumer) => writeFileSync(join(folder, file), text);

/** Runs a tool in a consumer's folder; a failure shows what the tool printed. */
function run(command: string, args: string[], cwd = consumer): string {
  try {
    return execFileSync(command, args, { cwd, encoding: "utf8", stdio: "pipe" });
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

/** Compiles the consumer's program. One checker, because more of them would repeat work while other tests need the cores. */
const compile = (folder = consumer) => run(tool("tsc"), ["-p", "tsconfig.json", "--checkers", "1"], folder);

const tool = (name: string) => resolve(root, "node_modules/.bin", name);

test("the package runs on plain Node, and every sub-path loads", () => {
  write("program.mjs", ts.transpile(program, { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext }), bare);
  const loads = subpaths.map(({ specifier }) => `await import(${JSON.stringify(specifier)});`);
  const start = ['import { runProgram } from "./program.mjs";', "console.log(JSON.stringify(await runProgram()));"];
  write("main.mjs", [...loads, ...start].join("\n"), bare);

  expect(JSON.parse(run(process.execPath, ["main.mjs"], bare))).toEqual(expectedReport);
});

test("connecting to an MCP server without the SDK fails with the command that installs it", () => {
  const connecting = 'createMCPClient("x", { command: "x" }).catch(({ code, message }) => console.log(code, message));';
  write("mcp.mjs", `import { createMCPClient } from "@alkdev/operations/from-mcp"; ${connecting}`, bare);

  expect(run(process.execPath, ["mcp.mjs"], bare)).toBe(
    "UNAVAILABLE The package @modelcontextprotocol/client is required for MCP servers and is not installed. " +
      "Install it: npm install @modelcontextprotocol/client\n",
  );
});

test("the root needs no peer: a program that declares its registry gets a checked context.env from the packed types", () => {
  const fixture = (name: string) => readFileSync(new URL(`../fixtures/register/${name}.ts`, import.meta.url), "utf8");
  for (const name of ["operations", "registry"]) write(`${name}.mts`, fixture(name).replaceAll('.ts"', '.mjs"'), bare);
  const compilerOptions = { ...strictOptions, exactOptionalPropertyTypes: true, module: "NodeNext" };
  write("tsconfig.json", JSON.stringify({ compilerOptions, files: ["registry.mts"] }), bare);

  expect(compile(bare)).toBe("");
});

/** What a web page, or a runtime other than Node, imports. */
const portable = ["", "/client", "/from-openapi", "/middleware", "/serve-http", "/transport"];

test("the types of a program for browsers need neither types of Node nor another package", () => {
  const imports = portable.map((path, index) => `import * as path${index} from "@alkdev/operations${path}";`);
  const program = `import { connect, type RemoteClient } from "@alkdev/operations/client";
    export const all = [${portable.map((_, index) => `path${index}`)}];
    type Known = { "clock.now": { type: "query"; input: undefined; output: number } };
    export const client: RemoteClient<Known> = connect<Known>("https://example.com");
    export const now: Promise<number> = client.clock.now();
    // @ts-expect-error There is no such operation.
    client.clock.today();`;
  write("page.mts", [...imports, program].join("\n"));
  const lib = ["ES2022", "DOM", "DOM.Iterable"];
  for (const skipLibCheck of [false, true]) {
    const compilerOptions = { ...strictOptions, lib, skipLibCheck, module: "ESNext", moduleResolution: "Bundler" };
    write("tsconfig.json", JSON.stringify({ compilerOptions, files: ["page.mts"] }));

    expect(run(tool("tsc"), ["-p", "tsconfig.json"])).toBe("");
  }
});

test("MCP servers receive the name and version of the package", () => {
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

test.each([
  ["NodeNext", false],
  // The same declarations as with NodeNext. Whether their imports resolve, `attw` reports for both.
  ["Bundler", true],
])("types resolve for consumers with moduleResolution %s", (moduleResolution, skipLibCheck) => {
  const imports = subpaths.map(({ specifier }, index) => `import * as path${index} from "${specifier}";`);
  const uses = subpaths.map((_, index) => `export const names${index}: string[] = Object.keys(path${index});`);
  write("program.mts", program);
  write("types.mts", [...imports, ...uses].join("\n"));
  const compilerOptions = {
    ...strictOptions,
    module: moduleResolution === "Bundler" ? "ESNext" : "NodeNext",
    moduleResolution,
    skipLibCheck,
    types: ["node"],
  };
  write("tsconfig.json", JSON.stringify({ compilerOptions, files: ["program.mts", "types.mts"] }));

  expect(compile()).toBe("");
});

test("declarations of exported operations need no other package, where users see only what they installed", () => {
  const folder = mkdtempSync(join(dirname(inject("tarball")), "isolated-"));
  const store = join(folder, "node_modules/.store");
  // A copy, because the compiler finds a name for the target of a link.
  cpSync(join(root, "node_modules/typebox"), join(store, "node_modules/typebox"), { recursive: true });
  install(inject("tarball"), store);
  mkdirSync(join(folder, "node_modules/@alkdev"));
  symlinkSync(
    join(store, "node_modules/@alkdev/operations"),
    join(folder, "node_modules/@alkdev/operations"),
    "junction",
  );
  const program = `import { createRegistry, defineOperation, Type } from "@alkdev/operations";
    export const inputSchema = Type.Object({
      text: Type.String(), count: Type.Integer({ default: 3 }), ratio: Type.Number(), flag: Type.Boolean(),
      list: Type.Array(Type.Union([Type.Literal("a"), Type.Null()])), pair: Type.Tuple([Type.Any(), Type.Unknown()]),
      map: Type.Record(Type.String(), Type.Unsafe<Date>({})), choice: Type.Optional(Type.Enum(["a", "b"])),
      both: Type.Intersect([Type.Object({}), Type.Object({})]), even: Type.Refine(Type.Integer(), () => true),
      tree: Type.Cyclic({ Node: Type.Object({ next: Type.Optional(Type.Ref("Node")) }) }, "Node"),
    });
    export const partial = Type.Partial(inputSchema);
    export const find = defineOperation({
      namespace: "a", name: "b", type: "query", inputSchema, outputSchema: inputSchema, errors: { GONE: partial },
      handler: (input) => input,
    });
    export const registry = createRegistry({ operations: [find] });
    export const client = registry.client();`;
  write("main.mts", program, folder);
  const compilerOptions = {
    ...strictOptions,
    module: "NodeNext",
    noEmit: false,
    declaration: true,
    skipLibCheck: true,
  };
  write("tsconfig.json", JSON.stringify({ compilerOptions, files: ["main.mts"] }), folder);

  expect(compile(folder)).toBe("");
});

test("an option may be undefined, like an unset environment variable, also with exactOptionalPropertyTypes", () => {
  const program = `import { createRegistry, defineOperation, PendingRequestMap, Type } from "@alkdev/operations";
    import { connect } from "@alkdev/operations/client";
    import { mcpSource } from "@alkdev/operations/from-mcp";
    import { openAPISource } from "@alkdev/operations/from-openapi";
    import { retry } from "@alkdev/operations/middleware";
    import { createNATSTransport } from "@alkdev/operations/transport-nats";
    import { createWebSocketServer } from "@alkdev/operations/transport-websocket";
    const { URL, PREFIX, TOKEN } = process.env;
    const tags = PREFIX === undefined ? undefined : [PREFIX];
    const inputSchema = Type.Object({ id: Type.String() });
    const errors = { GONE: inputSchema };
    export const find = defineOperation({
      namespace: "a", name: "b", type: "query", title: PREFIX, tags, inputSchema, outputSchema: inputSchema, errors,
      handler: ({ id }, context) => { if (id === "") throw context.errors.GONE({ id }); return { id }; },
    });
    export const registry = createRegistry({ operations: [find], defaultTimeout: undefined });
    export const id: Promise<string> = registry.client().a.b({ id: "" }).then((data) => data.id);
    export const found = registry.search("", { tag: PREFIX, limit: undefined });
    const source = openAPISource("", { namespace: "a", baseUrl: URL, timeout: undefined });
    export const following = registry.follow(source, { include: tags, namespace: PREFIX });
    export const waiting = registry.waitFor("a.b", { timeout: undefined });
    export const files = mcpSource({ name: "a", command: "b", cwd: PREFIX });
    export const repeat = retry({ retries: undefined });
    export const remote = connect("", { token: TOKEN });
    export const nats = createNATSTransport({ servers: URL, prefix: PREFIX, limits: undefined });
    export const server = createWebSocketServer({ path: PREFIX, cors: undefined });
    export const call = new PendingRequestMap().call("a.b", {}, { token: TOKEN, deadline: undefined });`;
  write("options.mts", program);
  // The types of the NATS client have errors of their own with this option.
  const compilerOptions = { ...strictOptions, exactOptionalPropertyTypes: true, skipLibCheck: true };
  write(
    "tsconfig.json",
    JSON.stringify({
      compilerOptions: { ...compilerOptions, module: "NodeNext", types: ["node"] },
      files: ["options.mts"],
    }),
  );

  expect(compile()).toBe("");
});

test("the tarball contains built modules, their types, docs and examples, and nothing else", () => {
  const files = run("tar", ["-tzf", inject("tarball")])
    .trim()
    .split("\n");
  const wanted =
    /^package\/(dist\/.*(?<!\.test|\.test-d|\.examples|testing)\.(js|d\.ts)|dist\/(cli|console)\/LICENSES\.txt|dist\/console\/(index\.html|[a-z]+-[\w-]+\.(css|svg))|docs\/images\/[a-z-]+\.png|config\.schema\.json|(docs\/(decisions\/)?)?[A-Za-z0-9-]+\.md|templates\/(completion|project)\/.+|examples\/README\.md|examples\/[a-z-]+\/.*\.(ts|mjs|json|yaml)|LICENSE-[A-Z]+|package\.json)$/;

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

test("the package stays small: a third is the library, half the command with all packages that it uses", () => {
  const sizeOf = (folder: string): number =>
    readdirSync(folder, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
  const installed = join(consumer, "node_modules/@alkdev/operations");

  expect(sizeOf(join(installed, "dist/cli"))).toBeLessThan(3_500_000);
  expect(sizeOf(installed) - sizeOf(join(installed, "dist/cli"))).toBeLessThan(3_500_000);
});

test("publint has nothing to say", async () => {
  const pkgDir = join(consumer, "node_modules/@alkdev/operations");

  const { messages, pkg } = await publint({ pkgDir, strict: true });

  expect(messages.map((message) => formatMessage(message, pkg as Record<string, unknown>))).toEqual([]);
});

test("are-the-types-wrong reports no problem", () => {
  expect(() => run(tool("attw"), [inject("tarball"), "--profile", "esm-only", "--no-color"])).not.toThrow();
});
