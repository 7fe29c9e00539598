import { toReason } from "../internal/text.ts";
import { waitFor } from "../internal/wait.ts";
import {
  aborted,
  CallError,
  checkCallOptions,
  checkPastDeadline,
  isCallError,
  type RemoteSubscribeOptions,
  type ResponseEnvelope,
  type SubscriptionIterator,
  timedOut,
  withDeadline,
} from "../operation/index.ts";

/** Calls remote operations. Each protocol has one implementation. The methods do not throw synchronously. */
export interface Connection {
  /** Calls a query or mutation. */
  call(id: string, input: unknown, options: RemoteSubscribeOptions): Promise<ResponseEnvelope>;
  /** Creates a subscription. The request is sent with the first `next()`. */
  subscribe(id: string, input: unknown, options: RemoteSubscribeOptions): SubscriptionIterator<ResponseEnvelope>;
  /** Ends all calls and subscriptions, and closes the connection. */
  close(): Promise<void>;
}

/**
 * A connection that is opened with the first call. When that fails, the calls that waited for it fail, and the next
 * call opens it again. The time spent waiting for the connection counts towards the timeout of a call.
 */
export class LazyConnection implements Connection {
  readonly #connect: (signal: AbortSignal) => Promise<Connection>;
  #opened: Connection | undefined = undefined;
  #opening: Promise<Connection> | undefined = undefined;
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined = undefined;

  /** @param connect opens the connection; its signal is aborted when the client is closed meanwhile */
  constructor(connect: (signal: AbortSignal) => Promise<Connection>) {
    this.#connect = connect;
  }

  call(id: string, input: unknown, options: RemoteSubscribeOptions): Promise<ResponseEnvelope> {
    if (this.#opened !== undefined && this.#closed === undefined) return this.#opened.call(id, input, options);
    return this.#callWhenOpen(id, input, options);
  }

  async #callWhenOpen(id: string, input: unknown, options: RemoteSubscribeOptions): Promise<ResponseEnvelope> {
    const limited = withDeadline(options);
    const connection = await this.#open(id, limited);
    return connection.call(id, input, limited);
  }

  subscribe(id: string, input: unknown, options: RemoteSubscribeOptions): SubscriptionIterator<ResponseEnvelope> {
    const limited = withDeadline(options);
    return new LazySubscription(async () => (await this.#open(id, limited)).subscribe(id, input, limited));
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    const opened = await this.#opening?.catch(() => undefined);
    await opened?.close();
  }

  /** Resolves with the open connection, or rejects when the call that needs it times out. */
  async #open(id: string, options: RemoteSubscribeOptions): Promise<Connection> {
    if (this.#closed !== undefined) throw clientClosed();
    if (this.#opened !== undefined) return this.#opened;
    return waitFor(
      waitWithin(id, () => this.#start(), options),
      { signal: this.#closing.signal },
      clientClosed,
    );
  }

  #start(): Promise<Connection> {
    this.#opening ??= this.#connect(this.#closing.signal).then(
      (connection) => {
        this.#opened = connection;
        return connection;
      },
      (error) => {
        this.#opening = undefined;
        throw isCallError(error) ? error : notLoaded(error);
      },
    );
    return this.#opening;
  }
}

/**
 * Settles with the promise that `start` returns, unless the call times out or its signal is aborted first. Rejects with
 * the same errors as a call over an open connection. Does not call `start` when the options are invalid.
 */
export async function waitWithin<T>(
  id: string,
  start: () => Promise<T>,
  { deadline, timeout, signal }: RemoteSubscribeOptions,
): Promise<T> {
  const invalid = checkCallOptions(id, deadline, signal, timeout);
  if (invalid !== undefined) throw invalid;
  if (signal?.aborted) throw aborted(id, signal.reason, false);
  const left = deadline === undefined ? Number.POSITIVE_INFINITY : deadline - Date.now();
  if (deadline !== undefined && left <= 0) throw checkPastDeadline(id, deadline) ?? timedOut(id, false);
  return waitFor(start(), { timeout: left, signal }, (failure) =>
    failure === "TIMEOUT" ? timedOut(id, false) : aborted(id, signal?.reason, false),
  );
}

const done = { done: true, value: undefined } as const;

/** A subscription that is opened asynchronously with the first `next()`. */
export class LazySubscription implements SubscriptionIterator<ResponseEnvelope> {
  readonly #open: () => Promise<SubscriptionIterator<ResponseEnvelope>>;
  #opening: Promise<SubscriptionIterator<ResponseEnvelope>> | undefined = undefined;
  #values: SubscriptionIterator<ResponseEnvelope> | undefined = undefined;
  #hasEnded = false;
  /** Ends pending calls of `next()`. */
  readonly #leaving = new AbortController();

  constructor(open: () => Promise<SubscriptionIterator<ResponseEnvelope>>) {
    this.#open = open;
  }

  async next(): Promise<IteratorResult<ResponseEnvelope, undefined>> {
    if (this.#hasEnded) return done;
    if (this.#values !== undefined) return this.#values.next();
    this.#opening ??= this.#open();
    const opening = waitFor(this.#opening, { signal: this.#leaving.signal }, () => new Error("The consumer left."));
    try {
      this.#values = await opening;
    } catch (error) {
      const hasLeft = this.#hasEnded;
      this.#hasEnded = true;
      if (hasLeft) return done;
      throw error;
    }
    return this.#values.next();
  }

  async return(): Promise<IteratorResult<ResponseEnvelope, undefined>> {
    this.#hasEnded = true;
    this.#leaving.abort();
    await this.#values?.return();
    return done;
  }

  async throw(error?: unknown): Promise<IteratorResult<ResponseEnvelope, undefined>> {
    await this.return();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}

/** `UNAVAILABLE`: a bundler may have split a part of the client into a separate file, and loading that file failed. */
function notLoaded(cause: unknown): CallError {
  const message = `The connection could not be opened: ${toReason(cause)}.`;
  return new CallError("UNAVAILABLE", message, undefined, { cause, retryable: true, mayHaveRun: false });
}

/** `UNAVAILABLE`: the client was closed. */
function clientClosed(): CallError {
  return new CallError("UNAVAILABLE", "The client is closed. Connect again to make further calls.", undefined, {
    mayHaveRun: false,
  });
}
