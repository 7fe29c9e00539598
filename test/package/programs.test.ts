import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import ts from "typescript";
import { afterAll, describe, expect, inject, test } from "vitest";
import { isShownTruly } from "../../scripts/docs/output.ts";
import { checkPages, findPagePrograms } from "../../scripts/docs/pages.ts";
import { type ExampleResult, ExampleRunner, listPrograms } from "../../scripts/examples.ts";
import { root } from "../../scripts/subpaths.ts";
import { install, linkPackages, linkPeers } from "./install.ts";

/** One project with the packed package, what examples import, a copy of each example and each program of a page. */
const project = install(inject("tarball"), join(dirname(inject("tarball")), "project"));
const examples = listPrograms();
const folders = new Set(examples.map((path) => dirname(path)));
const pagePrograms = findPagePrograms().map((program, index) => ({ ...program, file: `page-${index}/main.ts` }));

/** The copy has another name, so that an example cannot use files of its neighbour. */
const locate = (path: string) => join(project, path.replace(/^examples\//, "copy-of-"));
const runner = new ExampleRunner({ cwd: project, locate: (path) => stripTypes(locate(path)) });
afterAll(() => runner[Symbol.asyncDispose]());

for (const folder of folders) cpSync(resolve(root, folder), locate(folder), { recursive: true });
for (const { file, content } of pagePrograms) {
  mkdirSync(dirname(join(project, file)), { recursive: true });
  writeFileSync(join(project, file), `${content}\n`);
}
writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module" }));
linkPeers(project);
linkPackages(project, ["tsx", "@types/express", ...importedPackages()]);

/**
 * Returns what to run for a program. One that is a single file is stripped of its types, as new versions of Node do: tsx takes
 * three times as long to load it and the packages. Others also start files by their name, which need tsx.
 */
function stripTypes(program: string): string {
  const text = readFileSync(program, "utf8");
  if (/["'`]\.{1,2}\/|import\.meta\.url/.test(text)) return program;
  const options = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
  const stripped = program.replace(/\.ts$/, ".mjs");
  writeFileSync(stripped, ts.transpile(text, options));
  return stripped;
}

/** The packages that examples import by name. */
function importedPackages(): Set<string> {
  const files = readdirSync(resolve(root, "examples"), { recursive: true, encoding: "utf8" });
  const imports = files
    .filter((file) => /\.(ts|mjs)$/.test(file))
    .flatMap((file) => ts.preProcessFile(readFileSync(resolve(root, "examples", file), "utf8")).importedFiles);
  const names = imports.flatMap(({ fileName }) => /^(@[^/]+\/[^/]+|[^./@][^/:]*)(\/|$)/.exec(fileName)?.[1] ?? []);
  return new Set(names.filter((name) => name !== "@alkdev/operations"));
}

/** What a program printed. Fails when the program failed, and skips the test when its broker is not available. */
function outputOf(result: ExampleResult, skip: (note: string) => never): string {
  if (result.skipped !== undefined) return skip(`${result.skipped} is missing`);
  const { exitCode, stdout, stderr } = result;
  expect({ exitCode, stderr: exitCode === 0 ? "" : stderr }).toEqual({ exitCode: 0, stderr: "" });
  return stdout;
}

describe.concurrent("an example runs when it is copied into a project with the package", () => {
  test.for(examples)("%s", async (example, { skip }) => {
    outputOf(await runner.run(example), skip);
  });
});

describe.concurrent("a program of a page runs when it is copied, and prints what the page shows", () => {
  test.for(pagePrograms)("$path:$line", async ({ example, file, shown }, { skip }) => {
    const output = outputOf(await runner.run(example, stripTypes(join(project, file))), skip);

    if (shown !== undefined) expect(isShownTruly(shown, output), output).toBe(true);
  });
});

test("examples and programs of pages pass the compiler with the packed types", async () => {
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    target: "ES2022",
    lib: ["ES2023", "ESNext.Disposable", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
    module: "NodeNext",
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    types: ["node"],
  };
  writeFileSync(
    join(project, "tsconfig.json"),
    JSON.stringify({ compilerOptions, include: ["copy-of-*/**/*", "page-*/**/*"] }),
  );

  const compile = promisify(execFile)(resolve(root, "node_modules/.bin/tsc"), ["-p", project, "--checkers", "1"]);

  expect(
    await compile.then(
      () => "",
      ({ stdout }: { stdout: string }) => stdout,
    ),
  ).toBe("");
});

test("pages show the code of examples and what they print, link to what exists, and none is left out", async () => {
  expect((await checkPages(runner)).problems).toEqual([]);
});

test("the README begins with a program that runs when it is copied", () => {
  expect(pagePrograms.map(({ path }) => path)).toContain("README.md");
});
