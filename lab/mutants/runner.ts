/**
 * Runs test files of one tree again and again, for the parent process. It keeps Vitest and its transformed modules, so that
 * a run takes hardly longer than the tests. It never changes a file.
 */
import { fileURLToPath } from "node:url";
import { BaseSequencer, createVitest, type TestModule, type TestSpecification } from "vitest/node";

/** What the parent sends: run `tests` after `changed` have been changed. All paths are absolute. */
export interface Order {
  changed: string[];
  tests: string[];
}

/** What the parent receives: once when Vitest has started, and then for each order. */
export interface Report {
  /** Failed tests, files that did not load, and errors that no test handles. */
  failures: string[];
  /** Duration in ms of each file, by absolute path. */
  durations: Record<string, number>;
}

/** Runs files in the order of the parent, which puts those first that fail soonest. */
class InOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files;
  }
}

process.on("disconnect", () => process.exit()); // The parent has gone.

let failures: string[] = [];
let durations: Record<string, number> = {};
const vitest = await createVitest("test", {
  root: process.cwd(),
  watch: false,
  project: ["unit"],
  pool: "forks",
  isolate: false,
  fileParallelism: false,
  maxWorkers: 1,
  bail: 1,
  sequence: { sequencer: InOrder },
  reporters: [
    {
      onTestModuleEnd(module) {
        failures.push(...describeFailures(module));
        durations[module.moduleId] = module.diagnostic().duration;
      },
      onTestRunEnd: (_, unhandled) => void failures.push(...unhandled.map(({ message }) => message)),
    },
  ],
});
const [unit] = vitest.projects;
unit!.config.setupFiles.push(fileURLToPath(new URL("./fresh-modules.ts", import.meta.url)));

process.on("message", ({ changed, tests }: Order) => void run(changed, tests));
report();

async function run(changed: readonly string[], tests: readonly string[]): Promise<void> {
  failures = [];
  durations = {};
  try {
    for (const file of changed) vitest.invalidateFile(file);
    const specifications = tests.map((test) => unit!.createSpecification(test));
    await vitest.runTestSpecifications(specifications, false);
  } catch (error) {
    failures.push(String(error));
  }
  report();
}

function describeFailures(module: TestModule): string[] {
  if (module.state() !== "failed") return [];
  const names = [...module.children.allTests("failed")].map((test) => `${module.relativeModuleId}: ${test.fullName}`);
  return names.length > 0 ? names : [`${module.relativeModuleId}: did not load`];
}

function report(): void {
  process.send!({ failures, durations } satisfies Report);
}
