import { aborted, CallError, isResponseEnvelope, mapError, type ResponseEnvelope } from "../operation/inside.ts";
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
import { TransportCaller, type TransportCallerOptions } from "./outgoing/index.ts";
import { isListed, ServedHandler, ServedUnlistedHandler } from "./serving.ts";

/** Options of a {@link PendingRequestMap}. */
export interface PendingRequestMapOptions extends TransportCallerOptions {}

/**
 * Stops serving: rejects further requests, ends subscriptions with `UNAVAILABLE` immediately, and resolves when running
 * calls have finished or their time is up. May be called more than once; the options of the first call apply.
 */
export interface StopHandling {
  (options?: StopOptions): Promise<void>;
  /**
   * Resolves when the handler's operations are served. While a broker is unavailable, it stays pending and serving is
   * retried. Rejects if the transport refuses to serve them, or if serving is stopped first.
   */
  readonly ready: Promise<void>;
}

/**
 * One end of the call protocol. It calls the operations of other peers and serves its own operations, over any
 * transport. Every call settles exactly once, with the envelope or the `CallError` of a direct call.
 */
export class PendingRequestMap extends TransportCaller<Transport> {
  /** Requests whose handler replies with `respond()`, `emitError()` or `complete()`. */
  readonly #recorded = new RecordedRequests();
  readonly #serving = new Set<ServedHandler | ServedUnlistedHandler>();

  /** @param transport an event target carries each frame as a `CustomEvent`. @default in process */
  constructor(
    transport: Transport | EventTargetLike = createInProcessTransport(),
    options: PendingRequestMapOptions = {},
  ) {
    super(toTransport(transport, "A PendingRequestMap"), options);
  }

  /**
   * Serves the operations of a handler, and follows its changes. The returned function stops serving and resolves when
   * running calls have finished, after ten seconds by default.
   */
  handle(handler: CallHandler): StopHandling {
    const built = runningRequestsOf(handler);
    const { onRequest, running } =
      built === undefined ? this.#recorded.record(handler) : { onRequest: handler as OnRequest, running: built };
    const serving = isListed(handler)
      ? new ServedHandler(this.transport, handler, onRequest, () => !this.host.isClosed)
      : new ServedUnlistedHandler(this.transport, onRequest);
    this.#serving.add(serving);
    let stopping: Promise<void> | undefined;
    const stop = async (options?: StopOptions) => {
      this.#serving.delete(serving);
      await drain(() => serving.stop(), running, options);
    };
    return Object.assign((options?: StopOptions) => (stopping ??= stop(options)), { ready: serving.ready });
  }

  /** Sends the response of a call, or the next value of a subscription. Accepts envelopes only. */
  respond(requestId: string, output: ResponseEnvelope): void {
    if (!isResponseEnvelope(output)) {
      const message = "respond() requires an envelope. Create one with localEnvelope(data, operationId).";
      throw new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: true });
    }
    const isRecorded = this.#recorded.get(requestId) !== undefined;
    const seq = isRecorded ? this.#recorded.nextSeq(requestId) : this.transport.broadcast?.nextSeq(requestId);
    this.#reply(requestId, { type: "call.responded", requestId, output, ...(seq !== undefined && { seq }) });
  }

  /** Fails a request. An error that is not a `CallError` is converted to one. */
  emitError(requestId: string, error: unknown): void {
    this.#reply(requestId, toFailedFrame(requestId, mapError(error)));
  }

  /** Ends a subscription that this map serves. */
  complete(requestId: string): void {
    this.#reply(requestId, { type: "call.completed", requestId });
  }

  /** Aborts a call that this map makes or serves. The call fails with `ABORTED`. */
  abort(requestId: string, reason?: unknown): void {
    for (const request of this.host.open) {
      if (request.requestId === requestId) return request.abandon(aborted(request.operationId, reason, request.isSent));
    }
    const served = this.#recorded.get(requestId);
    if (served !== undefined) this.emitError(requestId, aborted(served.operationId, reason, true));
  }

  /**
   * Claims a request that you did not receive through `handle()`, but with your own event listener. Returns false if
   * another server at the same event target has claimed it. Do not run the request in that case.
   */
  claim({ requestId }: CallRequested): boolean {
    return this.transport.broadcast?.claim(requestId) ?? true;
  }

  /** Returns the function that sends replies to a request that you did not receive through `handle()`. */
  replyTo({ requestId }: CallRequested): Reply {
    return (frame) => this.#reply(requestId, frame);
  }

  protected override async end(): Promise<void> {
    this.failPending();
    const stops = await Promise.allSettled(Array.from(this.#serving, (serving) => serving.stop()));
    this.#serving.clear();
    await this.transport.close();
    this.#recorded.clear();
    for (const stop of stops) if (stop.status === "rejected") throw stop.reason;
  }

  #reply(requestId: string, frame: ReplyFrame): void | Promise<void> {
    if (this.#recorded.get(requestId) !== undefined) return this.#recorded.reply(requestId, frame);
    if (this.transport.broadcast !== undefined) this.transport.broadcast.publish(frame);
    else this.host.ignored += 1;
  }
}

/**
 * Checks the transport, because a missing `await` would otherwise fail the first call with an unrelated error. `user` is the
 * function or class that requires it.
 */
export function toTransport(given: Transport | EventTargetLike, user: string): Transport {
  if (typeof (given as Partial<Transport> | null)?.request === "function") return given as Transport;
  if (isEventTargetLike(given)) return createEventTargetTransport(given);
  const hint = (given as unknown) instanceof Promise ? " You passed a promise. Await the transport first." : "";
  throw new TypeError(`${user} requires a transport or an EventTarget.${hint}`);
}
