import type { WorkerOptions } from "node:worker_threads";
import { logger } from "../../internal/log.ts";
import {
  CallError,
  type Limits,
  resolveCount,
  resolveDuration,
  resolveLimits,
  unavailable,
} from "../../operation/index.ts";
import { ChannelTransport, type Connection } from "../peer/index.ts";
import type { PeerAnnounced, Transport } from "../transport.ts";
import { readBuiltin } from "./builtin.ts";
import type { Member } from "./member.ts";
import { startProcess, type WorkerProcessOptions } from "./processes.ts";
import { RestartPauses } from "./restart-pauses.ts";
import { startThread } from "./threads.ts";

const log = logger("transport", "worker");

/** In ms: how long a pool without a worker waits before it starts one that served before it died. */
const maxEmptyMs = 500;

/** More workers than this are a mistake more often than not. */
const maxSize = 1_024;

/** How a pool of workers behaves, whatever they are. */
interface PoolOptions {
  /** How many workers, 1 to 1,024. @default what the machine has cores, less one */
  size?: number | undefined;
  limits?: Limits | undefined;
  /**
   * A worker whose event loop stands still for longer than this, in ms, is ended and started again; noticing it takes up
   * to four times as long. 0 waits for ever, because handlers may compute for long. @default 0
   */
  heartbeat?: number | undefined;
  /** How long, in ms, above 0, a worker may take until it has announced what it serves. @default 60,000 */
  startTimeout?: number | undefined;
}

/** How a pool of threads behaves. */
export interface ThreadPoolOptions extends PoolOptions {
  kind?: "thread" | undefined;
  /** Passed on to every `Worker`: `workerData`, `env`, `execArgv`, `resourceLimits`. */
  worker?: WorkerOptions | undefined;
}

/** How a pool of processes behaves. */
export interface ProcessPoolOptions extends PoolOptions {
  kind: "process";
  /** How each is started: `env`, `execArgv`, `cwd`, `uid`. */
  process?: WorkerProcessOptions | undefined;
}

/** How a pool of workers behaves. Those of a pool are threads unless it says otherwise. */
export type WorkerPoolOptions = ThreadPoolOptions | ProcessPoolOptions;

/** A pool of workers as one transport. */
export interface WorkerPool extends Transport {
  /** How many workers are up and serve. */
  readonly size: number;
}

/**
 * Starts threads, or processes with `kind: "process"`, that run the module at `url`, and resolves when each has announced
 * what it serves. A call goes to one of them, the one with the least to do. A worker that dies fails its calls with
 * `UNAVAILABLE` and is started again after 100 ms. The pause doubles, up to half a minute, as long as it dies within two
 * seconds; a pool without any worker starts one after half a second at the latest, unless its latest start failed.
 * `close()` ends all workers and resolves when they are gone. Node only.
 */
export async function createWorkerPool(url: string | URL, options: WorkerPoolOptions = {}): Promise<WorkerPool> {
  const pool = new Pool(url, options);
  await pool.start();
  return pool;
}

/** A worker that the pool should have, whichever thread or process it is now. */
interface Place {
  readonly pauses: RestartPauses;
  /** Hears how its first start ends. */
  readonly started: { resolve(): void; reject(error: Error): void };
  member: Member | undefined;
  /** Ends a start that takes too long. */
  timer: ReturnType<typeof setTimeout> | undefined;
  isUp: boolean;
  hasBeenUp: boolean;
  /** When it last began to serve; `undefined` when its latest start failed. */
  upSince: number | undefined;
  /** The start that it waits for. */
  restart: { timer: ReturnType<typeof setTimeout>; dueAt: number } | undefined;
}

class Pool extends ChannelTransport implements WorkerPool {
  readonly #url: string | URL;
  readonly #options: WorkerPoolOptions;
  readonly #places = new Map<Connection, Place>();
  /** Places that wait to be filled again. */
  readonly #restarting = new Set<Place>();
  /** Members that are on their way out. */
  readonly #ending = new Set<Promise<void>>();
  readonly #wanted: number;
  readonly #heartbeat: number;
  readonly #startTimeout: number;

  constructor(url: string | URL, options: WorkerPoolOptions) {
    super("worker-pool");
    // What import.meta.resolve() gives; neither threads nor processes take it as it is.
    this.#url = typeof url === "string" && url.startsWith("file:") ? new URL(url) : url;
    this.#options = { ...options, limits: resolveLimits(options.limits) };
    this.#wanted = resolveCount("size", options.size, defaultSize(), { min: 1, max: maxSize });
    this.#heartbeat = resolveDuration("heartbeat", options.heartbeat, 0, { zero: true });
    this.#startTimeout = resolveDuration("startTimeout", options.startTimeout, 60_000);
  }

