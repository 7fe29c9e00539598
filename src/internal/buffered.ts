/** Names the method of {@link Buffered}. */
export const takeBuffered: unique symbol = Symbol("takeBuffered");

/**
 * An async iterator that reads ahead, and returns its buffered values one by one without a promise for each. Returns
 * `undefined` when no value is buffered; `next()` then waits for the next one.
 */
export interface Buffered<T extends object> {
  [takeBuffered](): T | undefined;
}

/** Returns whether an iterator can return buffered values. */
export function isBuffered(iterator: object): iterator is Buffered<object> {
  return typeof (iterator as Partial<Buffered<object>>)[takeBuffered] === "function";
}
