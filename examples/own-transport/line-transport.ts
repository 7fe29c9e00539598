// #region transport
import { CallError, type Identity, type OperationSpec } from "@alkdev/operations";
import {
  type CallRequested,
  decode,
  encode,
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
  type WireFrame,
} from "@alkdev/operations/transport";

/** Limits of one frame at both ends. */
export const limits = { maxMessage: 64 * 1024, jsonDepth: 100 };

/** One end of a line between two peers: a `MessagePort`, which carries strings in order. */
export class LineTransport implements Transport {
  readonly name = "line";
  /** The peer at the other end is known, so it is the only one that can reply, and it knows who calls. */
  readonly capabilities = { authenticatesReplies: true, carriesIdentity: true };
  readonly #port: MessagePort;
  readonly #caller: Identity | undefined;
  readonly #peerId = crypto.randomUUID();
  readonly #pending = new Map<string, (frame: ReplyFrame) => void>();
  readonly #served = new Map<string, SendFollowUp>();
  readonly #servers = new Map<string, OnRequest>();
  readonly #watchers = new Set<(event: PeerEvent) => void>();
  #announced: PeerEvent | undefined;
  #isClosed = false;

  /** @param caller who is at the other end, if this end has found that out */
  constructor(port: MessagePort, caller?: Identity) {
    this.#port = port;
    this.#caller = caller;
    port.onmessage = ({ data }) => this.#receive(data);
    port.addEventListener("close", () => void this.close(new Error("The line was cut")));
  }

  request(_operationId: string, frame: CallRequested, onReply: (frame: ReplyFrame) => void): SendFollowUp {
    const { requestId } = frame;
    if (this.#isClosed) throw transportClosed(this.name, { mayHaveRun: false });
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
    for (const id of operationIds) this.#servers.set(id, onRequest);
    return async (ids = operationIds) => {
      for (const id of ids) this.#servers.delete(id);
    };
  }

  async announce(specs: readonly OperationSpec[]): Promise<void> {
    if (this.#isClosed) throw transportClosed(this.name, { mayHaveRun: false });
    const peerId = this.#peerId;
    this.#send(specs.length === 0 ? { type: "peer.left", peerId } : { type: "peer.announced", peerId, specs });
  }

  watchPeers(listener: (event: PeerEvent) => void): () => void {
    this.#watchers.add(listener);
    if (this.#announced !== undefined) listener(this.#announced);
    return () => this.#watchers.delete(listener);
  }

  async close(reason?: Error): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#port.close(); // the other end receives an event
    const error = transportClosed(this.name, { mayHaveRun: true, cause: reason });
    for (const [requestId, onReply] of this.#pending) onReply(toFailedFrame(requestId, error));
    for (const [requestId, follow] of this.#served) follow({ type: "call.aborted", requestId, reason: error.message });
    if (this.#announced !== undefined) this.#notePeer({ type: "peer.left", peerId: this.#announced.peerId });
  }

  /** Throws a `CallError` when the frame cannot be sent. */
  #send(frame: WireFrame): void {
    if (!this.#isClosed) this.#port.postMessage(encode(frame, limits));
  }

  #receive(message: string): void {
    let frame: WireFrame;
    try {
      frame = decode(message, limits);
    } catch (error) {
      return void this.close(error as Error); // the reply to a call may be lost
    }
    switch (frame.type) {
      case "call.requested":
        return this.#serve(frame as CallRequested);
      case "call.credited":
      case "call.aborted": {
        const { requestId, type } = frame as { requestId: string; type: string };
        const follow = this.#served.get(requestId);
        if (type === "call.aborted") this.#served.delete(requestId);
        return follow?.(frame as Parameters<SendFollowUp>[0]);
      }
      case "peer.announced":
      case "peer.left":
        return this.#notePeer(frame as PeerEvent);
      default: {
        const reply = frame as ReplyFrame;
        const onReply = this.#pending.get(reply.requestId);
        if (isLastReply(reply)) this.#pending.delete(reply.requestId);
        onReply?.(reply);
      }
    }
  }

  #serve(frame: CallRequested): void {
    const { requestId, operationId, timeout } = frame;
    const onRequest = this.#servers.get(operationId);
    if (onRequest === undefined) {
      const message = `The peer on the line does not serve "${operationId}".`;
      const error = new CallError("OPERATION_NOT_FOUND", message, undefined, { mayHaveRun: false });
      return this.#send(toFailedFrame(requestId, error));
    }
    if (this.#served.has(requestId)) return;
    if (timeout !== undefined) frame.expiresAt = performance.now() + timeout;
    let hasEnded = false;
    const reply = (message: ReplyFrame) => {
      if (hasEnded || this.#isClosed) return;
      this.#send(message);
      hasEnded = isLastReply(message);
      if (hasEnded) this.#served.delete(requestId);
    };
    const follow = onRequest(frame, reply, this.#caller);
    if (this.#isClosed) follow({ type: "call.aborted", requestId });
    else if (!hasEnded) this.#served.set(requestId, follow);
  }

  #notePeer(event: PeerEvent): void {
    this.#announced = event.type === "peer.announced" ? event : undefined;
    for (const watcher of this.#watchers) watcher(event);
  }
}
// #endregion transport