  get size(): number {
    let size = 0;
    for (const { isUp } of this.#places.values()) if (isUp) size += 1;
    return size;
  }

  async start(): Promise<void> {
    try {
      await Promise.all(Array.from({ length: this.#wanted }, () => this.#addPlace()));
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

  /** What is announced is served already: a worker is ready when a registry that follows the pool can know its operations. */
  override onAnnounced(link: Connection, event: PeerAnnounced): void {
    super.onAnnounced(link, event);
    const place = this.#places.get(link);
    if (place === undefined || event.specs.length === 0) return;
    if (place.isUp) return;
    clearTimeout(place.timer);
    // Not before: a worker that loads its modules is silent, too.
    link.watch(2 * this.#heartbeat); // who is asked has half of it to answer
    place.isUp = true;
    place.hasBeenUp = true;
    place.upSince = performance.now();
    place.started.resolve();
  }

  #addPlace(): Promise<void> {
    return new Promise((resolve, reject) => {
      const pauses = new RestartPauses();
      const started = { resolve, reject };
      const member = undefined;
      const state = { isUp: false, hasBeenUp: false, timer: undefined, upSince: undefined, restart: undefined };
      this.#fill({ pauses, started, member, ...state });
    });
  }

  #fill(place: Place): void {
    const options = this.#options;
    const member =
      options.kind === "process"
        ? startProcess(this, this.#url, options.process, options.limits)
        : startThread(this, this.#url, options.worker, options.limits);
    const { link } = member;
    this.#restarting.delete(place);
    place.upSince = undefined;
    if (place.member !== undefined) this.replace(place.member.link, link);
    place.member = member;
    this.#places.set(link, place);
    const startTimeout = this.#startTimeout;
    const giveUp = () => link.close(new Error(`It announced nothing within ${startTimeout} ms`));
    place.timer = setTimeout(giveUp, startTimeout);
  }

  override onLost(link: Connection, error: Error | undefined): void {
    super.onLost(link, error);
    const place = this.#places.get(link);
    if (place?.member === undefined) return;
    this.#places.delete(link);
    clearTimeout(place.timer);
    place.isUp = false;
    this.#end(place.member);
    if (!place.hasBeenUp) place.started.reject(notStarted(this.#url, error));
    else if (!this.isClosed) this.#fillAgain(place, error);
  }

  #end(member: Member): void {
    const ending = member
      .end()
      .catch((cause) => log.error("a worker could not be ended: {cause}", { cause }))
      .finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  #fillAgain(place: Place, error: unknown): void {
    const pause = place.pauses.next(place.upSince === undefined ? 0 : performance.now() - place.upSince);
    log.warn("a worker of the pool died and is started again in {pause} ms: {error}", { pause, error });
    this.#fillIn(place, pause);
    this.#hurry();
  }

  #fillIn(place: Place, pause: number): void {
    clearTimeout(place.restart?.timer);
    const timer = setTimeout(() => {
      if (this.isClosed) return;
      try {
        this.#fill(place);
      } catch (cause) {
        this.#fillAgain(place, cause);
      }
    }, pause);
    timer.unref();
    place.restart = { timer, dueAt: performance.now() + pause };
    this.#restarting.add(place);
  }

  /** When no worker is up or being started, the next that could serve is not waited for for long. */
  #hurry(): void {
    if (this.#places.size > 0 || this.isClosed) return;
    let next: Place | undefined;
    for (const place of this.#restarting) {
      const isSooner = next === undefined || place.restart!.dueAt < next.restart!.dueAt;
      if (place.upSince !== undefined && isSooner) next = place;
    }
    if (next !== undefined && next.restart!.dueAt - performance.now() > maxEmptyMs) this.#fillIn(next, maxEmptyMs);
  }
}

function defaultSize(): number {
  return Math.max(1, (readBuiltin("node:os")?.availableParallelism() ?? 1) - 1);
}

function notStarted(url: string | URL, cause: Error | undefined): CallError {
  const { message } = unavailable(`The worker ${url}`, { mayHaveRun: false });
  const why = cause === undefined ? "the pool was closed" : cause.message;
  return new CallError("UNAVAILABLE", `${message} It did not start: ${why}.`, undefined, { cause, mayHaveRun: false });
}
