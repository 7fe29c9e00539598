import { LinkedSet } from "../internal/linked-set.ts";
import {
  aborted,
  CallError,
  isResponseEnvelope,
  type Limits,
  mapError,
  type ResponseEnvelope,
  resolveDuration,
  resolveLimits,
} from "../operation/index.ts";
import {
  createEventTargetTransport,
  createInProcessTransport,
  type EventTargetLike,
  isEventTargetLike,
} from "../transport/in-process/index.ts";
import {
  type CallRequested,
  type OnRequest,
  type Reply,
  type ReplyFrame,
  type Transport,
  toFailedFrame,
} from "../transport/transport.ts";
import type { CallHandler } from "./call-handler.ts";
import { drain, RecordedRequests, runningRequestsOf, type StopOptions } from "./drain.ts";
import { mapClosed, OutgoingCall, type OutgoingRequest, type RequestHost } from "./outgoing-call.ts";
import { OutgoingSubscription } from "./outgoing-subscription.ts";
import type { CallRequestOptions, SignIdentity, SubscribeRequestOptions } from "./request-frame.ts";
import { isListed, Serving, UnlistedServing } from "./serving.ts";

/** How a map treats its calls. */
export interface PendingRequestMapOptions {
  /**
   * For calls without a deadline, in ms, or `Infinity` for no limit: a peer may vanish without a word. In process it
   * cannot, and there is none. @default 30,000
   */
  defaultTimeout?: number;
  /**
   * Makes the token of every call that has an `identity` and no `token`, such as what `createJWTSigner` gives. Not asked
   * in process.
   */
  sign?: SignIdentity;
  /**
   * Sends the identity of calls as it is, for serving sides that trust the bus too. Without it, an identity is not sent.
   * @default only in process and over a plain `EventTarget`
   */
  trustedBus?: boolean;
  limits?: Pick<Limits, "pendingCalls">;
}

/**
 * Stops serving: takes no further request, ends subscriptions with `UNAVAILABLE` immediately, and resolves when running
 * calls have finished or their time is up. Calling it twice is fine; the first call decides.
 */
export interface StopHandling {
  (options?: StopOptions): Promise<void>;
  /**
   * Resolves when the handler's operations are served. While a broker is away it stays pending, and serving is tried again
   * until it is back. Rejects when the transport refuses to serve them, or serving is stopped before.
   */
  readonly ready: Promise<void>;
}

/**
 * One end of the call protocol: asks other peers and answers them, over any transport. Every call settles exactly
 * once, with an envelope or a `CallError`, as it would where the operation runs.
 */
export class PendingRequestMap implements AsyncDisposable {
  /** What carries the calls. Closed with this map. */
  readonly transport: Transport;
  /** Whether calls stay in this process. */
  readonly isInProcess: boolean;
  readonly #host: RequestHost;
  /** Requests whose handler answers by `respond()` and its like. */
  readonly #recorded = new RecordedRequests();
  readonly #serving = new Set<Serving | UnlistedServing>();
  #closed: Promise<void> | undefined = undefined;

