import type { ChildProcess, SpawnOptions } from "node:child_process";
import type { Duplex } from "node:stream";
import type { Limits } from "../../operation/index.ts";
import type { ChannelTransport } from "../peer/index.ts";
import { readBuiltin } from "./builtin.ts";
import type { Member } from "./member.ts";
import { pipeVariable } from "./parent-pipe.ts";
import { attachPipe } from "./worker-transport.ts";

/** How the processes of a pool are started. */
export interface WorkerProcessOptions extends Pick<SpawnOptions, "cwd" | "uid" | "gid" | "windowsHide"> {
  /** The whole environment of the process. @default that of this process, with all its secrets */
  env?: NodeJS.ProcessEnv | undefined;
  /** What the module finds in `process.argv` after its own name. */
  args?: readonly string[] | undefined;
  /** Options of Node itself. @default those of this process */
  execArgv?: readonly string[] | undefined;
  /** The program that runs the module. @default the one that runs this */
  execPath?: string | undefined;
  /** Where its input and output go; nothing here reads them. @default no input, output and errors to those of this process */
  stdio?: readonly [stdin: StandardStream, stdout: StandardStream, stderr: StandardStream] | undefined;
}

/** Where a standard stream goes: nowhere, to the one of this process, or to an open file. */
export type StandardStream = "ignore" | "inherit" | number;

const pipeNumber = 3;
/** In ms: what a process may take to end by itself, and then after SIGTERM. */
const untilTerm = 2_000;
const untilKill = 3_000;
/** How long, in ms, a process is waited for whose pipe has ended, and the other way round. */
const lastWords = 1_000;

/** Starts a process that runs the module at `url`. */
export function startProcess(
  hub: ChannelTransport,
  url: string | URL,
  options: WorkerProcessOptions = {},
  limits: Limits | undefined,
): Member {
  const child = spawnModule(url, options);
  const ended = new Promise<Error>((resolve) => {
    child.on("error", (cause) => resolve(new Error(`The process did not start: ${cause.message}`, { cause })));
    child.once("exit", (code, signal) => resolve(new Error(describeExit(code, signal))));
  });
  track(child, ended);
  const pipe = child.stdio?.[pipeNumber] as Duplex | undefined;
  if (pipe === undefined) throw new Error("The process did not start: there are too many open files");
  // A pipe that others hold open must not hide that the process is gone.
  void ended.then(() => setTimeout(() => pipe.destroy(), lastWords).unref());
  const link = attachPipe(hub, pipe, limits, async (error) => (await within(lastWords, ended)) ?? error);
  let ending: Promise<void> | undefined;
  const end = async () => {
    if ((await within(untilTerm, ended)) !== undefined) return;
    child.kill("SIGTERM");
    if ((await within(untilKill, ended)) !== undefined) return;
    child.kill("SIGKILL");
    await ended;
  };
  return {
    link,
    end() {
      ending ??= end();
      return ending;
    },
  };
}

function spawnModule(
  url: string | URL,
  {
    args = [],
    execArgv = process.execArgv,
    execPath = process.execPath,
    env = process.env,
    ...rest
  }: WorkerProcessOptions,
): ChildProcess {
  const [processes, urls] = [readBuiltin("node:child_process"), readBuiltin("node:url")];
  if (processes === undefined || urls === undefined) throw new TypeError("Worker pools need Node.");
  const file = typeof url === "string" ? url : urls.fileURLToPath(url);
  const stdio = [...(rest.stdio ?? (["ignore", "inherit", "inherit"] as const)), "pipe" as const];
  return processes.spawn(execPath, [...execArgv, file, ...args], {
    ...rest,
    stdio,
    env: { ...env, [pipeVariable]: String(pipeNumber) },
  });
}

function describeExit(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `The worker ended with code ${code}` : `The worker was ended by ${signal}`;
}

/** What a promise gives within some milliseconds, or `undefined`. */
function within<T>(milliseconds: number, promise: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), milliseconds);
    void promise.then((value) => {
      clearTimeout(timer);
      resolve(value);
    });
  });
}

const running = new Set<ChildProcess>();

/** Idle processes end with their pipe; busy ones must not outlive a parent that ends without closing its pool. */
function track(child: ChildProcess, ended: Promise<unknown>): void {
  if (running.size === 0) process.on("exit", endAll);
  running.add(child);
  void ended.then(() => {
    running.delete(child);
    if (running.size === 0) process.off("exit", endAll);
  });
}

function endAll(): void {
  for (const child of running) child.kill("SIGTERM");
}
