// #region transport
import type { OperationSpec } from "@alkdev/operations";
import {
  type Broadcast,
  type CallRequested,
  decode,
  encode,
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
} from "@alkdev/operations/transport";
import { PeerList } from "./peer-list.ts";

/** Limits of one frame. */
export const limits = { maxMessage: 64 * 1024, jsonDepth: 100 };

/** Carries every message to every station. All have received a message before any receives the next one. */
export class Radio {
  readonly stations = new Set<RadioTransport>();
  readonly peers = new PeerList();
  /** Requests that a station runs. */
  readonly claims = new Set<string>();
  readonly #messages: string[] = [];

  send(message: string): void {
    this.#messages.push(message);
    if (this.#messages.length === 1) queueMicrotask(() => this.#deliver());
  }

  #deliver(): void {
    while (this.#messages.length > 0) {
      for (const station of [...this.stations]) station.receive(decode(this.#messages[0]!, limits) as Frame);
      this.#messages.shift();
    }
  }
}

/** A station of a radio: it receives every frame, and ignores those of other calls. */
export class RadioTransport implements Transport {
  readonly name = "radio";
  /** Nothing on the radio proves who calls: an identity is a claim, for servers that set `trustedBus`. */
  readonly capabilities = { claimsIdentity: true };
  readonly broadcast: Broadcast;
  readonly #radio: Radio;
  readonly #peerId = crypto.randomUUID();
  readonly #pending = new Map<string, (frame: ReplyFrame) => void>();
  readonly #served = new Map<string, SendFollowUp>();
  readonly #servers = new Map<string, OnRequest>();
  /** The subscriptions on the radio, each with the number of its next value. */
  readonly #streams = new Map<string, number>();

  constructor(radio: Radio) {
    this.#radio = radio;
    radio.stations.add(this);
    this.broadcast = {
      claim: (requestId) => !radio.claims.has(requestId) && radio.claims.add(requestId).has(requestId),
      isClaimed: (requestId) => radio.claims.has(requestId),
      publish: (frame) => this.#send(frame),
      nextSeq: (requestId) => {
        const seq = this.#streams.get(requestId);
        if (seq !== undefined) this.#streams.set(requestId, seq + 1);
        return seq;
      },
    };
  }

  request(_operationId: string, frame: CallRequested, onReply: (frame: ReplyFrame) => void): SendFollowUp {
    const { requestId } = frame;
    this.#assertOpen();
    if (this.#pending.has(requestId)) throw requestPending(requestId);
    this.#send(frame);
    this.#pending.set(requestId, onReply);
    return (followUp) => {
      if (this.#pending.get(requestId) !== onReply) return;
      if (followUp.type === "call.aborted") this.#pending.delete(requestId);
      this.#send(followUp);
    };
  }

  async serve(operationIds: readonly string[], onRequest: OnRequest): Promise<StopServing> {
    this.#assertOpen();
    for (const id of operationIds) this.#servers.set(id, onRequest);
    return async (ids = operationIds) => {
      for (const id of ids) this.#servers.delete(id);
    };
  }

  async announce(specs: readonly OperationSpec[]): Promise<void> {
    this.#assertOpen();
    this.#radio.peers.announce(this.#peerId, specs);
  }

  watchPeers(listener: (event: PeerEvent) => void): () => void {
    return this.#radio.peers.watch(this.#peerId, listener);
  }

  async close(reason?: Error): Promise<void> {
    if (!this.#radio.stations.delete(this)) return;
    this.#radio.peers.announce(this.#peerId, []);
    const error = transportClosed(this.name, { mayHaveRun: true, cause: reason });
    for (const [requestId, onReply] of this.#pending) {
      this.#send({ type: "call.aborted", requestId });
      onReply(toFailedFrame(requestId, error));
    }
    for (const [requestId, follow] of this.#served) {
      this.#send(toFailedFrame(requestId, error));
      follow({ type: "call.aborted", requestId, reason: error.message });
    }
  }

  /** Receives a frame that any station has sent, also this one. */
  receive(frame: Frame): void {
    const { requestId, type } = frame;
    if (type === "call.requested") return this.#serve(frame as CallRequested);
    if (type === "call.credited" || type === "call.aborted") {
      const follow = this.#served.get(requestId);
      if (type === "call.aborted") this.#forget(requestId);
      return follow?.(frame as FollowUp);
    }
    const onReply = this.#pending.get(requestId);
    if (isLastReply(frame as ReplyFrame)) {
      this.#pending.delete(requestId);
      this.#forget(requestId);
    }
    onReply?.(frame as ReplyFrame);
  }

  #serve(frame: CallRequested): void {
    const { requestId } = frame;
    if (frame.credit !== undefined) this.#streams.set(requestId, 0);
    const onRequest = this.#servers.get(frame.operationId);
    if (onRequest === undefined || !this.broadcast.claim(requestId)) return;
    let hasEnded = false;
    const follow = onRequest(frame, (reply) => {
      if (hasEnded || !this.#radio.stations.has(this)) return;
      this.#send(reply);
      hasEnded = isLastReply(reply);
      if (hasEnded) this.#served.delete(requestId);
    });
    if (!hasEnded) this.#served.set(requestId, follow);
  }

  #forget(requestId: string): void {
    this.#served.delete(requestId);
    this.#streams.delete(requestId);
    this.#radio.claims.delete(requestId);
  }

  /** Throws a `CallError` when the frame cannot be sent. */
  #send(frame: Frame): void {
    this.#radio.send(encode(frame, limits));
  }

  #assertOpen(): void {
    if (!this.#radio.stations.has(this)) throw transportClosed(this.name, { mayHaveRun: false });
  }
}
// #endregion transport
