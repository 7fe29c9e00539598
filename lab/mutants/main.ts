/**
 * `npm run lab -- mutants`: changes the sources in small ways, one at a time, and counts the changes that tests notice. What they
 * do not notice is either not tested or makes no difference.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import { root } from "../../scripts/subpaths.ts";
import { readOptions } from "../read-options.ts";
import { describeMutant, listCandidates, type Mutant } from "./candidates.ts";
import { chooseMutants } from "./choose.ts";
import { createFindTests } from "./related-tests.ts";
import { formatReport, type Result } from "./report.ts";
import { Slot, type TestRun } from "./slot.ts";
import type { Limits } from "./stopwatch.ts";
import { copyTree, resolveCommit } from "./tree.ts";

const help = `Usage: npm run lab -- mutants [folder ...] [options]

Changes one place of a source file, runs the tests of that file, and counts the changes that no test notices.

Folders: of src/, default: src/operation src/internal src/registry src/middleware

  --count 300      number of changes; each file gets its share of all possible ones
  --seed 1         the same seed and the same code yield the same changes
  --tree COMMIT    measure this commit instead of the working tree
  --minutes 60     stop after this time and report what has been run
  --workers 2      changes that are tested at the same time
  --json FILE      write every change and its result to a file
  --list           print the changes and their tests, and run nothing
  --help           print this

Changes: conditions negated, comparisons (< and <=, === and !==), && || ??, + - * /, numbers by one, booleans, ! and ?.
removed; statements that call, assign, return or throw removed. Strings, types, messages and logging stay as they are.

Tests of a file: those that import it, and those of the same folder that reach it through imports; then others of the
chosen folders up to 24; if there are fewer than 8, the nearest of src/ up to 8; never more than 32. A change is noticed
when a test fails, the process crashes, or the tests take more than 60 s, of which at most 30 s of processor time. Time in
which other programs use the processors does not count (on Linux). Test files share a process and load the sources anew.
Changes are made in copies of the tree; the working tree is never changed.`;

const { values, positionals } = readOptions(help, {
  allowPositionals: true,
  options: {
    count: { type: "string", default: "300" },
    seed: { type: "string", default: "1" },
    tree: { type: "string" },
    minutes: { type: "string", default: "60" },
    workers: { type: "string", default: "2" },
    json: { type: "string" },
    list: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const defaultFolders = ["src/operation", "src/internal", "src/registry", "src/middleware"];
const folders = positionals.length > 0 ? positionals.map((folder) => folder.replace(/\/$/, "")) : defaultFolders;

/** Time limit of the tests of one mutant. Without a change they need about 10 s of processor time. */
const limits: Limits = { waitMs: 60_000, busyMs: 30_000 };

/** The result of a mutant that no test reaches. */
const untested: TestRun = { outcome: "passed", durations: {}, ms: 0 };

const started = performance.now();
const timeLimit = AbortSignal.timeout(readNumber("minutes") * 60_000);
const interruption = new AbortController();
process.once("SIGINT", () => interruption.abort(new Error("Interrupted.")));
process.once("SIGTERM", () => interruption.abort(new Error("Interrupted.")));
const home = mkdtempSync(join(tmpdir(), "mutants-"));
try {
  process.exitCode = await main();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
} finally {
  rmSync(home, { recursive: true, force: true, maxRetries: 5 }); // Processes that were ended may still write.
}

/** A mutant, its tests, and the change on one line. */
interface Planned {
  mutant: Mutant;
  tests: string[];
  change: string;
}

