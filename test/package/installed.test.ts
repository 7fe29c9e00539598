import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import ts from "typescript";
import { expect, inject, test } from "vitest";
import { root, subpaths } from "../../scripts/subpaths.ts";
import { expectedReport } from "./program.ts";

const consumer = inject("consumer");
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

const tool = (name: string) => resolve(root, "node_modules/.bin", name);

test("the package runs on plain Node, and every sub-path loads", () => {
  write("program.mjs", ts.transpile(program, { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext }));
  const loads = subpaths.map(({ specifier }) => `await import(${JSON.stringify(specifier)});`);
  const start = ['import { runProgram } from "./program.mjs";', "console.log(JSON.stringify(await runProgram()));"];
  write("main.mjs", [...loads, ...start].join("\n"));

  expect(JSON.parse(run(process.execPath, ["main.mjs"]))).toEqual(expectedReport);
});

test.each(["NodeNext", "Bundler"])("types resolve for consumers with moduleResolution %s", (moduleResolution) => {
  const imports = subpaths.map(({ specifier }, index) => `import * as path${index} from "${specifier}";`);
  const uses = subpaths.map((_, index) => `export const names${index}: string[] = Object.keys(path${index});`);
  write("program.mts", program);
  write("types.mts", [...imports, ...uses].join("\n"));
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: "ES2022",
    lib: ["ES2023", "ESNext.Disposable", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
    module: moduleResolution === "Bundler" ? "ESNext" : "NodeNext",
    moduleResolution,
    types: [],
  };
  write("tsconfig.json", JSON.stringify({ compilerOptions, files: ["program.mts", "types.mts"] }));

  expect(run(tool("tsc"), ["-p", "tsconfig.json"])).toBe("");
});

test("the tarball holds built modules, their types and the texts, and nothing else", () => {
  const files = run("tar", ["-tzf", inject("tarball")])
    .trim()
    .split("\n");
  const wanted =
    /^package\/(dist\/.*(?<!\.test|\.test-d|\.examples|testing)\.(js|d\.ts)|[A-Z-]+\.md|LICENSE-[A-Z]+|package\.json)$/;

  expect(files.filter((file) => !wanted.test(file))).toEqual([]);
  expect(files).toEqual(expect.arrayContaining(["package/LICENSE-MIT", "package/LICENSE-APACHE", "package/README.md"]));
});

test("publint has nothing to say", async () => {
  const pkgDir = join(consumer, "node_modules/@alkdev/operations");

  const { messages, pkg } = await publint({ pkgDir, strict: true });

  expect(messages.map((message) => formatMessage(message, pkg as Record<string, unknown>))).toEqual([]);
});

test("are-the-types-wrong has nothing to say", () => {
  expect(() => run(tool("attw"), [inject("tarball"), "--profile", "esm-only", "--no-color"])).not.toThrow();
});
