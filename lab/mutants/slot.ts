import { type ChildProcess, fork } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { applyMutant, type Mutant } from "./candidates.ts";
import type { Order, Report } from "./runner.ts";
import { type Limits, Stopwatch } from "./stopwatch.ts";

/** What a run of tests showed. */
export interface TestRun {
  outcome: "passed" | "failed" | "crashed" | "timeout";
  /** The first failed test. */
  failure?: string;
  /** Duration in ms of each test file that ran, by path relative to the tree. */
  durations: Record<string, number>;
  /** Duration of the run in ms. */
  ms: number;
}

/** Time limit of the start of Vitest. */
const startLimits: Limits = { waitMs: 120_000, busyMs: 60_000 };

const runner = fileURLToPath(new URL("./runner.ts", import.meta.url));

/** A copy of the tree and the process that runs tests in it, one run at a time. */
export class Slot {
  readonly #tree: string;
  readonly #signal: AbortSignal;
  #child: ChildProcess | undefined;
  /** The file that the last run had changed. Its process must read it again. */
  #changed: string[] = [];

  constructor(tree: string, signal: AbortSignal) {
    this.#tree = tree;
    this.#signal = signal;
    signal.addEventListener("abort", () => this.close());
  }

  /** Runs tests with a mutant, or without one. Only the copy is changed, and only meanwhile. */
  async run(tests: readonly string[], mutant: Mutant | undefined, limits: Limits): Promise<TestRun> {
    const child = this.#child ?? (await this.#start());
    const path = mutant === undefined ? undefined : join(this.#tree, mutant.file);
    const text = path === undefined ? "" : readFileSync(path, "utf8");
    const changed = path === undefined ? this.#changed : [...this.#changed, path];
    this.#changed = path === undefined ? [] : [path];
    if (path !== undefined) writeFileSync(path, applyMutant(text, mutant!));
    try {
      const started = performance.now();
      child.send({ changed, tests: tests.map((test) => join(this.#tree, test)) } satisfies Order);
      const report = await this.#receive(child, limits);
      const ms = Math.round(performance.now() - started);
      if (typeof report !== "string") return { ...readReport(report, this.#tree), ms };
      this.close();
      return { outcome: report, durations: {}, ms };
    } finally {
      if (path !== undefined) writeFileSync(path, text);
    }
  }

  /** Ends the process and all that it started. They are one process group. */
  close(): void {
    if (this.#child?.pid !== undefined) process.kill(-this.#child.pid, "SIGKILL");
    this.#child = undefined;
  }

  async #start(): Promise<ChildProcess> {
    this.#signal.throwIfAborted();
    const child = fork(runner, { cwd: this.#tree, execArgv: ["--import", "tsx"], detached: true, stdio: "ignore" });
    this.#child = child;
    child.on("exit", () => {
      if (this.#child === child) this.#child = undefined;
    });
    if (typeof (await this.#receive(child, startLimits)) !== "string") return child;
    throw new Error(`Vitest did not start in ${this.#tree}. Run the tests of the tree to see the reason.`);
  }

  /** Waits for the next report of the process. */
  #receive(child: ChildProcess, limits: Limits): Promise<Report | "timeout" | "crashed"> {
    const stopwatch = new Stopwatch(child.pid!);
    return new Promise((resolve, reject) => {
      const end = (result: Report | "timeout" | "crashed") => {
        clearInterval(timer);
        child.off("message", end).off("exit", onExit);
        if (this.#signal.aborted) reject(this.#signal.reason);
        else resolve(result);
      };
      const onExit = () => end("crashed");
      const timer = setInterval(() => {
        if (stopwatch.exceeds(limits)) end("timeout");
      }, 500);
      child.on("message", end).on("exit", onExit);
    });
  }
}

function readReport({ failures, durations }: Report, tree: string): Omit<TestRun, "ms"> {
  const relative = Object.entries(durations).map(([file, duration]) => [file.slice(tree.length + 1), duration]);
  const outcome = failures.length > 0 ? "failed" : "passed";
  return { outcome, failure: failures[0], durations: Object.fromEntries(relative) };
}
