import { type Buffered, isBuffered, takeBuffered } from "../internal/buffered.ts";

/** Returns whether the result of a handler is an async iterable. */
export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof (value as Partial<AsyncIterable<unknown>> | null | undefined)?.[Symbol.asyncIterator] === "function";
}

/** Functions that middleware runs during a subscription. */
export interface SubscriptionHooks {
  /** Called when the first value has arrived. */
  onFirstValue?(): void;
  /** Called when the source has ended, or failed with `error`. */
  onEnd?(error?: unknown): void;
  /** Called when the consumer has stopped reading and the source has cleaned up. May follow `onEnd`. */
  onLeave?(): void;
  /** Returns another source after a failure before the first value; throws when the subscription must not be retried. */
  reopen?(error: unknown): Promise<unknown>;
}

type Result = IteratorResult<unknown, undefined>;

const done: Result = { done: true, value: undefined };

/** Forwards the values of a subscription and calls hooks. Buffered values of the source still need no promise. */
export class SubscriptionIterator implements AsyncIterableIterator<unknown>, Buffered<object> {
  readonly #hooks: SubscriptionHooks;
  #source!: AsyncIterator<unknown>;
  #buffered: Buffered<object> | undefined;
  #hasValue = false;
  #hasLeft = false;

  constructor(values: AsyncIterable<unknown>, hooks: SubscriptionHooks) {
    this.#hooks = hooks;
    this.#open(values);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  [takeBuffered](): object | undefined {
    return this.#hasValue ? this.#buffered?.[takeBuffered]() : undefined;
  }

  async next(): Promise<Result> {
    for (;;) {
      try {
        const result = await this.#source.next();
        if (result.done) this.#hooks.onEnd?.();
        else if (!this.#hasValue) {
          this.#hasValue = true;
          this.#hooks.onFirstValue?.();
        }
        return result;
      } catch (error) {
        if (!(await this.#reopen(error))) throw error;
        if (this.#hasLeft) return this.return();
      }
    }
  }

  async return(): Promise<Result> {
    this.#hasLeft = true;
    try {
      await this.#source.return?.();
    } finally {
      this.#hooks.onLeave?.();
    }
    return done;
  }

  /** Opens another source after a failure. Returns whether there is one. */
  async #reopen(error: unknown): Promise<boolean> {
    const values = this.#hasValue || this.#hasLeft ? undefined : await this.#hooks.reopen?.(error);
    if (isAsyncIterable(values)) {
      this.#open(values);
      return true;
    }
    this.#hooks.onEnd?.(error);
    return false;
  }

  #open(values: AsyncIterable<unknown>): void {
    this.#source = values[Symbol.asyncIterator]();
    this.#buffered = isBuffered(this.#source) ? this.#source : undefined;
  }
}
