// #region transport
import { CallError, type OperationSpec } from "@alkdev/operations";
import {
  type CallRequested,
  isLastReply,
  type OnRequest,
  type PeerAnnounced,
  type PeerEvent,
  type ReplyFrame,
  type SendFollowUp,
  type StopServing,
  type Transport,
  toFailedFrame,
  transportClosed,
} from "@alkdev/operations/transport";

interface OpenCall {
  readonly caller: RoomTransport;
  readonly server: RoomTransport;
  /** Ends the call and notifies both ends. */
  fail(error: CallError): void;
}

/** Connects the transports of one process. */
export class Room {
  readonly transports = new Set<RoomTransport>();
  readonly openCalls = new Set<OpenCall>();
  readonly announced = new Map<RoomTransport, PeerAnnounced>();
  turn = 0;
}

/** Carries calls inside one process, and hands every object over by reference. */
export class RoomTransport implements Transport {
  readonly name = "room";
  readonly capabilities = { sharesObjects: true, authenticatesReplies: true };
  readonly #room: Room;
  readonly #peerId = crypto.randomUUID();
  readonly #servers = new Map<string, OnRequest>();
  readonly #watchers = new Set<(event: PeerEvent) => void>();

  constructor(room: Room) {
    this.#room = room;
    room.transports.add(this);
  }

  request(operationId: string, frame: CallRequested, onReply: (frame: ReplyFrame) => void): SendFollowUp {
    const { transports, openCalls } = this.#room;
    if (!transports.has(this)) throw transportClosed(this.name, { mayHaveRun: false });
    const servers = [...transports].filter((transport) => transport.#servers.has(operationId));
    const server = servers[this.#room.turn++ % servers.length];
    if (server === undefined) {
      const message = `No peer in the room serves "${operationId}".`;
      throw new CallError("OPERATION_NOT_FOUND", message, undefined, { mayHaveRun: false });
    }
    let toServer: SendFollowUp | undefined;
    const call: OpenCall = {
      caller: this,
      server,
      fail(error) {
        const { requestId } = frame;
        openCalls.delete(call);
        toServer?.({ type: "call.aborted", requestId, reason: error.message });
        onReply(toFailedFrame(requestId, error));
      },
    };
    openCalls.add(call);
    const reply = (message: ReplyFrame) => {
      if (!openCalls.has(call)) return; // it has ended
      if (isLastReply(message)) openCalls.delete(call);
      onReply(message);
    };
    toServer = server.#servers.get(operationId)!(frame, reply, frame.identity);
    return (followUp) => {
      if (!openCalls.has(call)) return;
      if (followUp.type === "call.aborted") openCalls.delete(call);
      toServer?.(followUp);
    };
  }

  async serve(operationIds: readonly string[], onRequest: OnRequest): Promise<StopServing> {
    for (const id of operationIds) this.#servers.set(id, onRequest);
    return async (ids = operationIds) => {
      for (const id of ids) this.#servers.delete(id);
    };
  }

  async announce(specs: readonly OperationSpec[]): Promise<void> {
    const { announced, transports } = this.#room;
    if (!transports.has(this)) throw transportClosed(this.name, { mayHaveRun: false });
    const peerId = this.#peerId;
    const event: PeerEvent =
      specs.length === 0 ? { type: "peer.left", peerId } : { type: "peer.announced", peerId, specs };
    if (event.type === "peer.announced") announced.set(this, event);
    else if (!announced.delete(this)) return;
    for (const transport of transports) {
      if (transport !== this) for (const watcher of transport.#watchers) watcher(event);
    }
  }

  watchPeers(listener: (event: PeerEvent) => void): () => void {
    this.#watchers.add(listener);
    for (const [transport, event] of this.#room.announced) if (transport !== this) listener(event);
    return () => this.#watchers.delete(listener);
  }

  async close(reason?: Error): Promise<void> {
    const room = this.#room;
    if (!room.transports.has(this)) return;
    await this.announce([]);
    room.transports.delete(this);
    const error = transportClosed(this.name, { mayHaveRun: true, cause: reason });
    for (const call of [...room.openCalls]) {
      if (call.caller === this || call.server === this) call.fail(error);
    }
  }
}
// #endregion transport
