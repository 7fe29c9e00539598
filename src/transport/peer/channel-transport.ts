import { clientLogger } from "../../internal/client-log.ts";
import { monotonicNow } from "../../internal/deadlines.ts";
import { nextRequestId } from "../../internal/request-id.ts";
import { settlesWithin } from "../../internal/wait.ts";
import {
  type CallError,
  formatOperationId,
  notServedNow,
  type OperationSpec,
  operationNotFound,
  unavailable,
} from "../../operation/index.ts";
import { type WireFrame, wireVersion } from "../codec/index.ts";
import {
  type CallRequested,
  type OnRequest,
  type PeerAnnounced,
  type PeerEvent,
  type ReplyFrame,
  type SendFollowUp,
  type StopServing,
  type Transport,
  type TransportCapabilities,
  transportClosed,
  type Unsubscribe,
} from "../transport.ts";
import { type Channel, Connection, type ConnectionOptions, type ConnectionOwner } from "./connection.ts";
import type { servingParts } from "./incoming-calls.ts";
import { PeerDirectory } from "./peer-directory.ts";

const log = clientLogger("transport", "peer");

/** Maximum time, in ms, to wait until peers have handled the frames that were sent to them. */
const maxSyncMs = 1_000;
/** Maximum time, in ms, in which a peer whose connection was lost may return. */
const restartMs = 15_000;

/**
 * A transport over a changing number of connections, such as that of a port or those of a worker pool or a server. Of
 * the peers that serve an operation, the one with the fewest pending calls receives the request.
 */
export class ChannelTransport implements Transport, ConnectionOwner {
  readonly name: string;
  /** A reply is accepted only on the connection that its request was sent on. */
  readonly capabilities: TransportCapabilities = { authenticatesReplies: true };
  readonly servers = new Map<string, OnRequest>();
  readonly serving: typeof servingParts | undefined;
  readonly #peerId = nextRequestId();
  readonly #connections = new Set<Connection>();
  readonly #directory = new PeerDirectory<Connection>({ now: monotonicNow, duration: restartMs });
  #specs: readonly OperationSpec[] = [];
  #hasServed = false;
  #isClosed = false;

