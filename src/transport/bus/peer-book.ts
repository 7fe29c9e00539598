import { Emitter } from "../../internal/emitter.ts";
import { logger } from "../../internal/log.ts";
import { formatOperationId, nearestOperation, type OperationSpec } from "../../operation/index.ts";
import type { OtherFrame, WireFrame } from "../codec/index.ts";
import type { PeerEvent, PeerLeft, Unsubscribe } from "../transport.ts";
import { splitSpecs } from "./split-specs.ts";

const log = logger("transport", "bus");

/** Other peers above this number are not listened to. */
const maxPeers = 1_000;
/** Characters of announcements that are kept, of all peers together; anybody can make up peers. */
const maxKept = 128 * 1024 * 1024;
/** Operations whose specs are too large are named up to this number. */
const maxOmitted = 20;
/** In bytes: room for one of them in a message. Longer ids are not named. */
const maxIdSize = 330;
/** A peer that was silent for this many beats is gone. */
const silentBeats = 3;
/** When somebody asks who is there, all answer; not all at once, and once for those who ask together (ms). */
const answerDelay = 50;

interface KnownPeer {
  revision: number;
  /** In how many parts it is told. */
  count: number;
  parts: Map<number, OperationSpec[]>;
  /** What it serves, once all parts are there. */
  specs: OperationSpec[] | undefined;
  /** What it served before its latest announcement, until all parts of that are there. */
  before: OperationSpec[] | undefined;
  /** Ids of operations whose specs are too large to be sent. */
  omitted: string[];
  /** How long the messages were that this came in. */
  size: number;
  heardAt: number;
}

/** What a peer book needs of its transport. */
export interface PeerBookHost {
  readonly peerId: string;
  /** How large one message should be at most, in bytes, unless a single spec is larger. */
  readonly maxPart: number;
  /** How large the spec of one operation may be, in bytes. */
  readonly maxSpec: number;
  readonly maxOperations: number;
  gossip(frame: { type: string }): void;
  /** A peer that served this operation left. */
  onDeparted(operationId: string): void;
  /** A peer that is still there serves this operation no longer. */
  onWithdrawn(operationId: string): void;
}

/**
 * Tells others what this peer serves, and keeps what they tell. There is no list of peers anywhere: each says that it
 * is alive at every beat, and who comes late asks.
 */
export class PeerBook {
  readonly #host: PeerBookHost;
  readonly #peers = new Map<string, KnownPeer>();
  readonly #events = new Emitter<PeerEvent>((error) => log.error("A listener to peers threw: {error}", { error }));
  #specs: readonly OperationSpec[] = [];
  #revision = 0;
  #beat = 0;
  #kept = 0;
  #answer: NodeJS.Timeout | undefined;

  constructor(host: PeerBookHost) {
    this.#host = host;
  }

  announce(specs: readonly OperationSpec[]): void {
    const hadSome = this.#specs.length > 0;
    this.#specs = specs;
    this.#revision++;
    if (specs.length > 0) this.#tellSpecs();
    else if (hadSome) this.#tellLeft();
  }

