import { createId } from "../../internal/request-id.ts";
import type { OperationSpec } from "../../operation/index.ts";
import {
  type Broadcast,
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
import { TurnoverMap } from "../turnover-map.ts";
import { type Claims, claimsOf, type EventTargetLike, EventTargetPeers } from "./event-target-state.ts";

const replyTypes = ["call.responded", "call.progressed", "call.completed", "call.error"] as const;
const followUpTypes = ["call.credited", "call.aborted"] as const;

/** Maximum number of open subscriptions whose values are numbered. */
const maxStreams = 10_000;

/**
 * Carries call events over an event target: each frame is the `detail` of a `CustomEvent` of its type. Every transport
 * at the target receives every frame and ignores those of other calls. The first server that claims the id of a request
 * runs it.
 */
class EventTargetTransport implements Transport, AsyncDisposable, Broadcast {
  readonly name = "event-target";
  readonly capabilities: TransportCapabilities;
  readonly broadcast: Broadcast = this;
  /** Whether the target is an unmodified `EventTarget`, whose events stay in this process. It is not a bridge. */
  readonly #isUnpatched: boolean;
  readonly #target: EventTargetLike;
  readonly #claims: Claims;
  readonly #peers: EventTargetPeers;
  readonly #peerId = createId();
  readonly #pending = new TurnoverMap<string, (frame: ReplyFrame) => void>();
  readonly #served = new TurnoverMap<string, SendFollowUp>();
  readonly #servers = new Map<string, OnRequest>();
  /** Receives requests for operations that no server at the target lists. */
  #unlisted: OnRequest | undefined = undefined;
  /** Subscriptions that any peer at the target has requested, and the sequence number of the next value of each. */
  readonly #streams = new Map<string, number>();
  #isClosed = false;

  constructor(target: EventTargetLike) {
    this.#target = target;
    this.#isUnpatched =
      Object.getPrototypeOf(target) === EventTarget.prototype && !Object.hasOwn(target, "dispatchEvent");
    // Every peer at a target receives the ids of all requests, so random ids would not protect replies.
    this.capabilities = { staysInProcess: this.#isUnpatched, authenticatesReplies: true, claimsIdentity: true };
    this.#claims = claimsOf(target);
    this.#peers = EventTargetPeers.join(target, this.#peerId);
    target.addEventListener("call.requested", this.#onRequest);
    for (const type of replyTypes) target.addEventListener(type, this.#onReply);
    for (const type of followUpTypes) target.addEventListener(type, this.#onFollowUp);
  }

  request(_operationId: string, frame: CallRequested, onReply: (frame: ReplyFrame) => void): SendFollowUp {
    this.#assertOpen();
    const { requestId } = frame;
    if (this.#pending.get(requestId) !== undefined) throw requestPending(requestId);
    this.#pending.set(requestId, onReply);
    this.publish(frame);
    return (followUp) => {
      if (this.#pending.get(requestId) === undefined) return;
      if (followUp.type === "call.aborted") this.#pending.delete(requestId);
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

  claim(requestId: string): boolean {
    return this.#claims.add(requestId);
  }

  /** Returns true for a possible bridge, which may have forwarded the request to a server that is unknown here. */
  isClaimed(requestId: string): boolean {
    return !this.#isUnpatched || this.#claims.has(requestId);
  }

  async announce(specs: readonly OperationSpec[]): Promise<void> {
    this.#assertOpen();
    this.#peers.announce(this.#peerId, specs);
  }

  watchPeers(listener: (event: PeerEvent) => void): Unsubscribe {
    return this.#peers.watch(this.#peerId, listener);
  }

  publish(frame: Frame): void {
    this.#target.dispatchEvent(new CustomEvent(frame.type, { detail: frame }));
  }

  nextSeq(requestId: string): number | undefined {
    const seq = this.#streams.get(requestId);
    if (seq !== undefined) this.#streams.set(requestId, seq + 1);
    return seq;
  }

  async close(reason?: Error): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const error = transportClosed(this.name, { mayHaveRun: true, cause: reason });
    const [pending, served] = [this.#pending.entries(), this.#served.entries()];
    // Clear this first, because this transport also receives its own frames.
    this.#pending.clear();
    this.#served.clear();
    for (const [requestId, onReply] of pending) {
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

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  readonly #onRequest = (event: Event): void => {
    const frame = frameOf<CallRequested>(event);
    if (frame === undefined) return;
    if (frame.credit !== undefined) this.#noteStream(frame.requestId);
    const onRequest = this.#servers.get(frame.operationId);
    if (onRequest !== undefined) this.#serve(frame, onRequest);
    // Wait until all servers at the target have received the event.
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
    const isNew = !this.#streams.has(requestId); // a request may be dispatched again
    if (isNew && this.#streams.size < maxStreams) this.#streams.set(requestId, 0);
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
    const onReply = this.#pending.get(requestId);
    if (onReply === undefined) return;
    if (isLast) this.#pending.delete(requestId);
    onReply(frame);
  };

  #assertOpen(): void {
    if (this.#isClosed) throw transportClosed(this.name, { mayHaveRun: false });
  }
}

/** Returns the frame of an event, if present. Other users of the target may omit `type`. */
function frameOf<F extends Frame>(event: Event): F | undefined {
  const detail: unknown = (event as Partial<CustomEvent>).detail;
  if (typeof detail !== "object" || detail === null) return undefined;
  const frame = detail as F;
  if (typeof frame.requestId !== "string") return undefined;
  return frame.type === event.type ? frame : { ...frame, type: event.type };
}

/** Creates a transport over an event target. All transports at one target can reach each other. */
export function createEventTargetTransport(target: EventTargetLike): Transport & AsyncDisposable {
  return new EventTargetTransport(target);
}
