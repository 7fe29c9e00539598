import { clientLogger } from "../../internal/client-log.ts";
import { Emitter } from "../../internal/emitter.ts";
import { nextRequestId } from "../../internal/request-id.ts";
import { settlesWithin } from "../../internal/wait.ts";
import {
  CallError,
  formatOperationId,
  nearestOperation,
  notServedNow,
  type OperationSpec,
  operationNotFound,
} from "../../operation/inside.ts";
import type { WireFrame } from "../codec/index.ts";
import {
  type CallRequested,
  type OnRequest,
  type PeerAnnounced,
  type PeerEvent,
  type StopServing,
  toFailedFrame,
  type Unsubscribe,
} from "../transport.ts";
import { ClockSync, PeerClock } from "./clock-sync.ts";
import type { Connection } from "./connection.ts";
import { IncomingCalls } from "./incoming-calls.ts";
import { PeerDirectory } from "./peer-directory.ts";
import type { PeerQuestions } from "./peer-questions.ts";

const log = clientLogger("transport", "peer");

/** Maximum time, in ms, to wait until peers have handled the frames that were sent to them. */
const maxSyncMs = 1_000;
/** Maximum time, in ms, in which a peer whose connection was lost may return. */
const restartMs = 15_000;

/** The transport that a {@link ServingPeer} belongs to. */
interface ServingTransport {
  readonly name: string;
  readonly peerId: string;
  /** The open connections. */
  readonly peers: ReadonlySet<Connection>;
}

/**
 * The part of a transport that serves operations to remote peers, and keeps what they announce. A transport that only
 * makes calls omits it to reduce the size of clients.
 */
export class ServingPeer {
  /** Reports that the link to a server was lost, with the error, or restored. */
  readonly links = new Emitter<Error | undefined>((error) => log.error("A link listener failed: {error}", { error }));
  readonly #transport: ServingTransport;
  readonly #servers = new Map<string, OnRequest>();
  readonly #directory = new PeerDirectory<Connection>({ now: () => performance.now(), duration: restartMs });
  #specs: readonly OperationSpec[] = [];
  #hasServed = false;

  constructor(transport: ServingTransport) {
    this.#transport = transport;
  }

  /** Creates the list of the calls that run here for a remote peer. */
  createCalls(connection: Connection, questions: PeerQuestions): IncomingCalls {
    const sync = new ClockSync(
      questions,
      (_clock, question, calls) => connection.ask(question, calls),
      () => connection.maxMessage,
    );
    return new IncomingCalls(connection, new PeerClock(), sync);
  }

