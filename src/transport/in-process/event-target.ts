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
  toFailedFrame,
  transportClosed,
  type Unsubscribe,
} from "../transport.ts";
import { PeerBoard } from "./peer-board.ts";

const replyTypes = ["call.responded", "call.progressed", "call.completed", "call.error"] as const;
const followUpTypes = ["call.credited", "call.aborted"] as const;

/** Subscriptions are forgotten when they end; what never ends is bounded by this. */
const mostStreams = 10_000;

/** What was announced at each target, so that who comes late still hears of it. */
const boards = new WeakMap<EventTarget, PeerBoard>();

function boardOf(target: EventTarget): PeerBoard {
  let board = boards.get(target);
  if (board === undefined) {
    board = new PeerBoard();
    boards.set(target, board);
  }
  return board;
}

/**
 * Speaks the call events over a plain `EventTarget`: each frame is a `CustomEvent` of its type with the frame as
 * `detail`. A server takes a request by `preventDefault()`, so that no second one does. Everybody at the target sees
 * everything; what is not for this transport is ignored.
 */
export class EventTargetTransport implements Transport {
  readonly name = "event-target";
  /** Who is at a target hears everything, and need not guess. */
  readonly isPrivate = true;
  /** Whether events stay in this process and cannot get lost. An event target of another kind may be a bridge. */
  readonly isPlain: boolean;
  readonly #target: EventTarget;
  readonly #board: PeerBoard;
  readonly #peerId = nextRequestId();
  readonly #asked = new TurnoverMap<string, (frame: ReplyFrame) => void>();
  readonly #served = new TurnoverMap<string, SendFollowUp>();
  readonly #servers = new Map<string, OnRequest>();
  /** Subscriptions that anybody at the target has asked for, and the number of the next value of each. */
  readonly #streams = new Map<string, number>();
  #isClosed = false;

  constructor(target: EventTarget) {
    this.#target = target;
    this.isPlain = Object.getPrototypeOf(target) === EventTarget.prototype && !Object.hasOwn(target, "dispatchEvent");
    this.#board = boardOf(target);
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

  async announce(specs: readonly OperationSpec[]): Promise<void> {
    this.#assertOpen();
    this.#board.announce(this.#peerId, specs);
  }

  watchPeers(listener: (event: PeerEvent) => void): Unsubscribe {
    return this.#board.watch(this.#peerId, listener);
  }

  /** Sends a frame to everybody at the target. */
  publish(frame: Frame): void {
    const cancelable = frame.type === "call.requested";
    this.#target.dispatchEvent(new CustomEvent(frame.type, { detail: frame, cancelable }));
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
    this.#board.leave(this.#peerId);
    for (const type of replyTypes) this.#target.removeEventListener(type, this.#onReply);
    for (const type of followUpTypes) this.#target.removeEventListener(type, this.#onFollowUp);
    this.#target.removeEventListener("call.requested", this.#onRequest);
  }

  readonly #onRequest = (event: Event): void => {
    const frame = frameOf<CallRequested>(event);
    if (frame === undefined) return;
    const { requestId } = frame;
    if (frame.credit !== undefined) this.#noteStream(requestId);
    if (event.defaultPrevented) return;
    const onRequest = this.#servers.get(frame.operationId);
    if (onRequest === undefined) return;
    event.preventDefault();
    if (this.#served.has(requestId)) return; // the same once more
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
  };

  #noteStream(requestId: string): void {
    const isNew = !this.#streams.has(requestId); // the same may come once more
    if (isNew && this.#streams.size < mostStreams) this.#streams.set(requestId, 0);
  }

  readonly #onFollowUp = (event: Event): void => {
    const frame = frameOf<FollowUp>(event);
    if (frame?.type === "call.aborted") this.#streams.delete(frame.requestId);
    const toServer = frame === undefined ? undefined : this.#served.get(frame.requestId);
    if (frame === undefined || toServer === undefined) return;
    if (frame.type === "call.aborted") this.#served.delete(frame.requestId);
    toServer(frame);
  };

  readonly #onReply = (event: Event): void => {
    const frame = frameOf<ReplyFrame>(event);
    if (frame !== undefined && this.#streams.size > 0 && isLastReply(frame)) this.#streams.delete(frame.requestId);
    const onReply = frame === undefined ? undefined : this.#asked.get(frame.requestId);
    if (frame === undefined || onReply === undefined) return;
    if (isLastReply(frame)) this.#asked.delete(frame.requestId);
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

/** A transport over an `EventTarget`. All that are made of one target reach each other. */
export function createEventTargetTransport(target: EventTarget): Transport {
  return new EventTargetTransport(target);
}