  /** @param transport an event target carries each frame as a `CustomEvent`. @default in process */
  constructor(
    transport: Transport | EventTargetLike = createInProcessTransport(),
    options: PendingRequestMapOptions = {},
  ) {
    this.transport = toTransport(transport);
    const { capabilities = {} } = this.transport;
    const sharesObjects = capabilities.sharesObjects === true;
    this.isInProcess = sharesObjects || capabilities.staysInProcess === true;
    const timeoutDefault = sharesObjects ? Number.POSITIVE_INFINITY : 30_000;
    this.#host = {
      transport: this.transport,
      open: new LinkedSet<OutgoingRequest>(),
      size: 0,
      maxPending: resolveLimits(options.limits).pendingCalls,
      defaultTimeout: resolveDuration("defaultTimeout", options.defaultTimeout, timeoutDefault, { infinite: true }),
      sendsDefaultTimeout: !this.isInProcess || options.defaultTimeout !== undefined,
      authenticatesReplies: capabilities.authenticatesReplies === true,
      sharesObjects,
      claimsIdentity: sharesObjects || (options.trustedBus ?? capabilities.claimsIdentity === true),
      sign: options.sign,
      hasWarned: false,
      ignored: 0,
      isClosed: false,
    };
  }

  /** Calls a query or mutation of whichever peer serves it. Fails with a `CallError`. */
  call<T = unknown>(operationId: string, input: unknown, options?: CallRequestOptions): Promise<ResponseEnvelope<T>> {
    const host = this.#host;
    const promise = new Promise<ResponseEnvelope>(takeSettlers);
    const call = new OutgoingCall(host, operationId, options?.onProgress, settlers.resolve, settlers.reject);
    call.send(input, options, host.defaultTimeout);
    return promise as Promise<ResponseEnvelope<T>>;
  }

  /**
   * Subscribes to an operation of whichever peer serves it. The request leaves with the first `next()`; leaving the
   * loop ends the handler over there.
   */
  subscribe<T = unknown>(
    operationId: string,
    input: unknown,
    options?: SubscribeRequestOptions,
  ): AsyncIterableIterator<ResponseEnvelope<T>> & AsyncDisposable {
    return new OutgoingSubscription(this.#host, operationId, input, options) as never;
  }

  /** How many requests of this map have not ended. */
  getPendingCount(): number {
    return this.#host.size;
  }

  /** How many replies came for requests that had ended. */
  getIgnoredCount(): number {
    return this.#host.ignored;
  }

  /**
   * Serves what a handler can answer, and follows its changes. Requests that come while it is stopped go to others;
   * `stop` resolves when the running calls have finished, after ten seconds at the latest.
   */
  handle(handler: CallHandler): StopHandling {
    const built = runningRequestsOf(handler);
    const { onRequest, running } =
      built === undefined ? this.#recorded.record(handler) : { onRequest: handler as OnRequest, running: built };
    const serving = isListed(handler)
      ? new Serving(this.transport, handler, onRequest, () => !this.#host.isClosed)
      : new UnlistedServing(this.transport, onRequest);
    this.#serving.add(serving);
    let stopping: Promise<void> | undefined;
    const stop = async (options?: StopOptions) => {
      this.#serving.delete(serving);
      await drain(() => serving.stop(), running, options);
    };
    return Object.assign((options?: StopOptions) => (stopping ??= stop(options)), { ready: serving.ready });
  }

  /** Answers a request: the answer of a call, or the next value of a subscription. Takes envelopes only. */
  respond(requestId: string, output: ResponseEnvelope): void {
    if (!isResponseEnvelope(output)) {
      const message = "respond() takes an envelope. Make one with localEnvelope(data, operationId).";
      throw new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: true });
    }
    const isRecorded = this.#recorded.get(requestId) !== undefined;
    const seq = isRecorded ? this.#recorded.nextSeq(requestId) : this.transport.broadcast?.nextSeq(requestId);
    this.#reply(requestId, { type: "call.responded", requestId, output, ...(seq !== undefined && { seq }) });
  }

  /** Answers a request with an error. What is no `CallError` becomes one. */
  emitError(requestId: string, error: unknown): void {
    this.#reply(requestId, toFailedFrame(requestId, mapError(error)));
  }

  /** Ends a subscription that this side serves. */
  complete(requestId: string): void {
    this.#reply(requestId, { type: "call.completed", requestId });
  }

  /** Gives up a call of this map, or ends one that it serves with `ABORTED`. */
  abort(requestId: string, reason?: unknown): void {
    for (const request of this.#host.open) {
      if (request.requestId === requestId) return request.abandon(aborted(request.operationId, reason, request.isSent));
    }
    const served = this.#recorded.get(requestId);
    if (served !== undefined) this.emitError(requestId, aborted(served.operationId, reason, true));
  }

  /**
   * Claims a request that came by another way than `handle()`, such as an event that you listen to yourself. False when
   * another server at the same event target has claimed it: do not run it then.
   */
  claim({ requestId }: CallRequested): boolean {
    return this.transport.broadcast?.claim(requestId) ?? true;
  }

  /** What answers a request that came by another way than `handle()`. */
  replyTo({ requestId }: CallRequested): Reply {
    return (frame) => this.#reply(requestId, frame);
  }

  /**
   * Ends everything: calls of this map fail with `UNAVAILABLE`, those that it serves are aborted, and the transport is
   * closed. To let them finish, await what `handle()` gave before. Calling it twice is fine.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    const host = this.#host;
    host.isClosed = true;
    for (const request of [...host.open]) request.abandon(mapClosed(request.isSent));
    const stops = await Promise.allSettled(Array.from(this.#serving, (serving) => serving.stop()));
    this.#serving.clear();
    await this.transport.close();
    this.#recorded.clear();
    for (const stop of stops) if (stop.status === "rejected") throw stop.reason;
  }

  #reply(requestId: string, frame: ReplyFrame): void | Promise<void> {
    if (this.#recorded.get(requestId) !== undefined) return this.#recorded.reply(requestId, frame);
    if (this.transport.broadcast !== undefined) this.transport.broadcast.publish(frame);
    else this.#host.ignored += 1;
  }
}

/** What settles the promise that was made last: a closure for each call would be a good part of its price. */
const settlers = {
  resolve: (_envelope: ResponseEnvelope): void => {},
  reject: (_error: CallError): void => {},
};

function takeSettlers(resolve: typeof settlers.resolve, reject: typeof settlers.reject): void {
  settlers.resolve = resolve;
  settlers.reject = reject;
}

/** Without the check, a forgotten `await` would be reported by the first call, as something else. */
function toTransport(given: Transport | EventTargetLike): Transport {
  if (typeof (given as Partial<Transport> | null)?.request === "function") return given as Transport;
  if (isEventTargetLike(given)) return createEventTargetTransport(given);
  const what = (given as unknown) instanceof Promise ? "a promise: await the transport first" : "neither";
  throw new TypeError(`A PendingRequestMap takes a transport or an EventTarget, and this is ${what}.`);
}
