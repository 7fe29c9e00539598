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

/** Runs out when a consumer has waited too long for a value. */
class IdleWatch extends Linked implements Expiring {
  readonly idleTimeout: number;
  readonly #onSilence: () => void;

  constructor(idleTimeout: number, onSilence: () => void) {
    super();
    this.idleTimeout = idleTimeout;
    this.#onSilence = onSilence;
  }

  start(): void {
    if (this.owner === undefined) expireAt(this, monotonicNow() + this.idleTimeout);
  }

  expire(): void {
    this.#onSilence();
  }
}

/**
 * The consumer's side of one subscription. Written by hand instead of as an async generator, because a generator's
 * `return()` waits behind a `next()` that may never come back.
 *
 * The handler starts with the first `next()`. Calls of `next()` queue; one value is requested of the handler at a time.
 */
export class Subscription implements AsyncIterableIterator<ResponseEnvelope, undefined>, AsyncDisposable {
  readonly #core: RegistryCore;
  readonly #call: CallState;
  readonly #operationId: string;
  readonly #options: SubscribeOptions | undefined;
  readonly #parent: CallState | undefined;
  #input: unknown;
  #compiled: CompiledOperation | undefined = undefined;
  #wrap: CompiledOperation["wrapResult"] | undefined = undefined;
  #guard: Guard | undefined = undefined;
  #idle: IdleWatch | undefined = undefined;
  #source: AsyncIterator<unknown> | undefined = undefined;
  /** The source again, when it can return values without a promise for each. */
  #buffered: Buffered<object> | undefined = undefined;
  #state: "new" | "open" | "closed" = "new";
  /** Whether a value was requested of the handler and has not arrived. */
  #asking = false;
  /** An error that came while no consumer was waiting; the next `next()` throws it. */
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
    // A context in the place of options makes this a nested call.
    const parent = stateOf(options);
    const own = parent === undefined ? withDeadline(options) : undefined;
    this.#call = new CallState(core, operationId, own, parent, incoming, false);
    this.#operationId = operationId;
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
    if (this.#buffered !== undefined && !this.#asking) {
      const ready = this.#takeBuffered(this.#buffered);
      if (ready !== undefined) return ready;
    }
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      this.#idle?.start();
      if (this.#state === "new") void this.#open();
      else if (!this.#asking) this.#ask();
    });
  }

  /** Ends the subscription. Resolves immediately while the handler awaits something, else after its `finally`. */
  async return(): Promise<Result> {
    const { state, asking, source } = { state: this.#state, asking: this.#asking, source: this.#source };
    this.#failure = undefined;
    if (state === "closed") return done;
    const left = aborted(this.#operationId, "the consumer left", state === "open");
    this.#close({});
    this.#guard?.abandon(left);
    if (source === undefined) return done;
    if (asking) this.#abandon(source);
    else await this.#leave(source);
    return done;
  }

  async throw(error?: unknown): Promise<Result> {
    await this.return();
    throw error;
  }

  /** All steps up to the handler's iterator. */
  async #open(): Promise<void> {
    this.#state = "open";
    this.#asking = true;
    const core = this.#core;
    try {
      if (core.calls.hasListeners) this.#endObserving = observeStart(this.#call);
      const source = await this.#start();
      this.#source = source;
      if (isBuffered(source)) this.#buffered = source;
      this.#asking = false;
      if (this.#isClosed()) return this.#abandon(source);
      this.#ask();
    } catch (error) {
      this.#asking = false;
      this.#fail(notStarted(this.#operationId, error));
    }
  }

  async #start(): Promise<AsyncIterator<unknown>> {
    const call = this.#call;
    const compiled = find(call, "subscribe");
    this.#compiled = compiled;
    const { middleware } = compiled;
    this.#wrap = middleware.length === 0 ? compiled.wrapResult : compiled.wrapMiddlewareResult;
    this.#guard = call.armGuard(this.#parent) ?? new Guard(this.#operationId);
    call.guard = this.#guard;
    this.#guard.onEnd((error) => this.#end(error));
    if (this.#guard.ended !== undefined) throw this.#guard.ended;
    this.#watchSilence();
    const input = await validate(compiled, middleware, call, this.#input);
    this.#input = undefined;
    try {
      return toIterator(this.#operationId, await callHandler(compiled, middleware, call, input));
    } catch (error) {
      if (this.#isClosed() && error !== this.#guard.ended) reportAbandoned(this.#operationId, error);
      return compiled.throwFailure(error);
    }
  }

  #watchSilence(): void {
    const idleTimeout = this.#options?.idleTimeout;
    const invalid = checkSubscribeOptions(this.#operationId, this.#options);
    if (invalid !== undefined) throw markPipelineError(this.#operationId, invalid);
    if (idleTimeout === undefined || idleTimeout === Number.POSITIVE_INFINITY) return;
    this.#idle = new IdleWatch(idleTimeout, () => {
      const error = markPipelineError(this.#operationId, silentTooLong(this.#operationId, idleTimeout));
      this.#end(error, { kind: "aborted", reason: error });
    });
    this.#idle.start();
  }

  #isClosed(): boolean {
    return this.#state === "closed";
  }

  /** Returns a value that the source has buffered. No other consumer is waiting, since no value was requested. */
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
    if (this.#isClosed()) return this.#afterEnd(); // reading the data ended the subscription
    if (this.#endObserving !== undefined) this.#tell(envelope);
    return Promise.resolve({ done: false, value: envelope });
  }

  #ask(): void {
    this.#asking = true;
    try {
      const answer: unknown = this.#source!.next();
      // Any other thenable may settle twice or synchronously.
      const promise = isNativePromise(answer) ? answer : new Promise((resolve) => resolve(answer));
      promise.then(this.#onAnswer as (answer: unknown) => void, this.#onFailure);
    } catch (error) {
      this.#onFailure(error);
    }
  }

  readonly #onAnswer = (answer: IteratorResult<unknown>): void => {
    this.#asking = false;
    if (this.#state === "closed") return;
    let envelope: ResponseEnvelope;
    try {
      if (answer.done) return this.#complete();
      envelope = this.#wrap!(answer.value);
    } catch (error) {
      return this.#end(mapError(error));
    }
    const waiter = this.#waiters.shift();
    if (waiter === undefined) return; // reading the data ended the subscription
    if (this.#idle !== undefined) {
      this.#idle.unlink();
      if (this.#waiters.length > 0) this.#idle.start();
    }
    if (this.#endObserving !== undefined) this.#tell(envelope);
    waiter.resolve({ done: false, value: envelope });
    // A listener to the value may have requested the next one.
    if (this.#waiters.length > 0 && !this.#asking) this.#ask();
  };

  readonly #onFailure = (error: unknown): void => {
    this.#asking = false;
    if (this.#state === "closed") return reportAbandoned(this.#operationId, error);
    try {
      this.#compiled!.throwFailure(error);
    } catch (failure) {
      this.#fail(mapError(failure));
    }
  };

  #tell(envelope: ResponseEnvelope): void {
    const base = describeCall(this.#call);
    this.#core.calls.emit({ kind: "yielded", ...base, seq: this.#seq, envelope });
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

  /** Ends while the handler could go on: the signal, the deadline, or a value that is refused. */
  #end(error: CallError, ending?: Ending): void {
    const source = this.#source;
    if (this.#state !== "closed") this.#settle(error);
    // Not released before: calls inside the handler end with it.
    this.#guard?.abandon(error, ending);
    if (source !== undefined) this.#abandon(source);
  }

  #close(how: { error?: CallError }): void {
    this.#state = "closed";
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

  /** Lets a handler that is suspended at a `yield` clean up, and waits for it. */
  async #leave(source: AsyncIterator<unknown>): Promise<void> {
    try {
      await source.return?.();
    } catch (error) {
      this.#compiled!.throwFailure(error);
    }
  }

  /** Lets a handler clean up without waiting for it. */
  #abandon(source: AsyncIterator<unknown>): void {
    this.#leave(source).catch((error) => reportAbandoned(this.#operationId, error));
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
