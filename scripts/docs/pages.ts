import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { type ExampleRunner, listPrograms as listExamplePrograms } from "../examples.ts";
import type { Count } from "../run-step.ts";
import { root } from "../subpaths.ts";
import { findOrphans } from "./indexes.ts";
import { listPackedFiles } from "./packed-files.ts";
import { listPagePrograms, type PageProgram } from "./page-programs.ts";
import { listPrograms, syncPage } from "./sync.ts";

/** Index pages, with the files that each must link. */
const indexes: Record<string, () => string[]> = {
  "docs/README.md": () => findFiles("docs", /\.md$/).filter((path) => path !== "docs/README.md"),
  "examples/README.md": () => listExamplePrograms().map((path) => path.replace(/\/main\.ts$/, "")),
};

/** Number of pages that are up to date, and the problems of the others. */
export interface PagesResult extends Count {
  /** Problems as `path:line: reason`. */
  problems: string[];
}

/** Compares every page with the files that its code comes from and with the output of examples. Writes nothing. */
export function checkPages(runner: ExampleRunner, only: readonly string[] = []): Promise<PagesResult> {
  return visitPages(runner, only, () => {
    return "differs from the files that its code comes from. Run npm run docs.";
  });
}

/** Fills the code blocks of every page. */
export function writePages(runner: ExampleRunner, only: readonly string[] = []): Promise<PagesResult> {
  return visitPages(runner, only, (path, text) => {
    writeFileSync(resolve(root, path), text);
    console.log(`updated ${path}`);
    return undefined;
  });
}

/** `onChange` is called for each page whose blocks are not up to date. It may return a problem. Without `only`, visits all. */
async function visitPages(
  runner: ExampleRunner,
  only: readonly string[],
  onChange: (path: string, text: string) => string | undefined,
): Promise<PagesResult> {
  const packed = await listPackedFiles();
  const paths = findPages().filter((path) => only.length === 0 || only.includes(path));
  const pages = paths.map((path) => ({ path, before: readFileSync(resolve(root, path), "utf8") }));
  const programs = new Set(pages.flatMap(({ before }) => listPrograms(root, before)));
  await runner.runAll([...programs], () => {});
  const result: PagesResult = { passed: 0, failed: 0, problems: [] };
  for (const { path, before } of pages) {
    const page = { root, path, text: before };
    const { text, problems } = await syncPage(page, async (program) => outputOf(runner, program), packed);
    const targets = indexes[path]?.();
    if (targets !== undefined) problems.push(...findOrphans({ path, text, targets }));
    const problem = text === before ? undefined : onChange(path, text);
    if (problem !== undefined) problems.push(`${path}: ${problem}`);
    result.problems.push(...problems);
    if (problems.length === 0) result.passed++;
    else result.failed++;
  }
  return result;
}

/** Returns the output of a program, or `undefined` if it cannot run on this machine. Throws if it failed. */
async function outputOf(runner: ExampleRunner, program: string): Promise<string | undefined> {
  const result = await runner.run(program);
  if (result.skipped !== undefined) return undefined;
  const { exitCode, stdout, stderr } = result;
  if (exitCode !== 0) throw new Error(`${program} ended with ${exitCode ?? "a time-out"}: ${stderr.trim()}`);
  return stdout.replace(/[ \t]+$/gm, "").trimEnd();
}

/** Returns the programs of all pages that a reader can copy and run. */
export function findPagePrograms(): PageProgram[] {
  return findPages().flatMap((path) => listPagePrograms(path, readFileSync(resolve(root, path), "utf8")));
}

function findPages(): string[] {
  return [
    ...readdirSync(root).filter((name) => name.endsWith(".md")),
    ...findFiles("docs", /\.md$/),
    ...findFiles("examples", /\.md$/),
    ...findFiles("src", /(?<!\.test|\.test-d)\.ts$/),
  ];
}

function findFiles(folder: string, pattern: RegExp): string[] {
  return readdirSync(resolve(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => pattern.test(name) && !name.includes("node_modules"))
    .map((name) => `${folder}/${name.replaceAll("\\", "/")}`)
    .sort();
}
