// #region transport
import type { OperationSpec } from "@alkdev/operations";
import {
  type CallRequested,
  type Frame,
  isLastReply,
  type OnRequest,
  type PeerEvent,
  type ReplyFrame,
  type SendFollowUp,
  type StopServing,
  type Transport,
  toFailedFrame,
  transportClosed,
} from "@alkdev/operations/transport";

/** A frame with its sender and receiver. */
interface Message {
  from: string;
  to: string;
  frame: Frame;
}

/** Two ends of one line. Frames are copied, as on a real wire. */
export class LineTransport implements Transport {
  readonly name = "line";
  readonly #line: BroadcastChannel;
  readonly #self: string;
  readonly #other: string;
  readonly #pending = new Map<string, (frame: ReplyFrame) => void>();
  readonly #served = new Map<string, SendFollowUp>();
  readonly #servers = new Map<string, OnRequest>();
  #isClosed = false;

  constructor(line: string, self: string, other: string) {
    this.#self = self;
    this.#other = other;
    this.#line = new BroadcastChannel(line);
    this.#line.onmessage = ({ data }) => this.#receive(data as Message);
  }

  request(_operationId: string, frame: CallRequested, onReply: (frame: ReplyFrame) => void): SendFollowUp {
    if (this.#isClosed) throw transportClosed(this.name, { mayHaveRun: false });
    const { requestId } = frame;
    this.#pending.set(requestId, onReply);
    this.#send(frame);
    return (followUp) => {
      if (!this.#pending.has(requestId)) return;
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

  async announce(_specs: readonly OperationSpec[]): Promise<void> {}

  watchPeers(_listener: (event: PeerEvent) => void): () => void {
    return () => {};
  }

  async close(reason?: Error): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const error = transportClosed(this.name, { mayHaveRun: true, cause: reason });
    for (const [requestId, onReply] of this.#pending) onReply(toFailedFrame(requestId, error));
    for (const [requestId, follow] of this.#served) follow({ type: "call.aborted", requestId });
    this.#line.close();
  }

  #send(frame: Frame): void {
    if (!this.#isClosed) this.#line.postMessage({ from: this.#self, to: this.#other, frame } satisfies Message);
  }

  #receive({ from, to, frame }: Message): void {
    if (to !== this.#self || from !== this.#other) return;
    const { requestId } = frame;
    switch (frame.type) {
      case "call.requested":
        return this.#serve(frame);
      case "call.credited":
      case "call.aborted":
        this.#served.get(requestId)?.(frame);
        if (frame.type === "call.aborted") this.#served.delete(requestId);
        return;
      default:
        this.#pending.get(requestId)?.(frame);
        if (isLastReply(frame)) this.#pending.delete(requestId);
    }
  }

  #serve(frame: CallRequested): void {
    const onRequest = this.#servers.get(frame.operationId);
    if (onRequest === undefined) return; // another peer may serve it
    let hasEnded = false;
    const follow = onRequest(frame, (reply) => {
      if (hasEnded) return;
      hasEnded = isLastReply(reply);
      if (hasEnded) this.#served.delete(frame.requestId);
      this.#send(reply);
    });
    if (!hasEnded) this.#served.set(frame.requestId, follow);
  }
}
// #endregion transport
