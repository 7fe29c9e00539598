/**
 * Tells whether a value is a promise as the language makes them: calling its `then` runs no foreign code and gives
 * another such promise. A subclass, or a promise with a `then` of its own, is not.
 */
export function isPlainPromise(value: unknown): value is Promise<unknown> {
  return value instanceof Promise && value.then === Promise.prototype.then && value.constructor === Promise;
}
