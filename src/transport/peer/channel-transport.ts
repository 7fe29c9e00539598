import { nextRequestId } from "../../internal/request-id.ts";
import { type CallError, type OperationSpec, operationNotFound, unavailable } from "../../operation/inside.ts";
import { wireVersion } from "../codec/index.ts";
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
import type { ServingPeer } from "./serving-peer.ts";

/**
 * A transport over a changing number of connections, such as that of a port or those of a worker pool or a server. Of
 * the peers that serve an operation, the one with the fewest pending calls receives the request.
 */
export class ChannelTransport implements Transport, AsyncDisposable, ConnectionOwner {
  readonly name: string;
  /** A reply is accepted only on the connection that its request was sent on. */
  readonly capabilities: TransportCapabilities = { authenticatesReplies: true };
  readonly peerId: string = nextRequestId();
  readonly serving: ServingPeer | undefined;
  readonly #connections = new Set<Connection>();
  #isClosed = false;

  /** @param Serving absent when the transport only makes calls; `OPERATION_NOT_FOUND` then has no suggestion */
  constructor(name: string, Serving?: typeof ServingPeer) {
    this.name = name;
    this.serving = Serving && new Serving(this);
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
    connection.send({ type: "link.opened", version: wireVersion, peerId: this.peerId, maxMessage });
    connection.ping();
    this.serving?.introduce(connection);
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
    return this.#requireOpen().serve(operationIds, onRequest);
  }

  async announce(specs: readonly OperationSpec[]): Promise<void> {
    await this.#requireOpen().announce(specs);
  }

  watchPeers(listener: (event: PeerEvent) => void): Unsubscribe {
    return this.requireServing().watch(listener);
  }

  /** A peer's reply to `sync` arrives after the operations that it announced when it connected. */
  async whenPeersKnown(): Promise<void> {
    await this.requireServing().sync();
  }

  async close(reason?: Error): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const connection of [...this.#connections]) connection.close(reason);
    this.serving?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  isIncomplete(operationId: string): boolean {
    return this.lacksConnections() || this.serving?.mayReturn(operationId) === true;
  }

  /** Returns whether an expected connection is missing. */
  protected lacksConnections(): boolean {
    return false;
  }

  /** Whether a lost connection will be replaced. Until then, the operations that its peer announced stay. */
  protected get replacesConnections(): boolean {
    return false;
  }

  /** Throws a `TypeError` if this transport only makes calls. */
  protected requireServing(): ServingPeer {
    if (this.serving !== undefined) return this.serving;
    throw new TypeError("This transport only makes calls, and cannot serve operations.");
  }

  onAnnounced(connection: Connection, event: PeerAnnounced): void {
    this.serving?.onAnnounced(connection, event);
  }

  /** Called once for every connection, even while closing. `error` is absent when this peer closed the connection. */
  onLost(connection: Connection, _error: Error | undefined): void {
    this.#connections.delete(connection);
    this.serving?.onLost(connection, this.replacesConnections && !this.#isClosed);
  }

  /** A single peer receives every request, and replies with an error when it does not serve the operation. */
  #isOnlyServer(connection: Connection): boolean {
    return this.#connections.size === 1 && connection.options.acceptsOperations && !this.lacksConnections();
  }

  #notFound(operationId: string): CallError {
    if (this.#isClosed) return transportClosed(this.name, { mayHaveRun: false });
    if (this.#connections.size === 0 || this.lacksConnections()) {
      return unavailable(`The peer of the ${this.name} transport is not available.`, { mayHaveRun: false });
    }
    return this.serving?.notFound(operationId) ?? operationNotFound(operationId);
  }

  #requireOpen(): ServingPeer {
    if (this.#isClosed) throw transportClosed(this.name, { mayHaveRun: false });
    return this.requireServing();
  }
}
