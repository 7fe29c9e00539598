import { type Buffered, isBuffered, takeBuffered } from "../internal/buffered.ts";
import { type Expiring, expireAt, monotonicNow } from "../internal/deadlines.ts";
import { Linked } from "../internal/linked-set.ts";
import {
  aborted,
  CallError,
  checkSubscribeOptions,
  mapError,
  type ResponseEnvelope,
  type SubscribeOptions,
  type SubscriptionIterator,
  silentTooLong,
  withDeadline,
} from "../operation/index.ts";
import type { CallOrigin } from "./call-origin.ts";
import { callHandler, find, isNativePromise, validate } from "./call-run.ts";
import { CallState, stateOf } from "./call-state.ts";
import type { CompiledOperation } from "./compiled-operation.ts";
import type { RegistryCore } from "./core.ts";
import { markPipelineError, notStarted } from "./failures.ts";
import { type Ending, Guard } from "./guard.ts";
import { describeCall, observeStart, reportAbandoned } from "./reports.ts";

type Result = IteratorResult<ResponseEnvelope, undefined>;
type Waiter = { resolve(result: Result): void; reject(error: unknown): void };

const done: Result = Object.freeze({ done: true, value: undefined });

/** Ends the subscription when the consumer has waited too long for a value. */
class IdleTimer extends Linked implements Expiring {
  readonly idleTimeout: number;
  readonly #onIdle: () => void;

  constructor(idleTimeout: number, onIdle: () => void) {
    super();
    this.idleTimeout = idleTimeout;
    this.#onIdle = onIdle;
  }

  start(): void {
    if (this.owner === undefined) expireAt(this, monotonicNow() + this.idleTimeout);
  }

  expire(): void {
    this.#onIdle();
  }
}

/**
 * The iterator that the consumer of one subscription reads. It is not an async generator, because the `return()` of a
 * generator waits for a pending `next()`, which may never settle.
 *
 * The handler starts with the first `next()`. Calls of `next()` are queued; one value is requested from the handler at a time.
 */
export class Subscription implements SubscriptionIterator<ResponseEnvelope> {
  readonly #core: RegistryCore;
  readonly #call: CallState;
  readonly operationId: string;
  readonly #options: SubscribeOptions | undefined;
  readonly #parent: CallState | undefined;
  #input: unknown;
  #compiled: CompiledOperation | undefined = undefined;
  #wrap: CompiledOperation["wrapResult"] | undefined = undefined;
  #guard: Guard | undefined = undefined;
  #idle: IdleTimer | undefined = undefined;
  #source: AsyncIterator<unknown> | undefined = undefined;
  /** The source, if it can return buffered values without a promise for each. */
  #buffered: Buffered<object> | undefined = undefined;
  #state: "new" | "open" | "closed" = "new";
  /** Whether a value was requested from the handler and has not arrived. */
  #isRequested = false;
  /** An error that occurred while no `next()` was pending; the following `next()` throws it. */
  #failure: CallError | undefined = undefined;
  #waiters: Waiter[] = [];
  #seq = 0;
  #endObserving: ReturnType<typeof observeStart> | undefined = undefined;

