import { startTimer, type Timer } from "./timers.ts";

/** The producer of the values that a {@link ValueIterator} yields. */
export interface Producer {
  /** Called when a consumer waits for a value and none was requested. Ends with a call of `push` or `end`. */
  pull(): void | Promise<void>;
  /**
   * Called when the consumer leaves before the end; `isPulling` while a requested value has not arrived. `return()` of the
   * consumer waits for the promise.
   */
  leave(isPulling: boolean): void | Promise<void>;
  /** Called when the consumer has waited for `idleTimeout` ms. */
  onIdle?(): void;
  /** @default no limit */
  readonly idleTimeout?: number | undefined;
}

interface Waiter<T> {
  resolve(result: IteratorResult<T, undefined>): void;
  reject(error: unknown): void;
}

const done: IteratorResult<never, undefined> = Object.freeze({ done: true, value: undefined });

/**
 * An async iterator between a producer and its consumer. Calls of `next()` are queued, and one value is requested at a
 * time. It is not an async generator, because the `return()` of a generator waits for a pending `next()`, which may never
 * settle: here it ends the iteration immediately.
 */
export class ValueIterator<T> implements AsyncIterableIterator<T, undefined> {
  readonly #producer: Producer;
  #waiters: Waiter<T>[] = [];
  #isPulling = false;
  #isClosed = false;
  /** An error that occurred while no `next()` was pending; the following `next()` rejects with it. */
  #failure: { error: unknown } | undefined = undefined;
  #idle: Timer | undefined = undefined;

  constructor(producer: Producer) {
    this.#producer = producer;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#isClosed) {
      const failure = this.#failure;
      this.#failure = undefined;
      return failure === undefined ? Promise.resolve(done) : Promise.reject(failure.error);
    }
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      this.#wait();
    });
  }

  /** Ends the iteration. A pending `next()` resolves immediately. */
  async return(): Promise<IteratorResult<T, undefined>> {
    this.#failure = undefined;
    if (this.#isClosed) return done;
    const isPulling = this.#isPulling;
    this.end();
    await this.#producer.leave(isPulling);
    return done;
  }

  async throw(error?: unknown): Promise<IteratorResult<T, undefined>> {
    await this.return();
    throw error;
  }

  /** Passes the requested value to the consumer. Has no effect after the end. */
  push(value: T): void {
    if (this.#isClosed) return;
    this.#isPulling = false;
    this.#idle?.stop();
    this.#idle = undefined;
    this.#waiters.shift()?.resolve({ done: false, value });
    if (this.#waiters.length > 0) this.#wait();
  }

  /** Ends the iteration, with an error if `failure` has one. Has no effect after the end. */
  end(failure?: { error: unknown }): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#idle?.stop();
    const waiters = this.#waiters;
    this.#waiters = [];
    if (failure !== undefined) {
      if (waiters.length > 0) waiters.shift()!.reject(failure.error);
      else this.#failure = failure;
    }
    for (const waiter of waiters) waiter.resolve(done);
  }

  #wait(): void {
    const { idleTimeout } = this.#producer;
    if (idleTimeout !== undefined) this.#idle ??= startTimer(() => this.#producer.onIdle?.(), idleTimeout);
    if (this.#isPulling) return;
    this.#isPulling = true;
    void this.#producer.pull();
  }
}
