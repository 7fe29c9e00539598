import type { WorkerOptions } from "node:worker_threads";
import { BackOff } from "../../internal/back-off.ts";
import { logger } from "../../internal/log.ts";
import { CallError, type Limits, resolveCount, resolveDuration, resolveLimits } from "../../operation/inside.ts";
import { ChannelTransport, type Connection, ServingPeer } from "../peer/index.ts";
import type { PeerAnnounced, Transport } from "../transport.ts";
import { readBuiltin } from "./port.ts";
import { type StartedWorker, startProcess, startThread, type WorkerProcessOptions } from "./started-worker.ts";

const log = logger("transport", "worker");

/** Maximum delay, in ms, before an empty pool restarts a worker that served before it died. */
const maxEmptyMs = 500;
/** Delays before a worker that died is restarted, in ms. */
const restartRange = { first: 100, max: 30_000 };
/** Serving time after which a death is not attributed to the start of the worker, in ms. */
const steadyMs = 2_000;

/** Maximum number of workers. A larger number is usually a mistake. */
const maxSize = 1_024;

/** Options of every pool of workers. */
interface PoolOptions {
  /** Number of workers, 1 to 1,024. @default the number of cores of this machine, less one */
  size?: number | undefined;
  /** Limits for messages and pending calls. @default those of `Limits` */
  limits?: Limits | undefined;
  /**
   * Maximum time that the event loop of a worker may be blocked, in ms. After that, the worker is ended and restarted;
   * detection takes up to four times as long. 0 disables this, because handlers may compute for long. @default 0
   */
  heartbeat?: number | undefined;
  /** Maximum time for a worker to announce its operations, in ms, above 0. @default 60,000 */
  startTimeout?: number | undefined;
}

/** Options of a pool of threads. */
export interface ThreadPoolOptions extends PoolOptions {
  /** Runs workers as threads of this process. */
  kind?: "thread" | undefined;
  /** Passed to every `Worker`: `workerData`, `env`, `execArgv`, `resourceLimits`. */
  worker?: WorkerOptions | undefined;
}

/** Options of a pool of processes. */
export interface ProcessPoolOptions extends PoolOptions {
  /** Runs workers as processes. */
  kind: "process";
  /** Options for starting each process: `env`, `execArgv`, `cwd`, `uid`. */
  process?: WorkerProcessOptions | undefined;
}

/** Options of {@link createWorkerPool}. Workers are threads unless `kind` is `"process"`. */
export type WorkerPoolOptions = ThreadPoolOptions | ProcessPoolOptions;

/** A pool of workers as one transport. */
export interface WorkerPool extends Transport, AsyncDisposable {
  /** Number of workers that are running and serving. */
  readonly size: number;
}

/**
 * Starts threads, or processes with `kind: "process"`, that run the module at `url`. Resolves when each has announced
 * its operations. A call goes to the worker with the fewest pending calls. If a worker dies, its calls fail with
 * `UNAVAILABLE`, and it is restarted after 100 ms. The delay doubles, up to 30 seconds, as long as it dies within two
 * seconds. An empty pool restarts a worker after at most half a second, unless its latest start failed. `close()` ends
 * all workers and resolves when they have ended. Node only.
 */
export async function createWorkerPool(url: string | URL, options: WorkerPoolOptions = {}): Promise<WorkerPool> {
  const pool = new WorkerPoolTransport(url, options);
  await pool.start();
  return pool;
}

/** A position in the pool, which successive threads or processes occupy. */
interface WorkerSlot {
  readonly backOff: BackOff;
  /** Settled when the first start ends. */
  readonly started: { resolve(): void; reject(error: Error): void };
  worker: StartedWorker | undefined;
  /** Ends a start that takes too long. */
  timer: ReturnType<typeof setTimeout> | undefined;
  isUp: boolean;
  hasBeenUp: boolean;
  /** Time at which it last began to serve; `undefined` if its latest start failed. */
  upSince: number | undefined;
  /** The next start. */
  restart: { timer: ReturnType<typeof setTimeout>; dueAt: number } | undefined;
}

class WorkerPoolTransport extends ChannelTransport implements WorkerPool {
  readonly #url: string | URL;
  readonly #options: WorkerPoolOptions;
  readonly #slots = new Map<Connection, WorkerSlot>();
  /** Slots that wait for their next start. */
  readonly #restarting = new Set<WorkerSlot>();
  /** Workers that are being ended. */
  readonly #ending = new Set<Promise<void>>();
  readonly #wanted: number;
  readonly #heartbeat: number;
  readonly #startTimeout: number;

  constructor(url: string | URL, options: WorkerPoolOptions) {
    super("worker-pool", ServingPeer);
    // import.meta.resolve() returns a string, which neither threads nor processes accept.
    this.#url = typeof url === "string" && url.startsWith("file:") ? new URL(url) : url;
    this.#options = { ...options, limits: resolveLimits(options.limits) };
    this.#wanted = resolveCount("size", options.size, defaultSize(), { min: 1, max: maxSize });
    this.#heartbeat = resolveDuration("heartbeat", options.heartbeat, 0, { zero: true });
    this.#startTimeout = resolveDuration("startTimeout", options.startTimeout, 60_000);
  }

