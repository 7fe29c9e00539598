import type { Worker, WorkerOptions } from "node:worker_threads";
import { logger } from "../../internal/log.ts";
import { CallError, type Limits, unavailable } from "../../operation/index.ts";
import { type Link, LinkHub } from "../link/index.ts";
import type { Transport } from "../transport.ts";
import { RestartBudget } from "./restart-budget.ts";
import { readThreads } from "./threads.ts";
import { attachPort } from "./worker-transport.ts";

const log = logger("transport", "worker");

/** How a pool of workers behaves. */
export interface WorkerPoolOptions {
  /** How many threads. @default what the machine has cores, less one */
  size?: number;
  limits?: Limits;
  /** Passed on to every `Worker`: `workerData`, `env`, `execArgv`, `resourceLimits`. */
  worker?: WorkerOptions;
  /** How long, in ms, a worker may take until it serves something. @default 60,000 */
  startTimeout?: number;
}

/** A pool of worker threads as one transport. */
export interface WorkerPool extends Transport {
  /** How many threads are up and serve. */
  readonly size: number;
}

/**
 * Starts threads that run the module at `url` and resolves when each serves. A call goes to one of them, the one with
 * the least to do. A thread that dies fails its calls with `UNAVAILABLE` and is started again, up to five times in a
 * minute. `close()` ends all threads and resolves when they are gone. Node only.
 */
export async function createWorkerPool(url: string | URL, options: WorkerPoolOptions = {}): Promise<WorkerPool> {
  const pool = new ThreadPool(url, options);
  await pool.start();
  return pool;
}

interface Starting {
  resolve(): void;
  reject(error: Error): void;
}

class ThreadPool extends LinkHub implements WorkerPool {
  readonly #url: string | URL;
  readonly #options: WorkerPoolOptions;
  readonly #threads = new Map<Link, Worker>();
  readonly #starting = new Map<Link, Starting>();
  readonly #budget = new RestartBudget();

  constructor(url: string | URL, options: WorkerPoolOptions) {
    super("worker-pool", {
      onServing: (link) => this.#starting.get(link)?.resolve(),
      onLost: (link, error) => this.#onLost(link, error),
    });
    this.#url = url;
    this.#options = options;
  }

  get size(): number {
    return this.#threads.size - this.#starting.size;
  }

  async start(): Promise<void> {
    const size = this.#options.size ?? defaultSize();
    if (!Number.isInteger(size) || size < 1) throw new RangeError(`A pool needs at least one worker, not ${size}.`);
    try {
      await Promise.all(Array.from({ length: size }, () => this.#startThread()));
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  override async close(reason?: Error): Promise<void> {
    const threads = [...this.#threads.values()];
    await super.close(reason);
    await Promise.all(threads.map((thread) => thread.terminate()));
  }

  async #startThread(): Promise<void> {
    const threads = readThreads();
    if (threads === undefined) throw new TypeError("Worker pools need Node.");
    const thread = new threads.Worker(this.#url, this.#options.worker);
    const link = attachPort(this, thread, this.#options.limits);
    this.#threads.set(link, thread);
    const { startTimeout = 60_000 } = this.#options;
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        this.#starting.set(link, { resolve, reject });
        timer = setTimeout(() => link.close(new Error(`It served nothing within ${startTimeout} ms`)), startTimeout);
      });
    } finally {
      clearTimeout(timer);
      this.#starting.delete(link);
    }
  }

  #onLost(link: Link, error: Error | undefined): void {
    const thread = this.#threads.get(link);
    this.#threads.delete(link);
    thread?.terminate().catch((cause) => log.error("a worker could not be ended: {cause}", { cause }));
    const starting = this.#starting.get(link);
    starting?.reject(notStarted(this.#url, error));
    if (!this.isClosed && starting === undefined) this.#restart(error);
  }

  #restart(error: Error | undefined): void {
    const delay = this.#budget.take();
    if (delay === undefined) {
      log.error("a worker of the pool died too often and stays down: {error}", { error });
      return;
    }
    log.warn("a worker of the pool died and is started again: {error}", { error });
    const timer = setTimeout(() => {
      if (this.isClosed) return;
      this.#startThread().catch((cause) => {
        if (!this.isClosed) this.#restart(cause);
      });
    }, delay);
    timer.unref();
  }
}

function defaultSize(): number {
  const os = process.getBuiltinModule("node:os");
  return Math.max(1, os.availableParallelism() - 1);
}

function notStarted(url: string | URL, cause: Error | undefined): CallError {
  const { message } = unavailable(`The worker ${url}`, { mayHaveRun: false });
  const why = cause === undefined ? "the pool was closed" : cause.message;
  return new CallError("UNAVAILABLE", `${message} It did not start: ${why}.`, undefined, { cause, mayHaveRun: false });
}
