import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ensureProgram, type ProgramName } from "../../scripts/ensure-program.ts";
import { findFreePort } from "../../src/internal/testing.ts";

/** A server of our own on loopback, which can be killed and started again at the same place. */
export interface Service extends AsyncDisposable {
  readonly port: number;
  /** The process, while there is one. */
  readonly pid: number | undefined;
  /** Starts it again after `kill`. Resolves when it takes connections. */
  start(): Promise<void>;
  /** Kills it, or stops it for a while with SIGSTOP and SIGCONT. */
  kill(signal?: "SIGKILL" | "SIGSTOP" | "SIGCONT"): Promise<void>;
  /** Ends it with a signal and removes the files that it wrote. */
  close(): Promise<void>;
}

/** How one kind of server is run. */
export interface ServiceRecipe {
  name: ProgramName;
  args(port: number, folder: string): string[];
  /** What makes it end with exit code 0. */
  stopSignal: NodeJS.Signals;
}

/** How long, in ms, a server may take until it listens. */
const startTimeout = 60_000;
/** Starts a server on a free port, or returns `undefined` where the program is missing. */
export async function startService(recipe: ServiceRecipe): Promise<Service | undefined> {
  const program = await ensureProgram(recipe.name);
  if (program === undefined) return undefined;
  const folder = await mkdtemp(join(tmpdir(), `${recipe.name}-`));
  const port = await findFreePort();
  let child: ChildProcess | undefined;

  const start = async () => {
    // Not of the terminal's group: Ctrl-C is for the one who started this.
    const options = { stdio: "ignore", env: program.env, cwd: folder, detached: true } as const;
    child = spawn(program.path, recipe.args(port, folder), options);
    await untilListening(port, child);
  };
  // Whatever ends this process, nothing of it stays.
  const onExit = () => child?.kill("SIGKILL");
  process.once("exit", onExit);
  const end = async (signal: NodeJS.Signals) => {
    const ending = child;
    child = undefined;
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    const exited = once(ending, "exit");
    ending.kill("SIGCONT"); // a stopped process receives no signal but SIGKILL
    ending.kill(signal);
    await exited;
  };
  const close = async () => {
    await end(recipe.stopSignal);
    process.off("exit", onExit);
    await rm(folder, { recursive: true, force: true });
  };

  await start();
  return {
    port,
    get pid() {
      return child?.pid;
    },
    start,
    kill: async (signal = "SIGKILL") => {
      if (signal === "SIGKILL") await end(signal);
      else child?.kill(signal);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function untilListening(port: number, child: ChildProcess): Promise<void> {
  const giveUpAt = performance.now() + startTimeout;
  while (performance.now() < giveUpAt) {
    if (child.exitCode !== null) throw new Error(`The server ended with ${child.exitCode} before it was ready`);
    if (await canConnect(port)) return;
    await delay(10);
  }
  throw new Error(`The server on port ${port} did not get ready`);
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: "127.0.0.1" });
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
