import type { ChildProcess, SpawnOptions } from "node:child_process";
import type { Duplex } from "node:stream";
import type { WorkerOptions } from "node:worker_threads";
import { waitFor } from "../../internal/wait.ts";
import type { Limits } from "../../operation/index.ts";
import type { ChannelTransport, Connection } from "../peer/index.ts";
import { pipeVariable } from "./pipe.ts";
import { readBuiltin } from "./port.ts";
import { attachPipe, attachPort } from "./worker-transport.ts";

/** A thread or process that a pool has started. */
export interface StartedWorker {
  readonly connection: Connection;
  /** Ends the worker. A process may finish first. Resolves when the worker has ended. */
  end(): Promise<void>;
}

/** Options for starting the processes of a pool. */
export interface WorkerProcessOptions extends Pick<SpawnOptions, "cwd" | "uid" | "gid" | "windowsHide"> {
  /** The whole environment of the process. @default the environment of this process, including its secrets */
  env?: NodeJS.ProcessEnv | undefined;
  /** Arguments of the module: `process.argv` after the module itself. */
  args?: readonly string[] | undefined;
  /** Options of Node itself. @default those of this process */
  execArgv?: readonly string[] | undefined;
  /** The program that runs the module. @default the program that runs this process */
  execPath?: string | undefined;
  /** Targets of the standard streams. @default no input; output and errors go to the streams of this process */
  stdio?: readonly [stdin: StandardStream, stdout: StandardStream, stderr: StandardStream] | undefined;
}

/** Target of a standard stream: none, the stream of this process, or an open file. */
export type StandardStream = "ignore" | "inherit" | number;

const pipeNumber = 3;
/** Time for a process to end before SIGTERM, and then before SIGKILL, in ms. */
const untilTermMs = 2_000;
const untilKillMs = 3_000;
/** Maximum delay between the end of a process and the end of its pipe, in either order, in ms. */
const maxExitDelayMs = 1_000;

/** Starts a thread that runs the module at `url`. */
export function startThread(
  transport: ChannelTransport,
  url: string | URL,
  options: WorkerOptions | undefined,
  limits: Limits | undefined,
): StartedWorker {
  const threads = readBuiltin("node:worker_threads");
  if (threads === undefined) throw new TypeError("Worker pools require Node.");
  const thread = new threads.Worker(url, options);
  // After the connection is closed, an error would have no other listener and would end this process.
  thread.on("error", () => {});
  const connection = attachPort(transport, thread, limits);
  return {
    connection,
    async end() {
      await thread.terminate();
    },
  };
}

/** Starts a process that runs the module at `url`. */
export function startProcess(
  transport: ChannelTransport,
  url: string | URL,
  options: WorkerProcessOptions = {},
  limits: Limits | undefined,
): StartedWorker {
  const child = spawnModule(url, options);
  const ended = new Promise<Error>((resolve) => {
    child.on("error", (cause) => resolve(new Error(`The process did not start: ${cause.message}`, { cause })));
    child.once("exit", (code, signal) => resolve(new Error(describeExit(code, signal))));
  });
  track(child, ended);
  const pipe = child.stdio?.[pipeNumber] as Duplex | undefined;
  if (pipe === undefined) throw new Error("The process did not start: there are too many open files");
  // Other processes may keep the pipe open, which must not hide the exit of this one.
  void ended.then(() => setTimeout(() => pipe.destroy(), maxExitDelayMs).unref());
  const connection = attachPipe(
    transport,
    pipe,
    limits,
    async (error) => (await within(maxExitDelayMs, ended)) ?? error,
  );
  let ending: Promise<void> | undefined;
  const end = async () => {
    if ((await within(untilTermMs, ended)) !== undefined) return;
    child.kill("SIGTERM");
    if ((await within(untilKillMs, ended)) !== undefined) return;
    child.kill("SIGKILL");
    await ended;
  };
  return {
    connection,
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
  if (processes === undefined || urls === undefined) throw new TypeError("Worker pools require Node.");
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

/** Returns the result of a promise, or `undefined` after the timeout. */
function within<T>(timeout: number, promise: Promise<T>): Promise<T | undefined> {
  return waitFor<T | undefined>(promise, { timeout }, () => new Error("too late")).catch(() => undefined);
}

const running = new Set<ChildProcess>();

/** Ends the process if this one exits without closing the pool. Only idle processes end with their pipe. */
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
