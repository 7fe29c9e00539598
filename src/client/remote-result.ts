import { isCallError, type SubscriptionIterator } from "../operation/index.ts";

/**
 * The result of an operation whose type is not known at run time. It is a subscription when it is iterated, and a call
 * otherwise. If the current synchronous code ends without iterating it, the call starts, so that a call that the
 * program does not await is also sent. If the operation is a subscription, awaiting the result resolves with the
 * iterator.
 */
export class RemoteResult<T> implements Promise<T>, AsyncIterableIterator<T, undefined>, AsyncDisposable {
  readonly [Symbol.toStringTag] = "RemoteResult";
  readonly #call: () => Promise<T>;
  readonly #subscribe: () => SubscriptionIterator<T>;
  #promise: Promise<T> | undefined = undefined;
  #values: SubscriptionIterator<T> | undefined = undefined;

  constructor(call: () => Promise<T>, subscribe: () => SubscriptionIterator<T>) {
    this.#call = call;
    this.#subscribe = subscribe;
    queueMicrotask(() => {
      if (this.#values === undefined) this.#start();
    });
  }

  #start(): Promise<T> {
    this.#promise ??= this.#call().catch((error) => {
      if (isSubscription(error)) return this.#iterate() as T;
      throw error;
    });
    return this.#promise;
  }

  #iterate(): SubscriptionIterator<T> {
    this.#values ??= this.#subscribe();
    // The iterator reports the failure. An earlier call must not report it again as an unhandled rejection.
    this.#promise?.catch(() => {});
    return this.#values;
  }

  then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#start().then(onFulfilled, onRejected);
  }

  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.#start().catch(onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<T> {
    return this.#start().finally(onFinally);
  }

  [Symbol.asyncIterator](): SubscriptionIterator<T> {
    return this.#iterate();
  }

  next(): Promise<IteratorResult<T, undefined>> {
    return this.#iterate().next();
  }

  return(): Promise<IteratorResult<T, undefined>> {
    return this.#iterate().return();
  }

  throw(error?: unknown): Promise<IteratorResult<T, undefined>> {
    return this.#iterate().throw(error);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#iterate().return();
  }
}

/** Whether a call failed, before anything ran, because its operation is a subscription. */
function isSubscription(error: unknown): boolean {
  if (!isCallError(error) || error.code !== "WRONG_OPERATION_TYPE" || error.mayHaveRun !== false) return false;
  return (error.details as { type?: unknown } | undefined)?.type === "subscription";
}
