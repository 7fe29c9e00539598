import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { bundleProgram } from "../../src/transport/testing.ts";
import type { BrokerName } from "./brokers.ts";

/** Messages of a child. */
export interface Said {
  kind: "ready" | "started" | "stopped" | "heard";
  operation?: string;
  n?: number;
}

/** A peer in a process of its own. */
export interface Child extends AsyncDisposable {
  readonly pid: number;
  /** All messages that it has sent. */
  readonly said: Said[];
  /** Resolves when it has sent this message, or has sent it before. */
  heard(kind: Said["kind"]): Promise<Said>;
  kill(signal: NodeJS.Signals): void;
  /** Sends it a message. */
  tell(message: object): void;
  /** Resolves when it has ended, with its exit code, or `null` when a signal ended it. */
  exited(): Promise<number | null>;
}

/** Starts a peer. It is killed when it goes out of scope. */
export async function startChild(
  broker: BrokerName,
  port: number,
  {
    heartbeat = 500,
    role = "serve",
    env = {},
    program = new URL("worker.ts", import.meta.url),
  }: { heartbeat?: number; role?: "serve" | "ask"; env?: NodeJS.ProcessEnv; program?: URL } = {},
): Promise<Child> {
  const file = await bundleProgram(program);
  const child: ChildProcess = fork(file, [broker, String(port), String(heartbeat), role], {
    execArgv: [],
    env: { ...process.env, ...env },
  });
  const said: Said[] = [];
  child.on("message", (message) => said.push(message as Said));
  const exit = once(child, "exit");
  return {
    pid: child.pid!,
    said,
    async heard(kind) {
      for (;;) {
        const found = said.find((message) => message.kind === kind);
        if (found !== undefined) return found;
        await Promise.race([
          once(child, "message"),
          exit.then(() => Promise.reject(new Error(`${kind} was not said`))),
        ]);
      }
    },
    kill: (signal) => void child.kill(signal),
    tell: (message) => void child.send(message),
    exited: async () => (await exit)[0] as number | null,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await exit;
    },
  };
}

/** Starts a worker and waits until it serves. */
export async function startWorker(...args: Parameters<typeof startChild>): Promise<Child> {
  const child = await startChild(...args);
  await child.heard("ready");
  return child;
}