async function main(): Promise<number> {
  const commit = values.tree === undefined ? undefined : resolveCommit(root, values.tree);
  const trees = Array.from({ length: readNumber("workers") }, (_, index) => join(home, String(index)));
  for (const tree of trees) copyTree(root, tree, commit);
  const tree = trees[0]!;
  const candidates = listSources(tree).flatMap((file) => listCandidates(file, readFileSync(join(tree, file), "utf8")));
  if (candidates.length === 0) throw new Error(`No change is possible in ${folders.join(", ")}. Pass folders of src/.`);
  const chosen = chooseMutants(candidates, readNumber("count"), readNumber("seed"));
  const findTests = createFindTests(tree, listFiles(tree, "src"), folders);
  const plan = chosen.map(
    (mutant): Planned => ({ mutant, tests: findTests(mutant.file), change: describe(tree, mutant) }),
  );
  console.log(
    `${plan.length} of ${candidates.length} possible changes, seed ${values.seed}, ${commit ?? "working tree"}`,
  );
  if (values.list) {
    for (const { mutant, tests, change } of plan) {
      console.log(`${mutant.file}:${mutant.line} ${mutant.kind}: ${change}\n  ${tests.join(" ")}`);
    }
    return 0;
  }

  const results = await run(plan, trees);
  const minutes = (performance.now() - started) / 60_000;
  console.log(`\n${formatReport(results, folders)}`);
  console.log(`\n${results.length} of ${plan.length} changes tested in ${minutes.toFixed(1)} minutes`);
  if (values.json !== undefined) {
    const settings = { commit, seed: readNumber("seed"), folders, candidates: candidates.length, chosen: plan.length };
    writeFileSync(values.json, `${JSON.stringify({ ...settings, minutes, results }, undefined, 1)}\n`);
  }
  return interruption.signal.aborted ? 130 : 0;
}

/** Runs the tests of each mutant, with as many at the same time as there are trees, until the time limit. */
async function run(plan: readonly Planned[], trees: readonly string[]): Promise<Result[]> {
  const signal = AbortSignal.any([interruption.signal, timeLimit]);
  const slots = trees.map((tree) => new Slot(tree, signal));
  const results: Result[] = [];
  const left = [...plan];
  try {
    const durations = await check(slots[0]!, [...new Set(plan.flatMap(({ tests }) => tests))]);
    const work = async (slot: Slot) => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        const { mutant, tests, change } = next;
        const { file, line, kind } = mutant;
        const { outcome, failure, ms } =
          tests.length === 0 ? untested : await slot.run(sortTests(file, tests, durations), mutant, limits);
        results.push({ file, line, kind, change, tests: tests.length, outcome, failure, ms });
        const seconds = (ms / 1_000).toFixed(1);
        console.log(`${results.length}/${plan.length} ${outcome} ${seconds} s ${file}:${line} ${change}`);
      }
    };
    await Promise.all(slots.map(work));
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    for (const slot of slots) slot.close();
  }
  return results;
}

/** Runs all tests without a change. Returns how long each file takes. */
async function check(slot: Slot, tests: readonly string[]): Promise<Record<string, number>> {
  const { outcome, failure, durations, ms } = await slot.run(tests, undefined, { waitMs: 600_000, busyMs: 600_000 });
  if (outcome !== "passed")
    throw new Error(`Without a change the tests end with "${outcome}": ${failure ?? "no test failed"}`);
  console.log(`${tests.length} test files pass without a change, in ${(ms / 1_000).toFixed(1)} s`);
  return durations;
}

/** Puts the tests first that are named like the file, then the short ones. The order changes only how long a run takes. */
function sortTests(file: string, tests: readonly string[], durations: Record<string, number>): string[] {
  const firstWord = (path: string) => path.split("/").at(-1)!.split(/[-.]/)[0];
  const rank = (test: string) => (firstWord(test) === firstWord(file) ? 0 : 1);
  return [...tests].sort((a, b) => rank(a) - rank(b) || (durations[a] ?? 0) - (durations[b] ?? 0));
}

function describe(tree: string, mutant: Mutant): string {
  return describeMutant(readFileSync(join(tree, mutant.file), "utf8"), mutant);
}

/** The files of the folders that are part of the package. */
function listSources(tree: string): string[] {
  const isSource = (file: string) => !/(?:\.test|\.test-d|\.d|\/testing)\.ts$/.test(file);
  return folders.flatMap((folder) => listFiles(tree, folder)).filter(isSource);
}

/** Lists the TypeScript files below a folder, sorted, with paths relative to the tree. */
function listFiles(tree: string, folder: string): string[] {
  return readdirSync(join(tree, folder), { recursive: true, encoding: "utf8" })
    .map((file) => `${folder}/${file.replaceAll(sep, "/")}`)
    .filter((file) => file.endsWith(".ts"))
    .sort();
}

function readNumber(name: "count" | "seed" | "minutes" | "workers"): number {
  const value = Number(values[name]);
  if (!(value > 0)) throw new TypeError(`--${name} must be a number above 0.`);
  return value;
}
