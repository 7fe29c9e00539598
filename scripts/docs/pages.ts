import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import type { ExampleRunner } from "../examples.ts";
import type { Count } from "../run-step.ts";
import { root } from "../subpaths.ts";
import { listPrograms, syncPage } from "./sync.ts";

/** Compares every page with the files that its code comes from and with the output of examples. Writes nothing. */
export function checkPages(runner: ExampleRunner): Promise<Count> {
  return visitPages(runner, () => {
    return "differs from the files that its code comes from. Run npm run docs:sync.";
  });
}

/** Fills the code blocks of every page. */
export function writePages(runner: ExampleRunner): Promise<Count> {
  return visitPages(runner, (path, text) => {
    writeFileSync(resolve(root, path), text);
    console.log(`updated ${path}`);
    return undefined;
  });
}

/** `onChange` is called for each page whose blocks are not up to date. It may return a problem. */
async function visitPages(
  runner: ExampleRunner,
  onChange: (path: string, text: string) => string | undefined,
): Promise<Count> {
  const pages = findPages().map((path) => ({ path, before: readFileSync(resolve(root, path), "utf8") }));
  const programs = new Set(pages.flatMap(({ before }) => listPrograms(root, before)));
  await runner.runAll([...programs], () => {});
  const count: Count = { passed: 0, failed: 0 };
  for (const { path, before } of pages) {
    const { text, problems } = await syncPage(root, path, before, async (program) => outputOf(runner, program));
    const problem = text === before ? undefined : onChange(path, text);
    if (problem !== undefined) problems.push(`${path}: ${problem}`);
    for (const problem of problems) console.log(problem);
    if (problems.length === 0) count.passed++;
    else count.failed++;
  }
  return count;
}

/** What a program printed, or `undefined` when it cannot run here. Throws when it failed. */
async function outputOf(runner: ExampleRunner, program: string): Promise<string | undefined> {
  const result = await runner.run(program);
  if (result.skipped !== undefined) return undefined;
  const { exitCode, stdout, stderr } = result;
  if (exitCode !== 0) throw new Error(`${program} ended with ${exitCode ?? "a time-out"}: ${stderr.trim()}`);
  return stdout.replace(/[ \t]+$/gm, "").trimEnd();
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
    .map((name) => `${folder}/${name}`)
    .sort();
}
