import type { OperationSource, SourceChange, SourceLoadOptions, Unsubscribe } from "../from/source.ts";
import { type Buffered, isBuffered, takeBuffered } from "../internal/buffered.ts";
import { copyWith, getOwn } from "../internal/objects.ts";
import { settlesWithin } from "../internal/wait.ts";
import {
  type CallError,
  formatOperationId,
  type IOperationDefinition,
  isToolHandler,
  markToolHandler,
  OperationType,
  unavailable,
} from "../operation/index.ts";
import { forwardingOf, markAsForwarding, type OperationRegistry } from "../registry/index.ts";
import type { SourceOptions } from "./config.ts";

type Handler = IOperationDefinition["handler"];

/** What a {@link TrackedSource} needs to know. */
export interface Tracking {
  /** Name of the source in messages. */
  readonly name: string;
  /** How `follow` renames its operations. */
  readonly options: Pick<SourceOptions, "rename" | "namespace">;
  readonly registry: OperationRegistry;
  /** Maximum time in ms for running calls to end when it is closed. */
  readonly drainTimeout: number;
  /** Cancels loading. */
  readonly signal: AbortSignal;
}

/** A source whose calls are tracked, so that it is closed only after they have ended. */
export class TrackedSource implements OperationSource {
  readonly name: string;
  readonly replacesAccess: boolean;
  readonly definesRoutes: boolean;
  readonly yields: boolean;
  readonly #source: OperationSource;
  readonly #tracking: Tracking;
  readonly #calls: RunningCalls;
  /** Its operations by their id in the registry. */
  readonly #operations = new Map<string, IOperationDefinition>();
  /** Ids in the registry by id in the source. */
  readonly #ids = new Map<string, string>();

  constructor(source: OperationSource, tracking: Tracking) {
    this.name = source.name;
    this.replacesAccess = source.replacesAccess === true;
    this.definesRoutes = source.definesRoutes === true;
    this.yields = source.yields === true;
    this.#source = source;
    this.#tracking = tracking;
    this.#calls = new RunningCalls(tracking.name);
  }

  /** Ignores the signal of the registry: the hub closes its sources before it closes the registry. */
  async load({ onReport }: SourceLoadOptions = {}): Promise<IOperationDefinition[]> {
    const { signal } = this.#tracking;
    signal.throwIfAborted();
    const definitions = await this.#source.load({ signal, ...(onReport && { onReport }) });
    signal.throwIfAborted();
    return definitions.map((definition) => this.#track(definition));
  }

  onChange(listener: (change: SourceChange) => void): Unsubscribe {
    const stop = this.#source.onChange?.(({ added, changed, removed }) => {
      for (const sourceId of removed) this.#forget(sourceId);
      listener({
        added: added.map((definition) => this.#track(definition)),
        changed: changed.map((definition) => this.#track(definition)),
        removed,
      });
    });
    return () => stop?.();
  }

  isIncomplete(operationId: string): boolean {
    return this.#source.isIncomplete?.(operationId) ?? false;
  }

  async close(): Promise<void> {
    await this.#calls.drain(this.#tracking.drainTimeout);
    await this.#source.close();
  }

  /** Returns whether the operation with this id in the registry is from this source. */
  holds(id: string): boolean {
    const own = this.#operations.get(id);
    return own !== undefined && this.#tracking.registry.getHandler(id) === own.handler;
  }

  /** Ids of its operations in the registry. */
  ids(): string[] {
    return [...this.#operations.keys()].filter((id) => this.holds(id));
  }

  #track(definition: IOperationDefinition): IOperationDefinition {
    const sourceId = formatOperationId(definition.namespace, definition.name);
    const { rename, namespace = definition.namespace } = this.#tracking.options;
    const renamed = getOwn(rename, sourceId);
    const id = formatOperationId(namespace, typeof renamed === "string" ? renamed : definition.name);
    const tracked = this.#calls.track(definition);
    this.#ids.set(sourceId, id);
    this.#operations.set(id, tracked);
    return tracked;
  }

  #forget(sourceId: string): void {
    const id = this.#ids.get(sourceId);
    this.#ids.delete(sourceId);
    if (id !== undefined) this.#operations.delete(id);
  }
}

