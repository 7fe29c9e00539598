import { LinkedSet } from "../../internal/linked-set.ts";
import { nextRequestId } from "../../internal/request-id.ts";
import { nearestOperation, type OperationSpec, operationNotFound } from "../../operation/index.ts";
import type {
  CallRequested,
  OnRequest,
  PeerEvent,
  ReplyFrame,
  SendFollowUp,
  StopServing,
  Transport,
  TransportCapabilities,
  Unsubscribe,
} from "../transport.ts";
import { transportClosed } from "../transport.ts";
import { cut, guardFrames } from "./guard-frames.ts";
import { LocalRequest } from "./local-request.ts";
import { PeerBoard } from "./peer-board.ts";

interface Server {
  readonly owner: InProcessTransport;
  readonly onRequest: OnRequest;
}

/** Where in-process transports meet. */
export class InProcessBus {
  /** @internal */
  readonly servers = new Map<string, readonly Server[]>();
  /** Servers of every operation that no other server names. @internal */
  unlisted: readonly Server[] = [];
  /** @internal */
  readonly peers = new PeerBoard();
  /** Calls that have not ended. @internal */
  readonly open = new LinkedSet<LocalRequest>();
  #turn = 0;

  /** One of those who serve an operation, in turn. @internal */
  pick(operationId: string): Server | undefined {
    const servers = this.servers.get(operationId) ?? this.unlisted;
    if (servers.length <= 1) return servers[0];
    this.#turn = (this.#turn + 1) % servers.length;
    return servers[this.#turn];
  }
}

/**
 * Carries calls between parts of one process. Frames are handed over as they are: nothing is copied, and the identity
 * that a caller gives is believed, as `execute` believes it.
 */
export class InProcessTransport implements Transport {
  readonly name = "in-process";
  readonly capabilities: TransportCapabilities = { staysInProcess: true, authenticatesReplies: true };
  readonly #bus: InProcessBus;
  readonly #peerId = nextRequestId();
  #isClosed = false;

  constructor(bus: InProcessBus) {
    this.#bus = bus;
  }

  request(operationId: string, frame: CallRequested, onReply: (frame: ReplyFrame) => void): SendFollowUp {
    if (this.#isClosed) throw transportClosed(this.name, { mayHaveRun: false });
    const server = this.#bus.pick(operationId);
    if (server === undefined) {
      const hint = nearestOperation(operationId, this.#bus.peers.specs(), frame.identity);
      throw operationNotFound(operationId, hint);
    }
    if (frame instanceof LocalRequest) return this.#connect(server, frame, server.onRequest, onReply);
    const own = guardFrames(frame, onReply, server.onRequest);
    return this.#connect(server, own.request, own.onRequest, own.onReply);
  }

  async serve(operationIds: readonly string[], onRequest: OnRequest): Promise<StopServing> {
    if (this.#isClosed) throw transportClosed(this.name, { mayHaveRun: false });
    const own = { owner: this, onRequest };
    const { servers } = this.#bus;
    for (const id of operationIds) servers.set(id, [...(servers.get(id) ?? []), own]);
    return async (ids = operationIds) => {
      for (const id of ids) this.#withdraw(id, (server) => server === own);
    };
  }

  async serveUnlisted(onRequest: OnRequest): Promise<StopServing> {
    if (this.#isClosed) throw transportClosed(this.name, { mayHaveRun: false });
    const own = { owner: this, onRequest };
    const bus = this.#bus;
    bus.unlisted = [...bus.unlisted, own];
    return async () => {
      bus.unlisted = bus.unlisted.filter((server) => server !== own);
    };
  }

  async announce(specs: readonly OperationSpec[]): Promise<void> {
    if (this.#isClosed) throw transportClosed(this.name, { mayHaveRun: false });
    this.#bus.peers.announce(this.#peerId, specs);
  }

  watchPeers(listener: (event: PeerEvent) => void): Unsubscribe {
    return this.#bus.peers.watch(this.#peerId, listener);
  }

  async close(reason?: Error): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const bus = this.#bus;
    for (const id of [...bus.servers.keys()]) this.#withdraw(id, ({ owner }) => owner === this);
    bus.unlisted = bus.unlisted.filter(({ owner }) => owner !== this);
    bus.peers.leave(this.#peerId);
    const error = transportClosed(this.name, { mayHaveRun: true, cause: reason });
    const own = [...bus.open].filter(({ asker, server }) => asker === this || server === this);
    for (const request of own) cut(request, error);
  }

  /** The calls that were asked here and have not ended. */
  asked(): LocalRequest[] {
    return [...this.#bus.open].filter(({ asker }) => asker === this);
  }

  #connect(
    { owner }: Server,
    request: LocalRequest,
    onRequest: OnRequest,
    onReply: (frame: ReplyFrame) => void,
  ): SendFollowUp {
    request.asker = this;
    request.server = owner;
    request.onReply = onReply;
    this.#bus.open.add(request);
    const toServer = onRequest(request, onReply, request.identity);
    request.toServer = toServer;
    return toServer;
  }

  #withdraw(id: string, isGone: (server: Server) => boolean): void {
    const left = this.#bus.servers.get(id)?.filter((server) => !isGone(server)) ?? [];
    if (left.length === 0) this.#bus.servers.delete(id);
    else this.#bus.servers.set(id, left);
  }
}

/** A transport inside this process. Those that share a bus reach each other. @default a bus of its own */
export function createInProcessTransport(bus: InProcessBus = new InProcessBus()): Transport {
  return new InProcessTransport(bus);
}