  watch(listener: (event: PeerEvent) => void): Unsubscribe {
    const stop = this.#events.on(listener);
    for (const [peerId, { specs, omitted }] of [...this.#peers]) {
      if (specs !== undefined) listener(toEvent(peerId, specs, omitted));
    }
    return stop;
  }

  /**
   * The operation that was probably meant, of those that peers have told of since this one listens. Only of those that
   * demand no scope: for whom a request is made is not known here.
   */
  nearestId(operationId: string): string | undefined {
    return nearestOperation(operationId, this.#announcedSpecs(), undefined);
  }

  /** Takes what another peer said in a message of that size. False when it makes no sense, or is too much. */
  take(frame: WireFrame, size: number): boolean {
    const { peerId, revision } = frame as unknown as { peerId?: unknown; revision?: unknown };
    if (peerId === this.#host.peerId && frame.type !== "link.who") return true;
    switch (frame.type) {
      case "link.who":
        if (peerId === undefined || peerId === this.#host.peerId) this.#answerSoon();
        return true;
      case "peer.left":
        this.#forget((frame as PeerLeft).peerId);
        return true;
      case "link.alive":
        return isName(peerId) && isCount(revision) && this.#noteAlive(peerId, revision);
      case "link.specs":
        return isName(peerId) && isCount(revision) && this.#noteSpecs(peerId, revision, frame as OtherFrame, size);
      default:
        return false;
    }
  }

  /** Says that this peer is alive, and gives up those who have not for a while. */
  beat(): void {
    this.#beat++;
    if (this.#specs.length > 0) {
      this.#host.gossip({ type: "link.alive", peerId: this.#host.peerId, revision: this.#revision } as never);
    }
    for (const [peerId, { heardAt }] of [...this.#peers]) {
      if (this.#beat - heardAt > silentBeats) this.#forget(peerId);
    }
  }

  /** Asks who is there, and says so too: at first and after the link was lost. */
  introduce(): void {
    if (this.#events.hasListeners) this.#host.gossip({ type: "link.who" });
    if (this.#specs.length > 0) this.#tellSpecs();
  }

  leave(): void {
    clearTimeout(this.#answer);
    if (this.#specs.length > 0) this.#tellLeft();
    this.#specs = [];
    this.#peers.clear();
  }

  *#announcedSpecs(): Iterable<OperationSpec> {
    for (const { specs = [] } of this.#peers.values()) yield* specs;
  }

  #noteAlive(peerId: string, revision: number): boolean {
    const peer = this.#peers.get(peerId);
    if (peer !== undefined) peer.heardAt = this.#beat;
    const isCurrent = peer !== undefined && peer.revision === revision && peer.specs !== undefined;
    if (!isCurrent && this.#events.hasListeners) this.#host.gossip({ type: "link.who", peerId } as never);
    return true;
  }

  #noteSpecs(peerId: string, revision: number, { part, parts, specs, omitted }: OtherFrame, size: number): boolean {
    if (!isCount(part) || !isCount(parts) || !Array.isArray(specs) || parts > this.#host.maxOperations) return false;
    let peer = this.#peers.get(peerId);
    if (peer === undefined) {
      if (this.#peers.size >= maxPeers) return false;
      peer = {
        revision,
        count: parts,
        parts: new Map(),
        specs: undefined,
        before: undefined,
        omitted: [],
        size: 0,
        heardAt: this.#beat,
      };
      this.#peers.set(peerId, peer);
    }
    peer.heardAt = this.#beat;
    // One that is lower was never said by that peer after a higher one: somebody else has used its name.
    if (revision !== peer.revision || parts !== peer.count) this.#beginAnew(peer, revision, parts);
    if (peer.specs !== undefined || part >= parts || peer.parts.has(part)) return true; // said once more for somebody else
    if (this.#kept + size > maxKept) return false;
    this.#kept += size;
    peer.size += size;
    peer.parts.set(part, specs.filter(isNamed));
    if (Array.isArray(omitted)) peer.omitted = omitted.filter(isName).slice(0, maxOmitted);
    if (peer.parts.size < parts) return true;
    const all = [...peer.parts].sort(([a], [b]) => a - b).flatMap(([, some]) => some);
    peer.parts.clear();
    peer.specs = all.slice(0, this.#host.maxOperations);
    this.#noteWithdrawn(peer);
    this.#events.emit(toEvent(peerId, peer.specs, peer.omitted));
    return true;
  }

  #beginAnew(peer: KnownPeer, revision: number, count: number): void {
    this.#kept -= peer.size;
    const before = peer.specs ?? peer.before;
    Object.assign(peer, { revision, count, parts: new Map(), specs: undefined, before, omitted: [], size: 0 });
  }

  #noteWithdrawn(peer: KnownPeer): void {
    if (peer.before === undefined) return;
    const ids = new Set(peer.specs?.map(toId));
    for (const spec of peer.before) if (!ids.has(toId(spec))) this.#host.onWithdrawn(toId(spec));
    peer.before = undefined;
  }

  #forget(peerId: string): void {
    const peer = this.#peers.get(peerId);
    for (const spec of peer?.specs ?? peer?.before ?? []) this.#host.onDeparted(toId(spec));
    this.#peers.delete(peerId);
    this.#kept -= peer?.size ?? 0;
    if (peer !== undefined) this.#events.emit({ type: "peer.left", peerId });
  }

  #answerSoon(): void {
    if (this.#specs.length === 0 || this.#answer !== undefined) return;
    this.#answer = setTimeout(() => {
      this.#answer = undefined;
      this.#tellSpecs();
    }, Math.random() * answerDelay);
    this.#answer.unref(); // an answer is no reason to stay alive
  }

  #tellSpecs(): void {
    const { peerId, maxPart, maxSpec } = this.#host;
    const { parts, omitted } = splitSpecs(this.#specs, maxPart, maxSpec);
    if (parts.length === 0) parts.push([]);
    for (const [part, specs] of parts.entries()) {
      const frame = { type: "link.specs", peerId, revision: this.#revision, part, parts: parts.length, specs };
      const named = part === 0 && omitted.length > 0 ? { omitted: nameOmitted(omitted, maxPart) } : {};
      this.#host.gossip({ ...frame, ...named });
    }
  }

  #tellLeft(): void {
    const frame: PeerLeft = { type: "peer.left", peerId: this.#host.peerId };
    this.#host.gossip(frame);
  }
}

function toId({ namespace, name }: OperationSpec): string {
  return formatOperationId(namespace, name);
}

/** As many ids as a message can hold besides specs. */
function nameOmitted(ids: readonly string[], maxPart: number): string[] {
  const most = Math.min(maxOmitted, Math.floor(maxPart / maxIdSize));
  return ids.filter((id) => Buffer.byteLength(JSON.stringify(id)) < maxIdSize).slice(0, most);
}

function toEvent(peerId: string, specs: OperationSpec[], omitted: string[]): PeerEvent {
  return { type: "peer.announced", peerId, specs, ...(omitted.length > 0 && { omitted }) };
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= 256;
}

/** What else a spec must be, the registry decides. */
function isNamed(value: unknown): value is OperationSpec {
  const { namespace, name } = (value ?? {}) as Partial<OperationSpec>;
  return typeof namespace === "string" && typeof name === "string";
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
