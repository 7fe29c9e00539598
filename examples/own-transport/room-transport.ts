// #region transport
import { CallError, type OperationSpec } from "@alkdev/operations";
import {
  type CallRequested,
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
import { PeerList } from "./peer-list.ts";

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
  readonly peers = new PeerList();
  turn = 0;
}

/** Carries calls inside one process, and hands every object over by reference. */
export class RoomTransport implements Transport {
  readonly name = "room";
  readonly capabilities = { sharesObjects: true, authenticatesReplies: true };
  readonly #room: Room;
  readonly #peerId = crypto.randomUUID();
  readonly #servers = new Map<string, OnRequest>();

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
    if (!this.#room.transports.has(this)) throw transportClosed(this.name, { mayHaveRun: false });
    this.#room.peers.announce(this.#peerId, specs);
  }

  watchPeers(listener: (event: PeerEvent) => void): () => void {
    return this.#room.peers.watch(this.#peerId, listener);
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
