import { nextRequestId } from "../../internal/request-id.ts";
import { TurnoverMap } from "../../internal/turnover-map.ts";
import type { OperationSpec } from "../../operation/index.ts";
import {
  type CallRequested,
  type FollowUp,
  type Frame,
  isLastReply,
  type OnRequest,
  type PeerEvent,
  type ReplyFrame,
  requestPending,
  type SendFollowUp,
  type StopServing,
  type Transport,
  type TransportCapabilities,
  toFailedFrame,
  transportClosed,
  type Unsubscribe,
} from "../transport.ts";
import { type Claims, claimsOf } from "./claims.ts";
import type { EventTargetLike } from "./event-target-like.ts";
import { TargetPeers } from "./target-peers.ts";

const replyTypes = ["call.responded", "call.progressed", "call.completed", "call.error"] as const;
const followUpTypes = ["call.credited", "call.aborted"] as const;

/** Subscriptions are forgotten when they end; what never ends is bounded by this. */
const mostStreams = 10_000;

/**
 * Speaks the call events over an event target: each frame is a `CustomEvent` of its type with the frame as `detail`.
 * Everybody at the target sees everything; what is not for this transport is ignored. The first server to claim the id
 * of a request runs it.
 */
export class EventTargetTransport implements Transport {
  readonly name = "event-target";
  /** Who is at a target hears everything, and need not guess. */
  readonly capabilities: TransportCapabilities;
  /** Whether events stay in this process and cannot get lost. An event target of another kind may be a bridge. */
  readonly isPlain: boolean;
  readonly #target: EventTargetLike;
  readonly #claims: Claims;
  readonly #peers: TargetPeers;
  readonly #peerId = nextRequestId();
  readonly #asked = new TurnoverMap<string, (frame: ReplyFrame) => void>();
  readonly #served = new TurnoverMap<string, SendFollowUp>();
  readonly #servers = new Map<string, OnRequest>();
  /** Takes requests that no server at the target claims by name. */
  #unlisted: OnRequest | undefined = undefined;
  /** Subscriptions that anybody at the target has asked for, and the number of the next value of each. */
  readonly #streams = new Map<string, number>();
  #isClosed = false;

