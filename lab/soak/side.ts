import { type ChildProcess, fork } from "node:child_process";
import { on, once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { bundleProgram } from "../../src/transport/testing.ts";
import type { Outcome } from "./soak.ts";
import type { TransportName } from "./transports.ts";

/** Messages to the server. */
export interface ServerOrder {
  transport: TransportName;
  /** The broker's. */
  port: number;
}

/** Messages to the caller. */
export interface CallerOrder {
  transport: TransportName;
  /** Of the broker or the server. */
  port: number;
  /** The file of the server, for a transport whose server is a thread of the caller. */
  serverProgram: string;
  /** Soaks to run. */
  names: readonly string[];
  scale: number;
  slack: number;
}

/** Messages of both. */
export type Word =
  | { kind: "ready"; port: number }
  | { kind: "began" }
  | { kind: "progress"; soak: string; done: number; count: number }
  | { kind: "ended"; outcome: Outcome }
  /** Everything is closed, with these problems. */
  | { kind: "closed"; problems: string[] };

/** The caller or the server of soaks, in a separate process. It is killed when it goes out of scope. */
export interface Side extends AsyncDisposable {
  /** Its messages, up to its end. Reading can continue where it stopped. */
  words(): AsyncIterable<Word>;
  tell(message: object): void;
  /** Waits until it has ended, which needs no signal, and returns the problems. */
  ended(): Promise<string[]>;
}

/** How long, in ms, a process may take to end when it has nothing left to do. */
const lastMoment = 60_000;

/** Starts a side. */
export async function startSide(name: "server", order: ServerOrder): Promise<Side>;
export async function startSide(name: "caller", order: Omit<CallerOrder, "serverProgram">): Promise<Side>;
export async function startSide(name: "server" | "caller", order: object): Promise<Side> {
  const serverProgram = await bundleProgram(new URL("server.ts", import.meta.url));
  const file = name === "server" ? serverProgram : await bundleProgram(new URL("caller.ts", import.meta.url));
  const child: ChildProcess = fork(file, [JSON.stringify({ ...order, serverProgram })], { execArgv: ["--expose-gc"] });
  const exited = once(child, "exit");
  const said = on(child, "message", { close: ["disconnect"] });
  let closing = [`the ${name} died`];
  async function* words(): AsyncGenerator<Word> {
    for (;;) {
      const { done, value } = await said.next();
      if (done) return;
      const [word] = value as [Word];
      if (word.kind === "closed") closing = word.problems;
      yield word;
    }
  }
  return {
    words,
    tell: (message) => void child.send(message),
    async ended() {
      for await (const _word of words());
      const late = new AbortController();
      const end = await Promise.race([exited, delay(lastMoment, undefined, { signal: late.signal })]);
      late.abort();
      if (end === undefined) return [...closing, `the ${name} did not exit by itself`];
      const [code, signal] = end as [number | null, string | null];
      return code === 0 ? closing : [...closing, `the ${name} exited with ${code ?? signal}`];
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await exited;
    },
  };
}