  get size(): number {
    let size = 0;
    for (const { isUp } of this.#slots.values()) if (isUp) size += 1;
    return size;
  }

  async start(): Promise<void> {
    try {
      await Promise.all(Array.from({ length: this.#wanted }, () => this.#addSlot()));
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  override async close(reason?: Error): Promise<void> {
    await super.close(reason);
    await Promise.all(this.#ending);
  }

  protected override get replacesConnections(): boolean {
    return true;
  }

  protected override lacksConnections(): boolean {
    return this.size !== this.#wanted;
  }

  /** A worker is ready when it has announced its operations, because it already serves them by then. */
  override onAnnounced(connection: Connection, event: PeerAnnounced): void {
    super.onAnnounced(connection, event);
    const slot = this.#slots.get(connection);
    if (slot === undefined || event.specs.length === 0) return;
    if (slot.isUp) return;
    clearTimeout(slot.timer);
    // Start only now, because a worker that loads its modules is silent. It has half of the interval to reply.
    connection.watch(2 * this.#heartbeat);
    slot.isUp = true;
    slot.hasBeenUp = true;
    slot.upSince = performance.now();
    slot.started.resolve();
  }

  #addSlot(): Promise<void> {
    return new Promise((resolve, reject) => {
      const backOff = new BackOff(restartRange, () => 1); // the delays are documented, so they are not random
      const started = { resolve, reject };
      const state = { isUp: false, hasBeenUp: false, timer: undefined, upSince: undefined, restart: undefined };
      this.#start({ backOff, started, worker: undefined, ...state });
    });
  }

  #start(slot: WorkerSlot): void {
    const options = this.#options;
    const worker =
      options.kind === "process"
        ? startProcess(this, this.#url, options.process, options.limits)
        : startThread(this, this.#url, options.worker, options.limits);
    const { connection } = worker;
    this.#restarting.delete(slot);
    slot.upSince = undefined;
    if (slot.worker !== undefined) this.serving?.replace(slot.worker.connection, connection);
    slot.worker = worker;
    this.#slots.set(connection, slot);
    const startTimeout = this.#startTimeout;
    const cancel = () => connection.close(new Error(`It did not announce its operations within ${startTimeout} ms`));
    slot.timer = setTimeout(cancel, startTimeout);
  }

  override onLost(connection: Connection, error: Error | undefined): void {
    super.onLost(connection, error);
    const slot = this.#slots.get(connection);
    if (slot?.worker === undefined) return;
    this.#slots.delete(connection);
    clearTimeout(slot.timer);
    slot.isUp = false;
    this.#end(slot.worker);
    if (!slot.hasBeenUp) slot.started.reject(notStarted(this.#url, error));
    else if (!this.isClosed) this.#restart(slot, error);
  }

  #end(worker: StartedWorker): void {
    const ending = worker
      .end()
      .catch((cause) => log.error("A worker could not be ended: {cause}", { cause }))
      .finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  #restart(slot: WorkerSlot, error: unknown): void {
    if (slot.upSince !== undefined && performance.now() - slot.upSince >= steadyMs) slot.backOff.reset();
    const delay = slot.backOff.next();
    log.warn("A worker of the pool died and is started again in {delay} ms: {error}", { delay, error });
    this.#startIn(slot, delay);
    this.#startOneSoon();
  }

  #startIn(slot: WorkerSlot, delay: number): void {
    clearTimeout(slot.restart?.timer);
    const timer = setTimeout(() => {
      if (this.isClosed) return;
      try {
        this.#start(slot);
      } catch (cause) {
        this.#restart(slot, cause);
      }
    }, delay);
    timer.unref();
    slot.restart = { timer, dueAt: performance.now() + delay };
    this.#restarting.add(slot);
  }

  /** If no worker is running or starting, soon starts the next one that served before. */
  #startOneSoon(): void {
    if (this.#slots.size > 0 || this.isClosed) return;
    let next: WorkerSlot | undefined;
    for (const slot of this.#restarting) {
      const isSooner = next === undefined || slot.restart!.dueAt < next.restart!.dueAt;
      if (slot.upSince !== undefined && isSooner) next = slot;
    }
    if (next !== undefined && next.restart!.dueAt - performance.now() > maxEmptyMs) this.#startIn(next, maxEmptyMs);
  }
}

function defaultSize(): number {
  return Math.max(1, (readBuiltin("node:os")?.availableParallelism() ?? 1) - 1);
}

function notStarted(url: string | URL, cause: Error | undefined): CallError {
  const reason = cause === undefined ? "the pool was closed" : cause.message;
  const message = `The worker ${url} is not available. It did not start: ${reason}.`;
  return new CallError("UNAVAILABLE", message, undefined, { cause, mayHaveRun: false });
}