  constructor(target: EventTargetLike) {
    this.#target = target;
    this.isPlain = Object.getPrototypeOf(target) === EventTarget.prototype && !Object.hasOwn(target, "dispatchEvent");
    this.capabilities = { staysInProcess: this.isPlain, authenticatesReplies: true };
    this.#claims = claimsOf(target);
    this.#peers = TargetPeers.join(target, this.#peerId);
    target.addEventListener("call.requested", this.#onRequest);
    for (const type of replyTypes) target.addEventListener(type, this.#onReply);
    for (const type of followUpTypes) target.addEventListener(type, this.#onFollowUp);
  }

  request(_operationId: string, frame: CallRequested, onReply: (frame: ReplyFrame) => void): SendFollowUp {
    this.#assertOpen();
    const { requestId } = frame;
    if (this.#asked.has(requestId)) throw requestPending(requestId);
    this.#asked.set(requestId, onReply);
    this.publish(frame);
    return (followUp) => {
      if (!this.#asked.has(requestId)) return;
      if (followUp.type === "call.aborted") this.#asked.delete(requestId);
      this.publish(followUp);
    };
  }

  async serve(operationIds: readonly string[], onRequest: OnRequest): Promise<StopServing> {
    this.#assertOpen();
    for (const id of operationIds) this.#servers.set(id, onRequest);
    return async (ids = operationIds) => {
      for (const id of ids) if (this.#servers.get(id) === onRequest) this.#servers.delete(id);
    };
  }

  async serveUnlisted(onRequest: OnRequest): Promise<StopServing> {
    this.#assertOpen();
    this.#unlisted = onRequest;
    return async () => {
      if (this.#unlisted === onRequest) this.#unlisted = undefined;
    };
  }

  /** Claims a request for this server. True for the first at the target. */
  claim(requestId: string): boolean {
    return this.#claims.add(requestId);
  }

  /** A bridge may have carried the request to a server of which nothing is known here. */
  isClaimed(requestId: string): boolean {
    return !this.isPlain || this.#claims.has(requestId);
  }

  async announce(specs: readonly OperationSpec[]): Promise<void> {
    this.#assertOpen();
    this.#peers.announce(this.#peerId, specs);
  }

  watchPeers(listener: (event: PeerEvent) => void): Unsubscribe {
    return this.#peers.watch(this.#peerId, listener);
  }

  /** Sends a frame to everybody at the target. */
  publish(frame: Frame): void {
    this.#target.dispatchEvent(new CustomEvent(frame.type, { detail: frame }));
  }

  /** The number of the next value of a subscription, for those who answer it by events. `undefined` for other requests. */
  nextSeq(requestId: string): number | undefined {
    const seq = this.#streams.get(requestId);
    if (seq !== undefined) this.#streams.set(requestId, seq + 1);
    return seq;
  }

  async close(reason?: Error): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const error = transportClosed(this.name, { mayHaveRun: true, cause: reason });
    const [asked, served] = [this.#asked.entries(), this.#served.entries()];
    // First, because what is said here is heard here as well.
    this.#asked.clear();
    this.#served.clear();
    for (const [requestId, onReply] of asked) {
      this.publish({ type: "call.aborted", requestId, reason: error.message });
      onReply(toFailedFrame(requestId, error));
    }
    for (const [requestId, toServer] of served) {
      toServer({ type: "call.aborted", requestId, reason: error.message });
      this.publish(toFailedFrame(requestId, error));
    }
    this.#servers.clear();
    this.#streams.clear();
    this.#peers.leave(this.#peerId);
    for (const type of replyTypes) this.#target.removeEventListener(type, this.#onReply);
    for (const type of followUpTypes) this.#target.removeEventListener(type, this.#onFollowUp);
    this.#target.removeEventListener("call.requested", this.#onRequest);
  }

  readonly #onRequest = (event: Event): void => {
    const frame = frameOf<CallRequested>(event);
    if (frame === undefined) return;
    if (frame.credit !== undefined) this.#noteStream(frame.requestId);
    const onRequest = this.#servers.get(frame.operationId);
    if (onRequest !== undefined) this.#serve(frame, onRequest);
    // After all servers at the target have seen the event.
    else if (this.#unlisted !== undefined) queueMicrotask(() => this.#unlisted && this.#serve(frame, this.#unlisted));
  };

  #serve(frame: CallRequested, onRequest: OnRequest): void {
    const { requestId } = frame;
    if (!this.#claims.add(requestId)) return;
    let hasEnded = false;
    const toServer = onRequest(frame, (reply) => {
      if (hasEnded || this.#isClosed) return;
      if (isLastReply(reply)) {
        hasEnded = true;
        this.#served.delete(requestId);
      }
      this.publish(reply);
    });
    if (!hasEnded) this.#served.set(requestId, toServer);
  }

  #noteStream(requestId: string): void {
    const isNew = !this.#streams.has(requestId); // the same may come once more
    if (isNew && this.#streams.size < mostStreams) this.#streams.set(requestId, 0);
  }

  #onEnded(requestId: string): void {
    this.#claims.end(requestId);
    if (this.#streams.size > 0) this.#streams.delete(requestId);
  }

  readonly #onFollowUp = (event: Event): void => {
    const frame = frameOf<FollowUp>(event);
    if (frame?.type === "call.aborted") this.#onEnded(frame.requestId);
    const toServer = frame === undefined ? undefined : this.#served.get(frame.requestId);
    if (frame === undefined || toServer === undefined) return;
    if (frame.type === "call.aborted") this.#served.delete(frame.requestId);
    toServer(frame);
  };

  readonly #onReply = (event: Event): void => {
    const frame = frameOf<ReplyFrame>(event);
    if (frame === undefined) return;
    const { requestId } = frame;
    const isLast = isLastReply(frame);
    if (isLast) this.#onEnded(requestId);
    else this.#claims.add(requestId);
    const onReply = this.#asked.get(requestId);
    if (onReply === undefined) return;
    if (isLast) this.#asked.delete(requestId);
    onReply(frame);
  };

  #assertOpen(): void {
    if (this.#isClosed) throw transportClosed(this.name, { mayHaveRun: false });
  }
}

/** What an event says, if it says anything that can be a frame. Others at the target may leave `type` out. */
function frameOf<F extends Frame>(event: Event): F | undefined {
  const detail: unknown = (event as Partial<CustomEvent>).detail;
  if (typeof detail !== "object" || detail === null) return undefined;
  const frame = detail as F;
  if (typeof frame.requestId !== "string") return undefined;
  return frame.type === event.type ? frame : { ...frame, type: event.type };
}

/** A transport over an event target. All that are made of one target reach each other. */
export function createEventTargetTransport(target: EventTargetLike): Transport {
  return new EventTargetTransport(target);
}