  /** @param serving absent when the transport only makes calls; `OPERATION_NOT_FOUND` then has no suggestion */
  constructor(name: string, serving?: typeof servingParts) {
    this.name = name;
    this.serving = serving;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The open connections. */
  get peers(): ReadonlySet<Connection> {
    return this.#connections;
  }

  /** Adds a channel and introduces this peer. The caller passes the channel's messages to `receive` of the result. */
  attach(channel: Channel, options: ConnectionOptions): Connection {
    const connection = new Connection(this, channel, options);
    this.#connections.add(connection);
    const { limits, maxReceived: maxMessage = limits.maxMessage } = options;
    connection.send({ type: "link.opened", version: wireVersion, peerId: this.#peerId, maxMessage });
    connection.ping();
    if (connection.isRestricted) this.#sendShown(connection);
    else if (this.servers.size > 0) {
      this.#send(connection, { type: "link.serves", operationIds: [...this.servers.keys()] });
    }
    if (this.#specs.length > 0) this.#send(connection, this.#announcement(connection));
    return connection;
  }

  request(operationId: string, frame: CallRequested, onReply: (frame: ReplyFrame) => void): SendFollowUp {
    let best: Connection | undefined;
    for (const connection of this.#connections) {
      if (!connection.operationIds.has(operationId) && !this.#isOnlyServer(connection)) continue;
      if (best === undefined || connection.pending < best.pending) best = connection;
    }
    if (best === undefined) throw this.#notFound(operationId);
    if (this.#connections.size > 1) {
      // If several peers have equally many calls, the first is chosen, so the chosen one moves to the end.
      this.#connections.delete(best);
      this.#connections.add(best);
    }
    return best.request(frame, onReply);
  }

  async serve(operationIds: readonly string[], onRequest: OnRequest): Promise<StopServing> {
    this.#assertOpen();
    if (this.serving === undefined)
      throw new TypeError("This transport only makes calls, and cannot serve operations.");
    for (const id of operationIds) this.servers.set(id, onRequest);
    this.#hasServed = true;
    await this.#sendAll((connection) => {
      // The specs, which decide what a restricted peer may see, are announced later.
      if (!connection.isRestricted) this.#send(connection, { type: "link.serves", operationIds });
    });
    return async (ids = operationIds) => {
      const stopped = ids.filter((id) => this.servers.get(id) === onRequest);
      for (const id of stopped) this.servers.delete(id);
      await this.#sendAll((connection) => {
        if (connection.isRestricted) this.#sendShown(connection);
        else this.#send(connection, { type: "link.stopped", operationIds: stopped });
      });
    };
  }

  async announce(specs: readonly OperationSpec[]): Promise<void> {
    this.#assertOpen();
    this.#specs = specs;
    await this.#sendAll((connection) => {
      if (connection.isRestricted) this.#sendShown(connection);
      this.#send(connection, this.#announcement(connection));
    });
  }

  watchPeers(listener: (event: PeerEvent) => void): Unsubscribe {
    return this.#directory.watch(listener);
  }

  /** A peer's reply to `sync` arrives after the operations that it announced when it connected. */
  async whenPeersKnown(): Promise<void> {
    await this.#sync();
  }

  async close(reason?: Error): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const connection of [...this.#connections]) connection.close(reason);
    for (const connection of this.#directory.keys()) this.#directory.delete(connection);
    this.servers.clear();
  }

  isIncomplete(operationId: string): boolean {
    return this.lacksConnections() || this.#directory.mayReturn(operationId);
  }

  notServed(operationId: string, connection: Connection): CallError {
    // A peer that has stopped serving all operations is shutting down, and may be replaced.
    if (this.#hasServed && this.servers.size === 0) return notServedNow(operationId);
    const shown = connection.shown(this.#specs);
    return operationNotFound(operationId, this.serving?.nearestOperation(operationId, shown, connection.identity));
  }

  /** Returns whether an expected connection is missing. */
  protected lacksConnections(): boolean {
    return false;
  }

  /** Whether a lost connection will be replaced. Until then, the operations that its peer announced stay. */
  protected get replacesConnections(): boolean {
    return false;
  }

  /** Replaces a lost connection. The peer counts as the same. */
  protected replace(lost: Connection, connection: Connection): void {
    this.#directory.move(lost, connection);
  }

  onAnnounced(connection: Connection, { specs }: PeerAnnounced): void {
    const peerId = this.#directory.get(connection)?.peerId ?? this.#toUniqueId(connection.peerId);
    this.#directory.set(connection, { type: "peer.announced", peerId, specs });
  }

  /** Called once for every connection, even while closing. `error` is absent when this peer closed the connection. */
  onLost(connection: Connection, _error: Error | undefined): void {
    this.#connections.delete(connection);
    for (const id of connection.operationIds) this.#directory.noteServed(id);
    if (this.#isClosed || !this.replacesConnections) this.#directory.delete(connection);
  }

  /** A single peer receives every request, and replies with an error when it does not serve the operation. */
  #isOnlyServer(connection: Connection): boolean {
    return this.#connections.size === 1 && connection.acceptsOperations && !this.lacksConnections();
  }

  #notFound(operationId: string): CallError {
    if (this.#isClosed) return transportClosed(this.name, { mayHaveRun: false });
    if (this.#connections.size === 0 || this.lacksConnections()) {
      return unavailable(`The peer of the ${this.name} transport is not available.`, { mayHaveRun: false });
    }
    if (this.#directory.mayReturn(operationId)) return notServedNow(operationId);
    // Peers announce only the operations that this one may see.
    return operationNotFound(operationId, this.serving?.nearestOperation(operationId, this.#directory.specs(), "all"));
  }

  /** Sends frames to every peer and waits until they have handled them, unless they are starting or paused. */
  async #sendAll(send: (connection: Connection) => void): Promise<void> {
    for (const connection of this.#connections) send(connection);
    await this.#sync();
  }

  /** Sends a peer that may not see every operation the changes of those that it may see. */
  #sendShown(connection: Connection): void {
    const ids = connection.shown(this.#specs).map(({ namespace, name }) => formatOperationId(namespace, name));
    const before = connection.shownIds;
    const now = new Set(ids.filter((id) => this.servers.has(id)));
    connection.shownIds = now;
    const stopped = [...before].filter((id) => !now.has(id));
    const started = [...now].filter((id) => !before.has(id));
    if (stopped.length > 0) this.#send(connection, { type: "link.stopped", operationIds: stopped });
    if (started.length > 0) this.#send(connection, { type: "link.serves", operationIds: started });
  }

  /** Waits until every peer has handled the frames that were sent to it, unless it is starting or paused. */
  async #sync(): Promise<void> {
    if (this.#connections.size === 0) return;
    await settlesWithin(maxSyncMs, Promise.all(Array.from(this.#connections, (connection) => connection.sync())));
  }

  /** A frame that cannot be sent to one peer must still be sent to the others. */
  #send(connection: Connection, frame: WireFrame): void {
    try {
      connection.send(frame);
    } catch (error) {
      const { name: transport } = this;
      log.error("{transport}: {type} cannot be sent to a peer: {error}", { transport, type: frame.type, error });
    }
  }

  #announcement(connection: Connection): PeerAnnounced {
    return { type: "peer.announced", peerId: this.#peerId, specs: connection.shown(this.#specs) };
  }

  /** Two peers with the same id must not be treated as one. */
  #toUniqueId(peerId: string): string {
    const isTaken = peerId === "" || peerId === this.#peerId || this.#directory.hasPeerId(peerId);
    return isTaken ? nextRequestId() : peerId;
  }

  #assertOpen(): void {
    if (this.#isClosed) throw transportClosed(this.name, { mayHaveRun: false });
  }
}