  constructor(
    core: RegistryCore,
    operationId: string,
    input: unknown,
    options: SubscribeOptions | undefined,
    incoming?: CallOrigin,
  ) {
    this.#core = core;
    // A context instead of options makes this a nested call.
    const parent = stateOf(options);
    const own = parent === undefined ? withDeadline(options) : undefined;
    this.#call = new CallState(core, operationId, own, parent, incoming, false);
    this.operationId = operationId;
    this.#options = own;
    this.#parent = parent;
    this.#input = input;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  next(): Promise<Result> {
    if (this.#state === "closed") return this.#afterEnd();
    if (this.#buffered !== undefined && !this.#isRequested) {
      const ready = this.#takeBuffered(this.#buffered);
      if (ready !== undefined) return ready;
    }
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      this.#idle?.start();
      if (this.#state === "new") void this.#open();
      else if (!this.#isRequested) this.#requestNext();
    });
  }

  /** Ends the subscription. Resolves immediately while a value is requested, otherwise after the `finally` of the handler. */
  async return(): Promise<Result> {
    const { state, isRequested, source } = { state: this.#state, isRequested: this.#isRequested, source: this.#source };
    this.#failure = undefined;
    if (state === "closed") return done;
    const error = aborted(this.operationId, "the consumer ended the subscription", state === "open");
    this.#close({});
    this.#guard?.abandon(error);
    if (source === undefined) return done;
    if (isRequested) this.#abandon(source);
    else await this.#cleanUp(source);
    return done;
  }

  async throw(error?: unknown): Promise<Result> {
    await this.return();
    throw error;
  }

  /** Runs all steps up to the iterator of the handler. */
  async #open(): Promise<void> {
    this.#state = "open";
    this.#isRequested = true;
    const core = this.#core;
    try {
      if (core.calls.hasListeners) this.#endObserving = observeStart(this.#call);
      const source = await this.#start();
      this.#source = source;
      if (isBuffered(source)) this.#buffered = source;
      this.#isRequested = false;
      if (this.#isClosed()) return this.#abandon(source);
      this.#requestNext();
      if (this.#parent === undefined) this.#call.incoming?.onOpen?.();
    } catch (error) {
      this.#isRequested = false;
      this.#fail(notStarted(this.operationId, error));
    }
  }

  async #start(): Promise<AsyncIterator<unknown>> {
    const call = this.#call;
    const compiled = find(call, "subscribe");
    this.#compiled = compiled;
    const { middleware } = compiled;
    this.#wrap = middleware.length === 0 ? compiled.wrapResult : compiled.wrapMiddlewareResult;
    this.#guard = call.armGuard(this.#parent) ?? new Guard(this.operationId);
    call.guard = this.#guard;
    this.#guard.onEnd((error) => this.#end(error));
    if (this.#guard.ended !== undefined) throw this.#guard.ended;
    this.#core.subscriptions.add(this);
    this.#startIdleTimer();
    const input = await validate(compiled, middleware, call, this.#input);
    this.#input = undefined;
    try {
      return toIterator(this.operationId, await callHandler(compiled, middleware, call, input));
    } catch (error) {
      if (this.#isClosed() && error !== this.#guard.ended) reportAbandoned(this.operationId, error);
      return compiled.throwFailure(error);
    }
  }

  #startIdleTimer(): void {
    const idleTimeout = this.#options?.idleTimeout;
    const invalid = checkSubscribeOptions(this.operationId, this.#options);
    if (invalid !== undefined) throw markPipelineError(this.operationId, invalid);
    if (idleTimeout === undefined || idleTimeout === Number.POSITIVE_INFINITY) return;
    this.#idle = new IdleTimer(idleTimeout, () => {
      const error = markPipelineError(this.operationId, silentTooLong(this.operationId, idleTimeout));
      this.#end(error, { kind: "aborted", reason: error });
    });
    this.#idle.start();
  }

  #isClosed(): boolean {
    return this.#state === "closed";
  }

  /** Returns a value that the source has buffered. No `next()` is pending, because no value was requested. */
  #takeBuffered(source: Buffered<object>): Promise<Result> | undefined {
    let envelope: ResponseEnvelope;
    try {
      const value = source[takeBuffered]();
      if (value === undefined) return undefined;
      envelope = this.#wrap!(value);
    } catch (error) {
      this.#end(mapError(error));
      return this.#afterEnd();
    }
    if (this.#isClosed()) return this.#afterEnd(); // Reading the data ended the subscription.
    if (this.#endObserving !== undefined) this.#emitYielded(envelope);
    return Promise.resolve({ done: false, value: envelope });
  }

  #requestNext(): void {
    this.#isRequested = true;
    try {
      const result: unknown = this.#source!.next();
      // Any other thenable may settle twice or synchronously.
      const promise = isNativePromise(result) ? result : new Promise((resolve) => resolve(result));
      promise.then(this.#onResult as (result: unknown) => void, this.#onFailure);
    } catch (error) {
      this.#onFailure(error);
    }
  }

  readonly #onResult = (result: IteratorResult<unknown>): void => {
    this.#isRequested = false;
    if (this.#state === "closed") return;
    let envelope: ResponseEnvelope;
    try {
      if (result.done) return this.#complete();
      envelope = this.#wrap!(result.value);
    } catch (error) {
      return this.#end(mapError(error));
    }
    const waiter = this.#waiters.shift();
    if (waiter === undefined) return; // Reading the data ended the subscription.
    if (this.#idle !== undefined) {
      this.#idle.unlink();
      if (this.#waiters.length > 0) this.#idle.start();
    }
    if (this.#endObserving !== undefined) this.#emitYielded(envelope);
    waiter.resolve({ done: false, value: envelope });
    // A listener to the event may have requested the next value.
    if (this.#waiters.length > 0 && !this.#isRequested) this.#requestNext();
  };

  readonly #onFailure = (error: unknown): void => {
    this.#isRequested = false;
    if (this.#state === "closed") return reportAbandoned(this.operationId, error);
    try {
      this.#compiled!.throwFailure(error);
    } catch (failure) {
      this.#fail(mapError(failure));
    }
  };

  #emitYielded(envelope: ResponseEnvelope): void {
    this.#core.calls.emit({ ...describeCall(this.#call, "yielded"), seq: this.#seq, envelope });
    this.#seq += 1;
  }

  #complete(): void {
    this.#guard?.release();
    this.#close({});
  }

  /** Ends with an error of the pipeline or the handler. */
  #fail(error: CallError): void {
    if (this.#state === "closed") return;
    this.#guard?.release();
    this.#settle(error);
  }

  #settle(error: CallError): void {
    const waiter = this.#waiters.shift();
    if (waiter === undefined) this.#failure = error;
    this.#close({ error });
    waiter?.reject(error);
  }

  /** Ends the subscription, because its operation is no longer available. */
  endWith(error: CallError): void {
    this.#end(error, { kind: "aborted", reason: error });
  }

  /** Ends the subscription while the handler is running: on a signal, a deadline, or an invalid value. */
  #end(error: CallError, ending?: Ending): void {
    const source = this.#source;
    if (this.#state !== "closed") this.#settle(error);
    // The guard is not released, so that nested calls of the handler end too.
    this.#guard?.abandon(error, ending);
    if (source !== undefined) this.#abandon(source);
  }

  #close(how: { error?: CallError }): void {
    this.#state = "closed";
    this.#core.subscriptions.delete(this);
    this.#idle?.unlink();
    this.#call.finish();
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) waiter.resolve(done);
    this.#endObserving?.(how.error === undefined ? {} : { error: how.error });
  }

  #afterEnd(): Promise<Result> {
    const failure = this.#failure;
    this.#failure = undefined;
    return failure === undefined ? Promise.resolve(done) : Promise.reject(failure);
  }

  /** Runs the cleanup of a handler that is suspended at a `yield`, and waits for it. */
  async #cleanUp(source: AsyncIterator<unknown>): Promise<void> {
    try {
      await source.return?.();
    } catch (error) {
      this.#compiled!.throwFailure(error);
    }
  }

  /** Runs the cleanup of a handler without waiting for it. */
  #abandon(source: AsyncIterator<unknown>): void {
    this.#cleanUp(source).catch((error) => reportAbandoned(this.operationId, error));
  }
}

function toIterator(operationId: string, value: unknown): AsyncIterator<unknown> {
  const iterable = value as AsyncIterable<unknown> | null | undefined;
  if (typeof iterable === "object" && iterable !== null && typeof iterable[Symbol.asyncIterator] === "function") {
    return iterable[Symbol.asyncIterator]();
  }
  const message = `The handler of "${operationId}" did not return an async iterable. Make it an async generator function: async function* (input, context) { … }.`;
  throw new CallError("EXECUTION_ERROR", message);
}
