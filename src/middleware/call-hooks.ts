import { ValueIterator } from "../internal/value-iterator.ts";
import { OperationType } from "../operation/inside.ts";
import type { MiddlewareCall } from "../registry/index.ts";

/** Functions that middleware runs during a call. Either `onEnd` or `onLeave` is called, once. */
export interface CallHooks {
  /** Called when the first value of a subscription has arrived. */
  onFirstValue?(): void;
  /** Called when the handler, or the source of a subscription, has ended, or failed with `error`. */
  onEnd?(error?: unknown): void;
  /** Called when the consumer has stopped reading and the source has cleaned up. */
  onLeave?(): void;
  /** Returns another source after a failure before the first value; throws when the subscription must not be retried. */
  reopen?(error: unknown): Promise<unknown>;
}

/** Runs a call with hooks, which are also called while the values of a subscription are read. */
export async function runWithHooks(
  { spec }: MiddlewareCall,
  next: () => Promise<unknown>,
  hooks: CallHooks,
): Promise<unknown> {
  try {
    const result = await next();
    if (spec.type === OperationType.SUBSCRIPTION && isAsyncIterable(result)) return watchValues(result, hooks);
    hooks.onEnd?.();
    return result;
  } catch (error) {
    hooks.onEnd?.(error);
    throw error;
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof (value as Partial<AsyncIterable<unknown>> | null | undefined)?.[Symbol.asyncIterator] === "function";
}

function watchValues(source: AsyncIterable<unknown>, hooks: CallHooks): AsyncIterableIterator<unknown> {
  let iterator = source[Symbol.asyncIterator]();
  let hasValue = false;
  const read = async (): Promise<IteratorResult<unknown>> => {
    try {
      return await iterator.next();
    } catch (error) {
      if (hasValue || values.isClosed || hooks.reopen === undefined) throw error;
      const next = await hooks.reopen(error);
      if (!isAsyncIterable(next)) throw error;
      iterator = next[Symbol.asyncIterator]();
      if (!values.isClosed) return read();
      await iterator.return?.();
      throw error;
    }
  };
  const end = (failure?: { error: unknown }) => {
    if (!values.isClosed) hooks.onEnd?.(failure?.error);
    values.end(failure);
  };
  const pull = async (): Promise<void> => {
    try {
      const result = await read();
      if (result.done) return end();
      if (!hasValue) hooks.onFirstValue?.();
      hasValue = true;
      values.push(result.value);
    } catch (error) {
      end({ error });
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
