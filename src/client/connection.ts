import type { TransportCaller } from "../call/outgoing/index.ts";
import { toReason } from "../internal/text.ts";
import { waitFor } from "../internal/wait.ts";
import {
  aborted,
  CallError,
  type CallOptions,
  checkCallOptions,
  checkPastDeadline,
  isCallError,
  mergeRequestFields,
  type ResponseEnvelope,
  type SubscribeOptions,
  type SubscriptionIterator,
  timedOut,
  withDeadline,
} from "../operation/inside.ts";

/**
 * Makes calls over a connection that is opened with the first call. When that fails, the calls that waited for it fail,
 * and the next call opens it again. The time spent waiting for the connection counts towards the timeout of a call.
 */
export class LazyConnection {
  readonly #defaults: CallOptions;
  readonly #connect: (signal: AbortSignal) => Promise<TransportCaller>;
  #caller: TransportCaller | undefined = undefined;
  #opening: Promise<TransportCaller> | undefined = undefined;
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined = undefined;

  /** @param connect opens the connection; its signal is aborted when the client is closed meanwhile */
  constructor(defaults: CallOptions, connect: (signal: AbortSignal) => Promise<TransportCaller>) {
    this.#defaults = defaults;
    this.#connect = connect;
  }

  /** Calls a query or mutation. */
  async call(id: string, input: unknown, own: SubscribeOptions | undefined): Promise<ResponseEnvelope> {
    const options = this.#merge(
      own,
      own?.timeout ?? (own?.deadline === undefined ? this.#defaults.timeout : undefined),
    );
    const caller = this.#caller ?? (await this.#open(id, options));
    return caller.call(id, input, options);
  }

  /** Creates a subscription. The request is sent with the first `next()`. */
  subscribe(id: string, input: unknown, own: SubscribeOptions | undefined): SubscriptionIterator<ResponseEnvelope> {
    const options = this.#merge(own, own?.timeout);
    return new LazySubscription(async () => (await this.#open(id, options)).subscribe(id, input, options));
  }

  /** Ends all calls and subscriptions, and closes the connection. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    this.#caller = undefined;
    const opened = await this.#opening?.catch(() => undefined);
    await opened?.close();
  }

  #merge(own: SubscribeOptions | undefined, timeout: number | undefined): SubscribeOptions {
    const { token, identity } = this.#defaults;
    return withDeadline({ ...own, ...mergeRequestFields(this.#defaults, own), token, identity, timeout });
  }

  /** Resolves with the open connection. Rejects, with the errors of an open connection, when the call ends before. */
  async #open(id: string, { deadline, timeout, signal }: SubscribeOptions): Promise<TransportCaller> {
    if (this.#closed !== undefined) throw clientClosed();
    const invalid = checkCallOptions(id, deadline, signal, timeout);
    if (invalid !== undefined) throw invalid;
    if (signal?.aborted) throw aborted(id, signal.reason, false);
    const left = (deadline ?? Number.POSITIVE_INFINITY) - Date.now();
    if (left <= 0) throw checkPastDeadline(id, deadline!) ?? timedOut(id, false);
    const opening = waitFor(this.#start(), { timeout: left, signal }, (failure) =>
      failure === "TIMEOUT" ? timedOut(id, false) : aborted(id, signal?.reason, false),
    );
    return waitFor(opening, { signal: this.#closing.signal }, clientClosed);
  }

  #start(): Promise<TransportCaller> {
    this.#opening ??= this.#connect(this.#closing.signal).then(
      (caller) => {
        if (this.#closed === undefined) this.#caller = caller;
        return caller;
      },
      (error) => {
        this.#opening = undefined;
        throw isCallError(error) ? error : notLoaded(error);
      },
    );
    return this.#opening;
  }
}

type Values = AsyncIterator<ResponseEnvelope, undefined>;

const done = { done: true, value: undefined } as const;

/** A subscription that is opened asynchronously with the first `next()`. */
class LazySubscription implements SubscriptionIterator<ResponseEnvelope> {
  readonly #open: () => Promise<Values>;
  #opening: Promise<Values> | undefined = undefined;
  #values: Values | undefined = undefined;
  #hasEnded = false;
  /** Ends pending calls of `next()`. */
  readonly #leaving = new AbortController();

  constructor(open: () => Promise<Values>) {
    this.#open = open;
  }

  async next(): Promise<IteratorResult<ResponseEnvelope, undefined>> {
    if (this.#hasEnded) return done;
    if (this.#values !== undefined) return this.#values.next();
    this.#opening ??= this.#open();
    try {
      // The error of a consumer that has left is not reported.
      this.#values = await waitFor(this.#opening, { signal: this.#leaving.signal }, clientClosed);
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
    await this.#values?.return?.();
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