  /** Sends a new peer the operations that are served here. */
  introduce(connection: Connection): void {
    if (isRestricted(connection)) this.#sendShown(connection);
    else if (this.#servers.size > 0) {
      this.#send(connection, { type: "link.serves", operationIds: [...this.#servers.keys()] });
    }
    if (this.#specs.length > 0) this.#send(connection, this.#announcement(connection));
  }

  async serve(operationIds: readonly string[], onRequest: OnRequest): Promise<StopServing> {
    for (const id of operationIds) this.#servers.set(id, onRequest);
    this.#hasServed = true;
    await this.#sendAll((connection) => {
      // The specs, which decide what a restricted peer may see, are announced later.
      if (!isRestricted(connection)) this.#send(connection, { type: "link.serves", operationIds });
    });
    return async (ids = operationIds) => {
      const stopped = ids.filter((id) => this.#servers.get(id) === onRequest);
      for (const id of stopped) this.#servers.delete(id);
      await this.#sendAll((connection) => {
        if (isRestricted(connection)) this.#sendShown(connection);
        else this.#send(connection, { type: "link.stopped", operationIds: stopped });
      });
    };
  }

  async announce(specs: readonly OperationSpec[]): Promise<void> {
    this.#specs = specs;
    await this.#sendAll((connection) => {
      if (isRestricted(connection)) this.#sendShown(connection);
      this.#send(connection, this.#announcement(connection));
    });
  }

  /** Runs a request of a remote peer. */
  run(connection: Connection, incoming: IncomingCalls, frame: CallRequested): void {
    const { requestId, operationId } = frame;
    if (incoming.get(requestId) !== undefined) return;
    const onRequest = this.#servers.get(operationId);
    if (!connection.options.passesIdentity) delete frame.identity;
    const call = onRequest === undefined ? this.#notServed(operationId, connection) : incoming.accept(frame);
    if (call instanceof CallError) connection.send(toFailedFrame(requestId, call));
    else incoming.run(call, onRequest!);
  }

  watch(listener: (event: PeerEvent) => void): Unsubscribe {
    return this.#directory.watch(listener);
  }

  onAnnounced(connection: Connection, { specs }: PeerAnnounced): void {
    const peerId = this.#directory.get(connection)?.peerId ?? this.#toUniqueId(connection.peerId);
    this.#directory.set(connection, { type: "peer.announced", peerId, specs });
  }

  /** @param isReplaced whether the announcement stays, because another connection will replace the lost one */
  onLost(connection: Connection, isReplaced: boolean): void {
    for (const id of connection.operationIds) this.#directory.noteServed(id);
    if (!isReplaced) this.#directory.delete(connection);
  }

  /** Moves the announcement of a lost connection to the one that replaces it. */
  replace(lost: Connection, connection: Connection): void {
    this.#directory.move(lost, connection);
  }

  /** Returns whether an operation that no peer serves was served recently. */
  mayReturn(operationId: string): boolean {
    return this.#directory.mayReturn(operationId);
  }

  /** Creates the error of a call for which no peer was found. */
  notFound(operationId: string): CallError {
    if (this.mayReturn(operationId)) return notServedNow(operationId);
    // Peers announce only the operations that this one may see.
    return operationNotFound(operationId, nearestOperation(operationId, this.#directory.specs(), "all"));
  }

  /** Waits until every peer has handled the frames that were sent to it, unless it is starting or paused. */
  async sync(): Promise<void> {
    const { peers } = this.#transport;
    if (peers.size === 0) return;
    await settlesWithin(maxSyncMs, Promise.all(Array.from(peers, (connection) => connection.sync())));
  }

  close(): void {
    for (const connection of this.#directory.keys()) this.#directory.delete(connection);
    this.#servers.clear();
  }

  #notServed(operationId: string, connection: Connection): CallError {
    // A peer that has stopped serving all operations is shutting down, and may be replaced.
    if (this.#hasServed && this.#servers.size === 0) return notServedNow(operationId);
    const nearest = nearestOperation(operationId, this.#shown(connection), connection.identity);
    return operationNotFound(operationId, nearest);
  }

  /** Sends frames to every peer and waits until they have handled them, unless they are starting or paused. */
  async #sendAll(send: (connection: Connection) => void): Promise<void> {
    for (const connection of this.#transport.peers) send(connection);
    await this.sync();
  }

  /** Sends a peer that may not see every operation the changes of those that it may see. */
  #sendShown(connection: Connection): void {
    const ids = this.#shown(connection).map(({ namespace, name }) => formatOperationId(namespace, name));
    const before = connection.shownIds;
    const now = new Set(ids.filter((id) => this.#servers.has(id)));
    connection.shownIds = now;
    const stopped = [...before].filter((id) => !now.has(id));
    const started = [...now].filter((id) => !before.has(id));
    if (stopped.length > 0) this.#send(connection, { type: "link.stopped", operationIds: stopped });
    if (started.length > 0) this.#send(connection, { type: "link.serves", operationIds: started });
  }

  /** A frame that cannot be sent to one peer must still be sent to the others. */
  #send(connection: Connection, frame: WireFrame): void {
    try {
      connection.send(frame);
    } catch (error) {
      const { name: transport } = this.#transport;
      log.error("{transport}: The frame {type} cannot be sent to a peer: {error}", {
        transport,
        type: frame.type,
        error,
      });
    }
  }

  #announcement(connection: Connection): PeerAnnounced {
    return { type: "peer.announced", peerId: this.#transport.peerId, specs: this.#shown(connection) };
  }

  /** Returns the specs that a remote peer may see. */
  #shown({ options: { shows } }: Connection): readonly OperationSpec[] {
    return shows === undefined ? this.#specs : this.#specs.filter(shows);
  }

  /** Two peers with the same id must not be treated as one. */
  #toUniqueId(peerId: string): string {
    const isTaken = peerId === "" || peerId === this.#transport.peerId || this.#directory.hasPeerId(peerId);
    return isTaken ? nextRequestId() : peerId;
  }
}

/** Returns whether a remote peer may see only some of the operations. */
function isRestricted({ options }: Connection): boolean {
  return options.shows !== undefined;
}
