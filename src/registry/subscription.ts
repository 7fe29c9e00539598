import { ValueIterator } from "../internal/value-iterator.ts";
import {
  aborted,
  CallError,
  mapError,
  type ResponseEnvelope,
  type SubscribeOptions,
  silentTooLong,
} from "../operation/inside.ts";
import { Call, type CallOrigin } from "./call.ts";
import type { CompiledOperation } from "./compiled-operation.ts";
import type { RegistryCore } from "./core.ts";
import { markPipelineError } from "./failures.ts";
import type { Lifetime } from "./lifetime.ts";
import { emitCall, reportAbandoned } from "./reports.ts";

/** The request from outside that a subscription runs for. */
export interface SubscriptionOrigin extends CallOrigin {
  /** Called when the handler was called. Its first value may take any time. */
  onOpen?(): void;
  /** Called when the subscription has ended, for whatever reason. */
  onEnd?(): void;
}

/**
 * One subscription: requests values from the iterator of its handler, one at a time, and wraps them. The handler starts with
 * the first `next()` of `values`.
 */
export class Subscription {
  readonly operationId: string;
  /** The iterator that the consumer reads. */
  readonly values: ValueIterator<ResponseEnvelope>;
  readonly idleTimeout: number | undefined;
  readonly #core: RegistryCore;
  readonly #call: Call;
  readonly #lifetime: Lifetime;
  /** Absent for subscriptions of this process. */
  readonly #origin: SubscriptionOrigin | undefined;
  #input: unknown;
  #operation: CompiledOperation | undefined = undefined;
  #source: AsyncIterator<unknown> | undefined = undefined;
  /** The error that ended the subscription. */
  #error: CallError | undefined = undefined;
  /** Set while calls are observed. */
  #startedAt: number | undefined = undefined;
  #seq = 0;

  constructor(
    core: RegistryCore,
    operationId: string,
    input: unknown,
    options: SubscribeOptions | undefined,
    origin?: SubscriptionOrigin,
  ) {
    // A context instead of options makes this a nested call.
    const parent = Call.of(options);
    const own = parent === undefined ? options : undefined;
    this.#core = core;
    this.#call = new Call(core, operationId, own, parent, origin, false, true);
    this.#lifetime = Call.lifetimeOf(this.#call);
    this.#lifetime.onEnd = (error) => this.#fail(error);
    this.#origin = origin;
    this.#input = input;
    this.operationId = operationId;
    this.idleTimeout = typeof own?.idleTimeout === "number" ? own.idleTimeout : undefined;
    this.values = new ValueIterator(this);
  }

  /** Requests the next value from the handler, which the first request starts. */
  pull(): void {
    if (this.#source === undefined) {
      void this.#open();
      return;
    }
    try {
      Promise.resolve(this.#source.next()).then(this.#onResult, this.#onFailure);
    } catch (error) {
      this.#onFailure(error);
    }
  }

  /** The handler's signal fires first. A handler that is suspended at a `yield` then runs its cleanup, which is awaited. */
  async leave(isPulling: boolean): Promise<void> {
    const source = this.#source;
    this.#error = aborted(this.operationId, "the consumer ended the subscription", this.#lifetime.hasStarted);
    this.#lifetime.end(this.#error);
    this.#close();
    if (source === undefined) return;
    if (isPulling) void this.#abandon(source);
    else await this.#cleanUp(source);
  }

  onIdle(): void {
    const error = silentTooLong(this.operationId, this.idleTimeout!);
    this.endWith(markPipelineError(this.operationId, error));
  }

  /** Ends the subscription while its handler is running: its consumer receives the error. */
  endWith(error: CallError): void {
    this.#lifetime.end(error);
  }

  /** Runs all steps up to the iterator of the handler. */
  async #open(): Promise<void> {
    const core = this.#core;
    const id = this.operationId;
    try {
      if (core.calls.hasListeners) {
        this.#startedAt = performance.now();
        emitCall(core, this.#call, id, { kind: "started" });
      }
      core.subscriptions.add(this);
      const { operation, result } = await Call.open(this.#call, this.#input);
      this.#input = undefined;
      this.#operation = operation;
      const source = toIterator(id, result);
      if (this.values.isClosed) return void this.#abandon(source);
      this.#source = source;
      this.#origin?.onOpen?.();
    } catch (error) {
      if (this.values.isClosed && error !== this.#error) reportAbandoned(id, error);
      return this.#fail(mapError(error));
    }
    this.pull();
  }

  readonly #onResult = (result: IteratorResult<unknown>): void => {
    if (this.values.isClosed) return;
    let envelope: ResponseEnvelope;
    try {
      if (result.done) {
        this.#close();
        return this.values.end();
      }
      envelope = this.#operation!.wrap(result.value);
    } catch (error) {
      return this.endWith(mapError(error));
    }
    if (this.values.isClosed) return; // Reading the data ended the subscription.
    this.values.push(envelope);
    if (this.#startedAt === undefined) return;
    emitCall(this.#core, this.#call, this.operationId, { kind: "yielded", seq: this.#seq++, envelope });
  };

  readonly #onFailure = (error: unknown): void => {
    if (this.values.isClosed) return reportAbandoned(this.operationId, error);
    this.#source = undefined; // As in a loop, an iterator that failed has cleaned up.
    this.#fail(this.#operation!.toFailure(error));
  };

  /** Ends the iteration with an error, and lets the handler clean up. */
  #fail(error: CallError): void {
    if (this.values.isClosed) return;
    this.#error = error;
    this.#close(error);
    this.values.end({ error });
    if (this.#source !== undefined) void this.#abandon(this.#source);
  }

  #close(error?: CallError): void {
    const startedAt = this.#startedAt;
    this.#startedAt = undefined;
    this.#core.subscriptions.delete(this);
    Call.finish(this.#call);
    this.#origin?.onEnd?.();
    if (startedAt === undefined) return;
    const duration = performance.now() - startedAt;
    const outcome = error === undefined ? { kind: "succeeded" as const } : { kind: "failed" as const, error };
    emitCall(this.#core, this.#call, this.operationId, { ...outcome, duration });
  }

  /** Runs the cleanup of a handler that is suspended at a `yield`, and waits for it. */
  async #cleanUp(source: AsyncIterator<unknown>): Promise<void> {
    try {
      await source.return?.();
    } catch (error) {
      throw this.#operation!.toFailure(error);
    }
  }

  /** Runs the cleanup of a handler without waiting for it. */
  async #abandon(source: AsyncIterator<unknown>): Promise<void> {
    await null; // The handler's signal fires first.
    await this.#cleanUp(source).catch((error) => reportAbandoned(this.operationId, error));
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
