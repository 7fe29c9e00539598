import { ValueIterator } from "../internal/value-iterator.ts";

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
  /** Called when the consumer has stopped reading and the source has cleaned up. */
  onLeave?(): void;
  /** Returns another source after a failure before the first value; throws when the subscription must not be retried. */
  reopen?(error: unknown): Promise<unknown>;
}

/** Returns the values of a subscription, and calls hooks while they are read. */
export function watchValues(source: AsyncIterable<unknown>, hooks: SubscriptionHooks): AsyncIterableIterator<unknown> {
  let iterator = source[Symbol.asyncIterator]();
  let hasValue = false;
  const fail = (error: unknown) => {
    hooks.onEnd?.(error);
    values.end({ error });
  };
  const pull = async (): Promise<void> => {
    try {
      const result = await iterator.next();
      if (result.done) {
        hooks.onEnd?.();
        return values.end();
      }
      if (!hasValue) hooks.onFirstValue?.();
      hasValue = true;
      values.push(result.value);
    } catch (error) {
      if (hasValue || values.isClosed || hooks.reopen === undefined) return fail(error);
      try {
        const next = await hooks.reopen(error);
        if (!isAsyncIterable(next)) return fail(error);
        iterator = next[Symbol.asyncIterator]();
        if (values.isClosed) await iterator.return?.();
        else await pull();
      } catch (problem) {
        fail(problem);
      }
    }
  };
  const leave = async () => {
    try {
      await iterator.return?.();
    } finally {
      hooks.onLeave?.();
    }
  };
  const values = new ValueIterator<unknown>({ pull, leave });
  return values;
}
