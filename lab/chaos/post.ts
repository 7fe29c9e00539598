import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { bundleProgram } from "../../src/transport/testing.ts";
import type { Recorder } from "../../test/history/index.ts";
import type { Random } from "./random.ts";
import type { WorkerOrder } from "./serve-process.ts";
import type { Skew } from "./serving.ts";
import { closeTimeout } from "./settings.ts";
import { insist, within } from "./within.ts";

/** How long, in ms, a worker may take until it serves. */
const startTimeout = 60_000;
const program = new URL("serve-process.ts", import.meta.url);

/** Whatever ends this process, none of them stays. */
const children = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

/** A place for a worker process: always the same address, one worker after the other. */
export class Post {
  readonly #order: Omit<WorkerOrder, "name" | "skew">;
  readonly #place: string;
  readonly #random: Random;
  readonly #recorder: Recorder;
  #count = 0;
  #worker: { name: string; child: ChildProcess } | undefined = undefined;

  constructor(place: string, order: Omit<WorkerOrder, "name" | "skew">, random: Random, recorder: Recorder) {
    this.#place = place;
    this.#order = { ...order };
    this.#random = random;
    this.#recorder = recorder;
  }

  /** Where the workers are, or their broker is. */
  get port(): number {
    return this.#order.port;
  }

  /** Starts a worker, with a clock that may be shifted, and resolves when it serves. Tries again when it cannot. */
  async start(): Promise<void> {
    await insist(() => this.#start());
  }

  kill(): void {
    const { name, child } = this.#worker!;
    this.#recorder.record({ kind: "killed", who: name });
    child.kill("SIGKILL");
  }

  freeze(): void {
    this.#worker!.child.kill("SIGSTOP");
  }

  thaw(): void {
    this.#worker!.child.kill("SIGCONT");
  }

  /** Starts another worker, before or after the present one starts to drain. */
  async relieve(order: "overlapping" | "one after the other"): Promise<void> {
    const old = this.#worker;
    if (order === "one after the other") await this.close();
    await this.start();
    if (order === "overlapping" && old !== undefined) await this.#drain(old);
  }

  /** Makes the worker drain. It must end without a signal. */
  async close(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    if (worker !== undefined) await this.#drain(worker);
  }

  async #start(): Promise<void> {
    const name = `${this.#place}.${++this.#count}`;
    const order: WorkerOrder = { ...this.#order, name, skew: this.#random.pick<Skew>([0, 0, -1, 1]) };
    const child = fork(await bundleProgram(program), [JSON.stringify(order)], { execArgv: [] });
    children.add(child);
    child.once("exit", () => children.delete(child));
    this.#worker = { name, child };
    try {
      const [port] = await within(startTimeout, Promise.race([once(child, "message"), rejectOnExit(name, child)]));
      this.#order.port = port as number;
    } catch (error) {
      this.kill();
      throw error;
    }
  }

  async #drain({ name, child }: { name: string; child: ChildProcess }): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    const started = performance.now();
    child.kill("SIGCONT"); // a stopped process receives no other signal
    child.kill("SIGTERM");
    const code = await within(closeTimeout, exited).then(
      ([code]) => code as number | null,
      () => "no end",
    );
    if (code === "no end") {
      this.#recorder.record({ kind: "killed", who: name });
      child.kill("SIGKILL");
    }
    const took = performance.now() - started;
    this.#recorder.record({ kind: "closed", who: name, left: code === 0 ? [] : [`exit code: ${code}`], took });
  }
}

async function rejectOnExit(name: string, child: ChildProcess): Promise<never> {
  const [code, signal] = await once(child, "exit");
  throw new Error(`${name} ended with ${code ?? signal} before it served`);
}
