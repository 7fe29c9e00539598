import { type ChildProcess, fork } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { applyMutant, type Mutant } from "./candidates.ts";
import type { Report } from "./runner.ts";
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
    const path = mutant && join(this.#tree, mutant.file);
    const text = path && readFileSync(path, "utf8");
    if (mutant && path && text) writeFileSync(path, applyMutant(text, mutant));
    const changed = path ? [path] : [];
    try {
      const started = performance.now();
      child.send({ changed: [...this.#changed, ...changed], tests: tests.map((test) => join(this.#tree, test)) });
      const report = await this.#receive(child, limits);
      const ms = Math.round(performance.now() - started);
      if (report === "timeout" || report === "crashed") {
        this.close();
        return { outcome: report, durations: {}, ms };
      }
      const { failures, durations } = report;
      const relative = Object.entries(durations).map(([file, duration]) => [
        file.slice(this.#tree.length + 1),
        duration,
      ]);
      const outcome = failures.length > 0 ? "failed" : "passed";
      return { outcome, failure: failures[0], durations: Object.fromEntries(relative), ms };
    } finally {
      if (path && text) writeFileSync(path, text);
      this.#changed = changed;
    }
  }

  /** Ends the process and all that it started. They are one process group. */
  close(): void {
    const pid = this.#child?.pid;
    this.#child = undefined;
    if (pid === undefined) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // They have ended.
    }
  }

  async #start(): Promise<ChildProcess> {
    this.#signal.throwIfAborted();
    const child = fork(runner, { cwd: this.#tree, execArgv: ["--import", "tsx"], detached: true, stdio: "ignore" });
    this.#child = child;
    const report = await this.#receive(child, startLimits);
    if (typeof report === "string") throw new Error(`Vitest did not start in ${this.#tree}. Run its tests there.`);
    return child;
  }

  /** Waits for the next report of the process. */
  #receive(child: ChildProcess, limits: Limits): Promise<Extract<Report, { kind: "result" }> | "timeout" | "crashed"> {
    const stopwatch = new Stopwatch(child.pid!);
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        clearInterval(timer);
        child.removeAllListeners();
        if (this.#signal.aborted) reject(this.#signal.reason);
        else settle();
      };
      const timer = setInterval(() => {
        if (stopwatch.exceeds(limits)) end(() => resolve("timeout"));
      }, 500);
      child.once("message", (report) => end(() => resolve(report as never)));
      child.once("exit", () => end(() => resolve("crashed")));
    });
  }
}
