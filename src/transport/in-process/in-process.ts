import { createId } from "../../internal/request-id.ts";
import { nearestOperation, type OperationSpec, operationNotFound } from "../../operation/inside.ts";
import { type Linked, LinkedSet } from "../linked-set.ts";
import {
  type CallRequested,
  type FollowUp,
  isLastReply,
  type OnRequest,
  OpenCall,
  type PeerEvent,
  type ReplyFrame,
  type SendFollowUp,
  type StopServing,
  type Transport,
  type TransportCapabilities,
  toFailedFrame,
  transportClosed,
  type Unsubscribe,
} from "../transport.ts";
import { LocalPeerDirectory } from "./local-peer-directory.ts";

interface Server {
  readonly owner: InProcessTransport;
  readonly onRequest: OnRequest;
}

/** Connects in-process transports. */
export class InProcessBus {
  /** Open transports that have made a call. @internal */
  readonly callers = new Set<InProcessTransport>();
  /** Servers by operation. @internal */
  readonly servers = new Map<string, readonly Server[]>();
  /** Servers of all operations that no other server lists. @internal */
  unlisted: readonly Server[] = [];
  /** Peers that are connected. @internal */
  readonly peers = new LocalPeerDirectory();
  #turn = 0;

  /** Selects a server in round-robin order. @internal */
  pick(servers: readonly Server[]): Server | undefined {
    this.#turn = (this.#turn + 1) % servers.length;
    return servers[this.#turn];
  }
}

/**
 * Carries calls within one process. Frames are passed by reference. The identity of a call is trusted, as in `execute`.
 */
class InProcessTransport implements Transport, AsyncDisposable {
  readonly name = "in-process";
  readonly capabilities: TransportCapabilities = {
    staysInProcess: true,
    sharesObjects: true,
    authenticatesReplies: true,
  };
  readonly #bus: InProcessBus;
  readonly #peerId = createId();
  /** Lists of open calls over this transport: one per `PendingRequestMap`, and one for all other callers. */
  readonly #callLists = new Set<LinkedSet<Linked>>();
  readonly #guardedCalls = new LinkedSet<OpenCall>();
  /** The list of the latest call. Nearly all calls over one transport are in the same list. */
  #latestList: LinkedSet<Linked> | undefined = undefined;
  #isClosed = false;

  constructor(bus: InProcessBus) {
    this.#bus = bus;
  }

  request(operationId: string, frame: CallRequested, onReply: (frame: ReplyFrame) => void): SendFollowUp {
    if (this.#isClosed) throw transportClosed(this.name, { mayHaveRun: false });
    const bus = this.#bus;
    const servers = bus.servers.get(operationId) ?? bus.unlisted;
    const server = servers.length > 1 ? bus.pick(servers) : servers[0];
    if (server === undefined) {
      const hint = nearestOperation(operationId, bus.peers.specs(), frame.identity);
      throw operationNotFound(operationId, hint);
    }
    if (!(frame instanceof OpenCall)) return this.#requestGuarded(server, frame, onReply);
    frame.server = server.owner;
    if (frame.owner !== this.#latestList) this.#track(frame);
    return server.onRequest(frame, onReply, frame.identity);
  }

  async serve(operationIds: readonly string[], onRequest: OnRequest): Promise<StopServing> {
    this.#assertOpen();
    const own = { owner: this, onRequest };
    const { servers } = this.#bus;
    for (const id of operationIds) servers.set(id, [...(servers.get(id) ?? []), own]);
    return async (ids = operationIds) => {
      for (const id of ids) this.#withdraw(id, (server) => server === own);
    };
  }

  async serveUnlisted(onRequest: OnRequest): Promise<StopServing> {
    this.#assertOpen();
    const own = { owner: this, onRequest };
    const bus = this.#bus;
    bus.unlisted = [...bus.unlisted, own];
    return async () => {
      bus.unlisted = bus.unlisted.filter((server) => server !== own);
    };
  }

  async announce(specs: readonly OperationSpec[]): Promise<void> {
    this.#assertOpen();
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
    const calls = Array.from(bus.callers, (caller) => caller.#openCalls()).flat();
    const ownCalls = new Set(this.#openCalls());
    bus.callers.delete(this);
    const error = transportClosed(this.name, { mayHaveRun: true, cause: reason });
    for (const call of calls) {
      if (call.server !== this && !ownCalls.has(call)) continue;
      call.toServer?.({ type: "call.aborted", requestId: call.requestId, reason: error.message });
      call.receive(toFailedFrame(call.requestId, error));
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Forwards a request that was not made by a `PendingRequestMap`. */
  #requestGuarded(server: Server, frame: CallRequested, onReply: (frame: ReplyFrame) => void): SendFollowUp {
    const call = new GuardedCall(frame.requestId, onReply);
    call.server = server.owner;
    this.#guardedCalls.add(call);
    this.#track(call);
    call.toServer = server.onRequest(frame, (reply) => call.receive(reply), frame.identity);
    return (followUp) => call.follow(followUp);
  }

  /** Records the list that contains a call, so that the call fails when a transport is closed. */
  #track(call: OpenCall): void {
    if (call.owner === undefined) return;
    this.#latestList = call.owner;
    this.#callLists.add(call.owner);
    this.#bus.callers.add(this);
  }

  #openCalls(): OpenCall[] {
    return Array.from(this.#callLists, (list) => [...list] as OpenCall[]).flat();
  }

  #assertOpen(): void {
    if (this.#isClosed) throw transportClosed(this.name, { mayHaveRun: false });
  }

  #withdraw(id: string, isGone: (server: Server) => boolean): void {
    const left = this.#bus.servers.get(id)?.filter((server) => !isGone(server)) ?? [];
    if (left.length === 0) this.#bus.servers.delete(id);
    else this.#bus.servers.set(id, left);
  }
}

/** A call that forwards no frame after its end, in either direction. */
class GuardedCall extends OpenCall {
  readonly requestId: string;
  readonly #onReply: (frame: ReplyFrame) => void;
  #isOpen = true;

  constructor(requestId: string, onReply: (frame: ReplyFrame) => void) {
    super();
    this.requestId = requestId;
    this.#onReply = onReply;
    this.server = undefined;
    this.toServer = undefined;
  }

  receive(reply: ReplyFrame): void {
    if (!this.#isOpen) return;
    if (isLastReply(reply)) this.#end();
    this.#onReply(reply);
  }

  follow(followUp: FollowUp): void {
    if (!this.#isOpen) return;
    if (followUp.type === "call.aborted") this.#end();
    this.toServer?.(followUp);
  }

  #end(): void {
    this.#isOpen = false;
    this.unlink();
  }
}

/** Creates a transport within this process. Transports that share a bus can reach each other. @default a new bus */
export function createInProcessTransport(bus: InProcessBus = new InProcessBus()): Transport & AsyncDisposable {
  return new InProcessTransport(bus);
}
