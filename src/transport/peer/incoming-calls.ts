import { type CallError, type Identity, overloaded, timedOut } from "../../operation/inside.ts";
import type { WireFrame } from "../codec/index.ts";
import {
  type CallRequested,
  type FollowUp,
  isLastReply,
  type OnRequest,
  type ReplyFrame,
  type SendFollowUp,
  toFailedFrame,
} from "../transport.ts";
import { TurnoverMap } from "../turnover-map.ts";
import type { ClockSync, PeerClock } from "./clock-sync.ts";
import { maxPendingCalls } from "./outgoing-calls.ts";

/** A peer that calls this one: at the other end of a channel, or at an address on a broker. */
export interface RemotePeer {
  /** The identity that the channel has authenticated. */
  readonly identity?: Identity | undefined;
  /** Sends a frame. If it returns a promise, wait for it before the next reply. Throws a `CallError`. */
  send(frame: WireFrame): Promise<void> | undefined;
}

/** Maximum number of open subscriptions of one remote peer. */
const maxSubscriptions = 1_024;
/** A request that arrives later than this, in ms, may have been aborted in the meantime. */
const maxUnconfirmedMs = 50;
/** Maximum time to wait for a confirmation, in ms. */
const maxHeldMs = 60_000;

/** A call that runs here for a remote peer. */
export class AcceptedCall {
  readonly frame: CallRequested;
  readonly requestId: string;
  readonly operationId: string;
  readonly isSubscription: boolean;
  /** If true, no further frame is sent or accepted. */
  hasEnded = false;
  /** Passes later frames of the caller to the handler, once the handler runs. */
  toHandler: SendFollowUp | undefined = undefined;
  /** An abort that arrived before the handler ran. */
  earlyAbort: FollowUp | undefined = undefined;

  constructor(frame: CallRequested) {
    this.frame = frame;
    this.requestId = frame.requestId;
    this.operationId = frame.operationId;
    this.isSubscription = frame.credit !== undefined;
  }

  /** Passes a later frame of the caller to the handler. Credit that arrives earlier is added to that of the request. */
  deliver(frame: FollowUp): void {
    if (this.toHandler !== undefined) this.toHandler(frame);
    else if (frame.type === "call.aborted") this.earlyAbort = frame;
    else this.frame.credit = Math.min((this.frame.credit ?? 0) + frame.count, Number.MAX_SAFE_INTEGER);
  }
}

/**
 * The calls that run here for one remote peer, by request id. Each remote peer has its own map, so that no peer can
 * affect the calls of another.
 */
export class IncomingCalls extends TurnoverMap<string, AcceptedCall> {
  readonly clock: PeerClock;
  readonly #peer: RemotePeer;
  readonly #sync: ClockSync;
  #subscriptions = 0;

  constructor(peer: RemotePeer, clock: PeerClock, sync: ClockSync) {
    super();
    this.clock = clock;
    this.#peer = peer;
    this.#sync = sync;
  }

  /** Accepts a request, which {@link run} starts. Returns an error when the request exceeds a limit. */
  accept(frame: CallRequested): AcceptedCall | CallError {
    if (this.size >= maxPendingCalls) return overloaded("Too many calls are pending for this peer", maxPendingCalls);
    if (frame.credit !== undefined && this.#subscriptions >= maxSubscriptions) {
      return overloaded("Too many subscriptions are open for this peer", maxSubscriptions);
    }
    const call = new AcceptedCall(frame);
    this.set(call.requestId, call);
    if (call.isSubscription) this.#subscriptions++;
    return call;
  }

  /**
   * Starts the handler of an accepted request as soon as its age is known. A request that was delayed waits until the
   * caller has confirmed it, because the caller may have aborted it in the meantime.
   */
  run(call: AcceptedCall, onRequest: OnRequest): void {
    const { clock } = this;
    const { frame, requestId } = call;
    const now = performance.now();
    const age = clock.ageOf(frame.sentAt, now);
    if (age !== undefined && age <= maxUnconfirmedMs) {
      if (now >= clock.dueAt && frame.sentAt !== undefined) this.#sync.ask(clock);
      return this.#begin(call, onRequest, age, now);
    }
    this.#sync.hold(clock, {
      requestId,
      expiresAt: now + Math.min(frame.timeout ?? maxHeldMs, maxHeldMs),
      begin: (isConfirmed) => {
        const later = performance.now();
        const latest = isConfirmed ? clock.ageOf(frame.sentAt, later) : undefined;
        this.#begin(call, onRequest, latest ?? Number.POSITIVE_INFINITY, later);
      },
      drop: () => void this.end(call),
    });
  }

  /** Ends a call. Returns false when the call had already ended. */
  end(call: AcceptedCall): boolean {
    if (call.hasEnded) return false;
    call.hasEnded = true;
    this.delete(call.requestId);
    if (call.isSubscription) this.#subscriptions--;
    return true;
  }

  /** Ends a call and aborts its handler. If `error` is set, the caller receives it. */
  abort(call: AcceptedCall, reason: string, error?: CallError): void {
    if (call.hasEnded) return;
    if (error !== undefined) this.reply(call, toFailedFrame(call.requestId, error));
    this.end(call);
    call.deliver({ type: "call.aborted", requestId: call.requestId, reason });
  }

  /** Sends a reply, unless the call has ended. The last reply ends it. Throws a `CallError` if it cannot be sent. */
  reply(call: AcceptedCall, frame: ReplyFrame): Promise<void> | undefined {
    if (call.hasEnded) return undefined;
    const writable = this.#peer.send(frame);
    if (isLastReply(frame)) this.end(call);
    return writable;
  }

  /** Requests the remote peer's clock. `onReply` is called when the reply has arrived, and with it all earlier frames. */
  measureClock(onReply: (() => void) | undefined): void {
    this.#sync.ask(this.clock, onReply);
  }

  /** Passes a later frame of the caller on. */
  follow(frame: FollowUp): void {
    const call = this.get(frame.requestId);
    if (call === undefined) return;
    if (frame.type === "call.aborted") this.end(call);
    call.deliver(frame);
  }

  /** Returns a copy, because calls may end during an iteration. */
  list(): AcceptedCall[] {
    return this.entries().map(([, call]) => call);
  }

  /** Ends all calls and aborts their handlers. If `error` is set, the callers receive it. */
  abortAll(reason: string, error?: CallError): void {
    for (const call of this.list()) this.abort(call, reason, error);
  }

  /** Ends the subscriptions. Each consumer receives the error from `toError`. */
  endSubscriptions(toError: (operationId: string) => CallError): void {
    for (const call of this.list()) {
      if (call.isSubscription) this.abort(call, "the server ended the subscription", toError(call.operationId));
    }
  }

  /** @param age time between sending the request and `now`, in ms */
  #begin(call: AcceptedCall, onRequest: OnRequest, age: number, now: number): void {
    if (call.hasEnded) return;
    const { frame } = call;
    const { timeout } = frame;
    if (age >= (timeout ?? Number.MAX_VALUE)) {
      this.reply(call, toFailedFrame(call.requestId, timedOut(call.operationId, false)));
      return;
    }
    if (timeout !== undefined) {
      frame.timeout = Math.floor(timeout - age);
      frame.expiresAt = now + frame.timeout;
    }
    call.toHandler = onRequest(frame, (reply) => this.reply(call, reply), this.#peer.identity);
    // The handler may have ended the connection, which aborts its own call.
    if (call.earlyAbort !== undefined) call.toHandler(call.earlyAbort);
  }
}