/** The running calls of the operations of one source, so that the source is closed only after they have ended. */
class RunningCalls {
  readonly #source: string;
  readonly #subscriptions = new Set<TrackedSubscription>();
  #running = 0;
  #onIdle: (() => void) | undefined = undefined;

  /** @param source - Name of the source in messages. */
  constructor(source: string) {
    this.#source = source;
  }

  /** Returns the operation with a handler whose calls are tracked. Everything else stays, lazy schemas included. */
  track(definition: IOperationDefinition): IOperationDefinition {
    const handler = definition.handler as (...args: Parameters<Handler>) => unknown;
    const tracked = (definition.type === OperationType.SUBSCRIPTION
      ? async (...args: Parameters<Handler>) => this.#trackValues(await handler(...args))
      : (...args: Parameters<Handler>) => this.#trackCall(handler, args)) as unknown as Handler;
    const forwarding = forwardingOf(definition.handler);
    if (forwarding !== undefined) markAsForwarding(tracked, forwarding);
    if (isToolHandler(definition.handler)) markToolHandler(tracked);
    return copyWith(definition, { handler: tracked });
  }

  /** Ends all subscriptions with `UNAVAILABLE`, and waits until the running calls have ended, at most `timeout` ms. */
  async drain(timeout: number): Promise<void> {
    const error = unavailable(`The source "${this.#source}" was stopped.`, { mayHaveRun: true });
    for (const subscription of [...this.#subscriptions]) subscription.end(error);
    if (this.#running === 0) return;
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    await settlesWithin(timeout, idle);
  }

  #trackCall(handler: (...args: Parameters<Handler>) => unknown, args: Parameters<Handler>): unknown {
    this.#running += 1;
    let result: unknown;
    try {
      result = handler(...args);
    } catch (error) {
      this.#onCallEnd();
      throw error;
    }
    if (result instanceof Promise) result.then(this.#onCallEnd, this.#onCallEnd);
    else this.#onCallEnd();
    return result;
  }

  readonly #onCallEnd = (): void => {
    this.#running -= 1;
    if (this.#running === 0) this.#onIdle?.();
  };

  #trackValues(values: unknown): unknown {
    const iterate = (values as Partial<AsyncIterable<unknown>> | null | undefined)?.[Symbol.asyncIterator];
    if (typeof iterate !== "function") return values; // The registry reports it.
    const subscription = new TrackedSubscription(iterate.call(values), () => this.#subscriptions.delete(subscription));
    this.#subscriptions.add(subscription);
    return subscription;
  }
}

type Result = IteratorResult<unknown, undefined>;

/** The values of a subscription, which can be ended from outside. */
class TrackedSubscription implements AsyncIterableIterator<unknown, undefined>, Buffered<object> {
  readonly #source: AsyncIterator<unknown, undefined>;
  readonly #buffered: Buffered<object> | undefined;
  readonly #onEnd: () => void;
  #rejectNext: ((error: CallError) => void) | undefined = undefined;
  #error: CallError | undefined = undefined;

  constructor(source: AsyncIterator<unknown, undefined>, onEnd: () => void) {
    this.#source = source;
    this.#buffered = isBuffered(source) ? source : undefined;
    this.#onEnd = onEnd;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  [takeBuffered](): object | undefined {
    return this.#error === undefined ? this.#buffered?.[takeBuffered]() : undefined;
  }

  next(): Promise<Result> {
    if (this.#error !== undefined) return Promise.reject(this.#error);
    return new Promise((resolve, reject) => {
      this.#rejectNext = reject;
      this.#source.next().then(
        (result) => {
          if (result.done) this.#onEnd();
          resolve(result);
        },
        (error) => {
          this.#onEnd();
          reject(error);
        },
      );
    });
  }

  async return(): Promise<Result> {
    this.#onEnd();
    await this.#source.return?.();
    return { done: true, value: undefined };
  }

  /** Fails the pending and every further `next()`, and ends the source without waiting for it. */
  end(error: CallError): void {
    this.#error = error;
    this.#onEnd();
    this.#rejectNext?.(error);
    this.#source.return?.().catch(() => {}); // The consumer receives the error above.
  }
}
