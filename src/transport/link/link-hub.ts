import { monotonicNow } from "../../internal/deadlines.ts";
import { Emitter } from "../../internal/emitter.ts";
import { logger } from "../../internal/log.ts";
import { RecentOperations } from "../../internal/recent-operations.ts";
import { nextRequestId } from "../../internal/request-id.ts";
import {
  type CallError,
  nearestOperation,
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
import type { Channel } from "./channel.ts";
import { Link, type LinkOwner } from "./link.ts";
import type { LinkOptions } from "./options.ts";

const log = logger("transport", "link");

/** In ms. */
const longestSync = 1_000;
/** In ms: how long a peer whose link was lost may take to come back. */
const restartMs = 15_000;

/** Tells a transport about its own links. */
export interface LinkHubEvents {
  /** The other side has introduced itself. */
  onOpened?(link: Link): void;
  /** The other side has said what it serves, or no longer serves. */
  onServing?(link: Link): void;
  /** Called once for every link, also while closing. `error` is absent when this side closed it. */
  onLost?(link: Link, error: Error | undefined): void;
}

/**
 * A transport over any number of links that may come and go: the one of a port, those of a pool of workers, those of
 * a server's connections. A request goes to one peer that serves it, the one with the least to do.
 */
export class LinkHub implements Transport, LinkOwner {
  readonly name: string;
  /** Replies count on the link that the request went out on. */
  readonly capabilities: TransportCapabilities = { authenticatesReplies: true };
  readonly #peerId = nextRequestId();
  readonly #events: LinkHubEvents;
  readonly #links = new Set<Link>();
  readonly #servers = new Map<string, OnRequest>();
  readonly #announced = new Map<Link, PeerAnnounced>();
  readonly #peerEvents = new Emitter<PeerEvent>((error) => log.error("a listener to peers failed: {error}", { error }));
  /** What peers served whose links were lost. */
  readonly #departed = new RecentOperations(restartMs);
  #specs: readonly OperationSpec[] = [];
  #hasServed = false;
  #isClosed = false;

  constructor(name: string, events: LinkHubEvents = {}) {
    this.name = name;
    this.#events = events;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get links(): ReadonlySet<Link> {
    return this.#links;
  }

  /** Takes a channel in and introduces this side. The one who has the channel passes its messages to `receive`. */
  attach(channel: Channel, options: LinkOptions): Link {
    const link = new Link(this, channel, options);
    this.#links.add(link);
    link.send({
      type: "link.opened",
      version: wireVersion,
      peerId: this.#peerId,
      maxMessage: options.maxReceived,
    });
    link.ping();
    if (this.#servers.size > 0) this.#tell(link, { type: "link.serves", operationIds: [...this.#servers.keys()] });
    if (this.#specs.length > 0) this.#tell(link, this.#announcement(link));
    return link;
  }

  request(operationId: string, frame: CallRequested, onReply: (frame: ReplyFrame) => void): SendFollowUp {
    return this.#pick(operationId).request(frame, onReply);
  }

  async serve(operationIds: readonly string[], onRequest: OnRequest): Promise<StopServing> {
    this.#assertOpen();
    for (const id of operationIds) this.#servers.set(id, onRequest);
    this.#hasServed = true;
    await this.#tellAll({ type: "link.serves", operationIds });
    return async (ids = operationIds) => {
      const stopped = ids.filter((id) => this.#servers.get(id) === onRequest);
      for (const id of stopped) this.#servers.delete(id);
      await this.#tellAll({ type: "link.stopped", operationIds: stopped });
    };
  }

  async announce(specs: readonly OperationSpec[]): Promise<void> {
    this.#assertOpen();
    this.#specs = specs;
    for (const link of this.#links) this.#tell(link, this.#announcement(link));
    await this.#sync();
  }

  watchPeers(listener: (event: PeerEvent) => void): Unsubscribe {
    const stop = this.#peerEvents.on(listener);
    for (const event of this.#announced.values()) listener(event);
    return stop;
  }

  async close(reason?: Error): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const link of [...this.#links]) link.close(reason);
    for (const link of [...this.#announced.keys()]) this.#forget(link);
    this.#servers.clear();
  }

  findServer(operationId: string): OnRequest | undefined {
    return this.#servers.get(operationId);
  }

  isIncomplete(operationId: string): boolean {
    return this.lacksLinks() || this.#departed.has(operationId, monotonicNow());
  }

  notServed(operationId: string, link: Link): CallError {
    // A peer that serves nothing any more is about to end, and may be replaced.
    if (this.#hasServed && this.#servers.size === 0) return notServedNow(operationId);
    return operationNotFound(operationId, nearestOperation(operationId, link.shown(this.#specs), link.identity));
  }

  /** Whether a link that should be there is not. */
  protected lacksLinks(): boolean {
    return false;
  }

  /** Whether every peer that should be there is, so that what none of them serves can be said not to be there. */
  protected isComplete(): boolean {
    return this.#links.size > 0 && !this.lacksLinks();
  }

  /** Whether another link will come in the place of one that is lost; until then what it announced stands. */
  protected get replacesLinks(): boolean {
    return false;
  }

  /** Puts a link in the place of one that is lost. */
  protected replace(lost: Link, link: Link): void {
    const announced = this.#announced.get(lost);
    this.#announced.delete(lost);
    if (announced !== undefined) this.#announced.set(link, announced);
  }

  onOpened(link: Link): void {
    this.#events.onOpened?.(link);
  }

  onServing(link: Link): void {
    this.#events.onServing?.(link);
  }

  onAnnounced(link: Link, { specs }: PeerAnnounced): void {
    // A name that another peer has already must not make the two one.
    const peerId = this.#announced.get(link)?.peerId ?? this.#uniquePeerId(link.peerId);
    const event: PeerAnnounced = { type: "peer.announced", peerId, specs };
    this.#announced.set(link, event);
    this.#peerEvents.emit(event);
  }

  onLost(link: Link, error: Error | undefined): void {
    this.#links.delete(link);
    const now = monotonicNow();
    for (const id of link.operationIds) this.#departed.add(id, now);
    if (this.#isClosed || !this.replacesLinks) this.#forget(link);
    this.#events.onLost?.(link, error);
  }

  #forget(link: Link): void {
    const announced = this.#announced.get(link);
    this.#announced.delete(link);
    if (announced !== undefined) this.#peerEvents.emit({ type: "peer.left", peerId: announced.peerId });
  }

  #pick(operationId: string): Link {
    this.#assertOpen();
    let best: Link | undefined;
    // With one peer there is nothing to choose; it answers itself when it does not serve the operation.
    const isOnly = this.#links.size === 1 && this.isComplete();
    for (const link of this.#links) {
      if (!(isOnly && link.acceptsOperations) && !link.operationIds.has(operationId)) continue;
      if (best === undefined || link.pending < best.pending) best = link;
    }
    if (best !== undefined) {
      if (this.#links.size > 1) this.#moveToEnd(best);
      return best;
    }
    if (!this.isComplete()) throw unavailable(`The peer of the ${this.name} transport`, { mayHaveRun: false });
    if (this.isIncomplete(operationId)) throw notServedNow(operationId);
    throw operationNotFound(operationId, nearestOperation(operationId, this.#announcedSpecs(), "all"));
  }

  /** What the peers announce to this side is what it may see. */
  *#announcedSpecs(): Iterable<OperationSpec> {
    for (const { specs } of this.#announced.values()) yield* specs;
  }

  /** Of peers with equally much to do the first is asked: the one that was asked longest ago. */
  #moveToEnd(link: Link): void {
    this.#links.delete(link);
    this.#links.add(link);
  }

  /** Waits until peers know what they were told; for one that is still starting, or stands still, not for long. */
  async #sync(): Promise<void> {
    if (this.#links.size === 0) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, longestSync);
    });
    await Promise.race([Promise.all(Array.from(this.#links, (link) => link.sync())), late]);
    clearTimeout(timer);
  }

  /** Tells every peer. One that cannot be told keeps nobody else from hearing it. */
  async #tellAll(frame: WireFrame): Promise<void> {
    for (const link of this.#links) this.#tell(link, frame);
    await this.#sync();
  }

  #tell(link: Link, frame: WireFrame): void {
    try {
      link.send(frame);
    } catch (error) {
      log.error("{transport}: a peer cannot be told {type}: {error}", {
        transport: this.name,
        type: frame.type,
        error,
      });
    }
  }

  #announcement(link: Link): PeerAnnounced {
    return { type: "peer.announced", peerId: this.#peerId, specs: link.shown(this.#specs) };
  }

  #uniquePeerId(wanted: string): string {
    const isTaken = [...this.#announced.values()].some(({ peerId }) => peerId === wanted);
    return wanted === "" || wanted === this.#peerId || isTaken ? nextRequestId() : wanted;
  }

  #assertOpen(): void {
    if (this.#isClosed) throw transportClosed(this.name, { mayHaveRun: false });
  }
}
