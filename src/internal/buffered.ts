/** Names the method of {@link Buffered}. */
export const takeBuffered: unique symbol = Symbol("takeBuffered");

/**
 * What an async iterator that reads ahead can offer beside `next()`: the values that it has at hand, one by one and
 * without a promise for each. `undefined` when no value is buffered; `next()` then waits for the next one.
 */
export interface Buffered<T extends object> {
  [takeBuffered](): T | undefined;
}

/** Whether an iterator can be asked for what it has at hand. */
export function isBuffered(iterator: object): iterator is Buffered<object> {
  return typeof (iterator as Partial<Buffered<object>>)[takeBuffered] === "function";
}
