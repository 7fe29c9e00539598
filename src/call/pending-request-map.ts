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
  unavailable,
} from "../operation/index.ts";
import {
  createInProcessTransport,
  type EventTargetLike,
  EventTargetTransport,
  InProcessTransport,
  isEventTargetLike,
} from "../transport/in-process/index.ts";
import {
  type CallRequested,
  isLastReply,
  type OnRequest,
  type Reply,
  type Transport,
  toFailedFrame,
} from "../transport/transport.ts";
import type { CallHandler } from "./call-handler.ts";
import { CallSubscription } from "./call-subscription.ts";
import { OpenRequest, type RequestHost } from "./open-request.ts";
import { isBuilt } from "./origins.ts";
import { PendingCall } from "./pending-call.ts";
import type { CallRequestOptions, SubscribeRequestOptions } from "./request-options.ts";
import { isListed, Serving, UnlistedServing } from "./serving.ts";
import type { SignIdentity } from "./sign-request.ts";

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

/** Stops serving: takes no further request, and resolves when those that run have been answered. */
export interface StopHandling {
  (): Promise<void>;
  /** Resolves when the handler's operations are served. Rejects when the transport cannot. */
  readonly ready: Promise<void>;
}

/** A request that a handler answers through the map. */
interface Served {
  readonly frame: CallRequested;
  readonly reply: Reply;
  seq: number;
}

/**
 * One end of the call protocol: asks other peers and answers them, over any transport. Every call settles exactly
 * once, with an envelope or a `CallError`, as it would where the operation runs.
 */
export class PendingRequestMap implements AsyncDisposable {
  /** What carries the calls. Closed with this map. */
  readonly transport: Transport;
  readonly #host: RequestHost;
  /** Requests whose handler answers by `respond()` and its like. */
  readonly #served = new Map<string, Served>();
  readonly #serving = new Set<Serving | UnlistedServing>();
  readonly #eventTarget: EventTargetTransport | undefined;
  #closed: Promise<void> | undefined = undefined;

