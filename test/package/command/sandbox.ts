import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { inject } from "vitest";
import { until } from "../../../src/internal/testing.ts";

/** What a command printed, and how it ended. */
export interface Outcome {
  stdout: string;
  stderr: string;
  exitCode: number | null;
}

/** Settings of one run. */
export interface RunOptions {
  /** Variables in addition to `PATH` and `HOME`; `undefined` removes one. */
  env?: Record<string, string | undefined>;
  /** Written to stdin, which is closed then. @default stdin is empty */
  input?: string;
}

/** A command that is running. */
export interface Running {
  readonly process: ChildProcess;
  /** What it has printed until now. */
  readonly printed: Omit<Outcome, "exitCode">;
  /** Waits until stdout or stderr contains a string. */
  shows(text: string): Promise<void>;
  /** Resolves when it has ended. */
  readonly ended: Promise<Outcome>;
}

/** A folder without anything in it, a home folder of its own, and the installed command. */
export interface Sandbox extends Disposable {
  /** The working folder. */
  readonly folder: string;
  /** The home folder. */
  readonly home: string;
  /** Writes a file into the working folder. */
  write(name: string, content: string): string;
  /** Runs a command to its end. */
  run(args: readonly string[], options?: RunOptions): Promise<Outcome>;
  /** Starts a command. */
  start(args: readonly string[], options?: RunOptions): Running;
  /** Starts a command in a pseudo-terminal of 80 columns. What it shows is its `stdout`, with `\n` at the end of lines. */
  startInTerminal(args: readonly string[], options?: Omit<RunOptions, "input">): Running;
}

const installed = join(inject("consumer"), "node_modules/@alkdev/operations");

/** The command of the installed package. */
export const installedCommand: string = join(
  installed,
  JSON.parse(readFileSync(join(installed, "package.json"), "utf8")).bin.operations,
);

/** Whether a terminal can be simulated: `script` is part of Linux and has other options elsewhere. */
export const hasTerminal = process.platform === "linux" && existsSync("/usr/bin/script");

/** Creates an empty place to run commands in. */
export function createSandbox(): Sandbox {
  const root = mkdtempSync(join(tmpdir(), "operations-command-"));
  const folder = join(root, "work");
  const home = join(root, "home");
  const running = new Set<ChildProcess>();
  mkdirSync(folder);
  mkdirSync(home);
  const environment = (more: RunOptions["env"] = {}) => {
    const all = { PATH: process.env["PATH"], HOME: home, ...more };
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as NodeJS.ProcessEnv;
  };
  const watch = (child: ChildProcess): Running => {
    running.add(child);
    const printed = { stdout: "", stderr: "" };
    child.stdout!.setEncoding("utf8").on("data", (part: string) => (printed.stdout += part.replaceAll("\r\n", "\n")));
    child.stderr!.setEncoding("utf8").on("data", (part: string) => (printed.stderr += part));
    child.stdin!.on("error", () => {}); // The command may end before it has read everything.
    const ended = once(child, "close").then(([exitCode]) => {
      running.delete(child);
      return { ...printed, exitCode: exitCode as number | null };
    });
    const shows = async (text: string) => {
      await until(() => child.exitCode !== null || (printed.stdout + printed.stderr).includes(text));
      if (!(printed.stdout + printed.stderr).includes(text))
        throw new Error(`Missing: ${text}\n${JSON.stringify(printed)}`);
    };
    return { process: child, printed, shows, ended };
  };
  const start = (args: readonly string[], { env, input }: RunOptions = {}) => {
    const child = watch(spawn(process.execPath, [installedCommand, ...args], { cwd: folder, env: environment(env) }));
    if (input !== undefined) child.process.stdin!.write(input);
    return child;
  };
  return {
    folder,
    home,
    write: (name, content) => {
      const path = join(folder, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
      return path;
    },
    start,
    run: (args, options) => {
      const child = start(args, options);
      child.process.stdin!.end();
      return child.ended;
    },
    startInTerminal: (args, { env } = {}) => {
      const words = [process.execPath, installedCommand, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
      const line = `stty cols 80 rows 24; exec ${words.join(" ")}`;
      const options = { cwd: folder, env: { ...environment(env), SHELL: "/bin/sh", TERM: env?.["TERM"] ?? "xterm" } };
      return watch(spawn("/usr/bin/script", ["-qefc", line, "/dev/null"], options));
    },
    [Symbol.dispose]: () => {
      for (const child of running) child.kill("SIGKILL");
      rmSync(root, { recursive: true, force: true });
    },
  };
}