  /** @param transport an event target carries each frame as a `CustomEvent`. @default in process */
  constructor(
    transport: Transport | EventTargetLike = createInProcessTransport(),
    options: PendingRequestMapOptions = {},
  ) {
    this.transport = toTransport(transport);
    const isInProcess = this.transport instanceof InProcessTransport;
    const eventTarget = this.transport instanceof EventTargetTransport ? this.transport : undefined;
    this.#eventTarget = eventTarget;
    const staysInProcess = isInProcess || eventTarget?.isPlain === true;
    const timeoutDefault = isInProcess ? Number.POSITIVE_INFINITY : 30_000;
    const defaultTimeout = resolveDuration("defaultTimeout", options.defaultTimeout, timeoutDefault, {
      infinite: true,
    });
    this.#host = {
      transport: this.transport,
      open: new LinkedSet<OpenRequest>(),
      size: 0,
      maxPending: resolveLimits(options.limits).pendingCalls,
      defaultTimeout,
      isPrivate: this.transport.isPrivate ?? false,
      isInProcess,
      staysInProcess,
      tellsDefault: !staysInProcess || options.defaultTimeout !== undefined,
      claimsIdentity: isInProcess || (options.trustedBus ?? eventTarget !== undefined),
      sign: options.sign,
      hasWarned: false,
      ignored: 0,
      isClosed: false,
    };
  }

  /** Whether calls stay in this process. */
  get isInProcess(): boolean {
    return this.#host.staysInProcess;
  }

  /** Calls a query or mutation of whichever peer serves it. Fails with a `CallError`. */
  call<T = unknown>(operationId: string, input: unknown, options?: CallRequestOptions): Promise<ResponseEnvelope<T>> {
    const host = this.#host;
    const promise = new Promise<ResponseEnvelope>(takeSettlers);
    const call = new PendingCall(host, operationId, options?.onProgress, settlers.resolve, settlers.reject);
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
    return new CallSubscription(this.#host, operationId, input, options) as never;
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
   * `stop` resolves when the running ones have been answered.
   */
  handle(handler: CallHandler): StopHandling {
    const onRequest = isBuilt(handler) ? (handler as OnRequest) : this.#recorded(handler);
    const serving = isListed(handler)
      ? new Serving(this.transport, handler, onRequest)
      : new UnlistedServing(this.transport, onRequest);
    this.#serving.add(serving);
    let stopping: Promise<void> | undefined;
    const stop = async () => {
      this.#serving.delete(serving);
      await serving.stop();
      await handler.settled?.();
    };
    return Object.assign(() => (stopping ??= stop()), { ready: serving.ready });
  }

  /** Answers a request: the answer of a call, or the next value of a subscription. Takes envelopes only. */
  respond(requestId: string, output: ResponseEnvelope): void {
    if (!isResponseEnvelope(output)) {
      const message = "respond() takes an envelope. Make one with localEnvelope(data, operationId).";
      throw new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: true });
    }
    const seq = this.#nextSeq(requestId);
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
    for (const request of this.#open()) {
      if (request.requestId === requestId) return request.giveUp(aborted(request.operationId, reason, request.isSent));
    }
    const served = this.#served.get(requestId);
    if (served !== undefined) this.emitError(requestId, aborted(served.frame.operationId, reason, true));
  }

  /**
   * Claims a request that came by another way than `handle()`, such as an event that you listen to yourself. False when
   * another server at the same event target has claimed it: do not run it then.
   */
  claim({ requestId }: CallRequested): boolean {
    return this.#eventTarget?.claim(requestId) ?? true;
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
    for (const request of this.#open()) {
      request.giveUp(unavailable("The PendingRequestMap was closed and", { mayHaveRun: request.isSent }));
    }
    const stops = await Promise.allSettled(Array.from(this.#serving, (serving) => serving.stop()));
    this.#serving.clear();
    await this.transport.close();
    this.#served.clear();
    for (const stop of stops) if (stop.status === "rejected") throw stop.reason;
  }

  /** The number of the next value of a subscription; answers to calls have none. */
  #nextSeq(requestId: string): number | undefined {
    const served = this.#served.get(requestId);
    if (served === undefined) return this.#eventTarget?.nextSeq(requestId);
    if (served.frame.credit === undefined) return undefined;
    served.seq += 1;
    return served.seq - 1;
  }

  #open(): OpenRequest[] {
    const { transport } = this;
    if (!(transport instanceof InProcessTransport)) return [...this.#host.open];
    return transport.asked().filter((request) => request instanceof OpenRequest);
  }

  /** Lets a handler that does not reply itself do so through the map. */
  #recorded(handler: CallHandler): OnRequest {
    return (frame, reply, asker) => {
      const { requestId } = frame;
      if (this.#served.has(requestId)) {
        const message = `The request id of "${frame.operationId}" is in use.`;
        void reply(
          toFailedFrame(requestId, new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: false })),
        );
        return () => {};
      }
      const served: Served = { frame, reply, seq: 0 };
      this.#served.set(requestId, served);
      const own: Reply = (message) => {
        if (isLastReply(message)) this.#served.delete(requestId);
        return reply(message);
      };
      const followUp = handler(frame, own, asker);
      return (later) => {
        if (later.type === "call.aborted") this.#served.delete(requestId);
        followUp?.(later);
      };
    };
  }

  #reply(requestId: string, frame: Parameters<Reply>[0]): void | Promise<void> {
    const served = this.#served.get(requestId);
    if (served !== undefined) {
      if (isLastReply(frame)) this.#served.delete(requestId);
      return served.reply(frame);
    }
    if (this.transport instanceof EventTargetTransport) return this.transport.publish(frame);
    this.#host.ignored += 1;
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
  if (isEventTargetLike(given)) return new EventTargetTransport(given);
  const what = (given as unknown) instanceof Promise ? "a promise: await the transport first" : "neither";
  throw new TypeError(`A PendingRequestMap takes a transport or an EventTarget, and this is ${what}.`);
}
