import { clientLogger } from "../../internal/client-log.ts";
import { pause } from "../../internal/wait.ts";
import { formatOperationId, type OperationSpec } from "../../operation/inside.ts";
import type { OtherFrame, WireFrame } from "../codec/index.ts";
import type { PeerEvent } from "../frames.ts";

const log = clientLogger("transport", "bus");

/** Announcements of further peers are ignored. */
const maxPeers = 10_000;
/** Maximum number of stored characters for all peers together. Any client of the bus can invent peers. */
const maxKeptLength = 128 * 1024 * 1024;
/** A peer that was silent for more heartbeats than this is gone. */
const maxSilentBeats = 3;
/** Time in which present peers reply, in ms. */
const answerMs = 250;
/** Maximum time to wait for specs that were requested in that time, in ms. */
const maxPagesMs = 2_000;
/** Space for everything besides the specs in a page, in bytes. */
const pageHeader = 1_024;
/** Maximum number of reported ids of operations whose specs are too large for a message. */
const maxOmitted = 20;

/** The functions of a bus that announcements use. */
export interface AnnouncementHost {
  /** Interval of heartbeats, in ms. */
  readonly heartbeat: number;
  /** Maximum size of a message, in bytes. */
  readonly maxMessage: number;
  /** Maximum number of operations of one peer. */
  readonly maxOperations: number;
  publish(frame: WireFrame): void;
  send(address: string, frame: WireFrame): void;
}

/** Another peer, by its latest announcement. */
interface KnownPeer {
  /** Revision of the specs that were reported, or are being collected. */
  revision: number;
  readonly specs: OperationSpec[];
  readonly omitted: string[];
  /** Index of the next spec to request. */
  next: number;
  length: number;
  isComplete: boolean;
  silentBeats: number;
  /** Number of silent heartbeats after which it is gone. */
  maxSilentBeats: number;
}

/**
 * The announcements of the peers on a bus. A heartbeat carries only a revision and a count. A peer that sees a new revision
 * requests the specs, in pages, and only it receives them.
 */
export class Announcements {
  readonly #host: AnnouncementHost;
  readonly #onPeer: (event: PeerEvent) => void;
  readonly #peers = new Map<string, KnownPeer>();
  #specs: readonly OperationSpec[] = [];
  #revision = 0;
  #keptLength = 0;
  #isWatching = false;
  #onComplete: () => void = () => {};

  constructor(host: AnnouncementHost, onPeer: (event: PeerEvent) => void) {
    this.#host = host;
    this.#onPeer = onPeer;
  }

  /** Announces the operations that this peer serves. */
  announce(specs: readonly OperationSpec[]): void {
    const hadSome = this.#specs.length > 0;
    this.#specs = specs;
    this.#revision += 1;
    if (specs.length > 0 || hadSome) this.#host.publish(this.#alive());
  }

  /** Asks for the announcements of the peers that are present, and resolves when they have arrived. */
  async watch(): Promise<void> {
    this.#isWatching = true;
    this.ask();
    await pause(answerMs);
    if (this.#isQuiet()) return;
    const complete = new Promise<void>((resolve) => {
      this.#onComplete = resolve;
    });
    const stopped = new AbortController();
    await Promise.race([complete, pause(maxPagesMs, stopped.signal).catch(() => {})]);
    stopped.abort();
  }

  /** Introduces this peer: at the start and after a reconnect. */
  ask(): void {
    if (this.#isWatching) this.#host.publish({ type: "link.who" });
    if (this.#specs.length > 0) this.#host.publish(this.#alive());
  }

  /** Announces that this peer leaves. */
  leave(): void {
    if (this.#specs.length > 0) this.#host.publish({ type: "link.alive", revision: this.#revision + 1, count: 0 });
    this.#specs = [];
  }

  /** Sends a heartbeat, and removes peers that were silent for too long. */
  beat(): void {
    if (this.#specs.length > 0) this.#host.publish(this.#alive());
    for (const [address, peer] of [...this.#peers]) {
      peer.silentBeats += 1;
      if (peer.silentBeats > peer.maxSilentBeats) this.#forget(address);
    }
  }

  /** Accepts a frame of another peer. Returns false when it is malformed. */
  take(frame: OtherFrame, from: string): boolean {
    switch (frame.type) {
      case "link.who":
        if (this.#specs.length > 0) this.#host.send(from, this.#alive());
        return true;
      case "link.alive":
        return this.#onAlive(frame, from);
      case "link.asked":
        return this.#onAsked(frame, from);
      case "link.page":
        return this.#onPage(frame, from);
      default:
        return false;
    }
  }

  #alive(): OtherFrame {
    const { heartbeat } = this.#host;
    return { type: "link.alive", revision: this.#revision, count: this.#specs.length, heartbeat };
  }

  #onAlive({ revision, count, heartbeat }: OtherFrame, from: string): boolean {
    if (!isCount(revision) || !isCount(count)) return false;
    if (!this.#isWatching) return true;
    if (count === 0) {
      this.#forget(from);
      return true;
    }
    const known = this.#peers.get(from);
    if (known === undefined && this.#peers.size >= maxPeers) return true;
    if (known !== undefined) known.silentBeats = 0;
    if (known?.revision === revision) return true;
    const slower = typeof heartbeat === "number" && heartbeat > 0 ? Math.max(heartbeat / this.#host.heartbeat, 1) : 1;
    this.#collect(from, revision, Math.min(maxSilentBeats * slower, 10_000));
    return true;
  }

  /** Requests the specs of a revision from the start. */
  #collect(address: string, revision: number, maxSilent: number): void {
    const known = this.#peers.get(address);
    this.#keptLength -= known?.length ?? 0;
    this.#peers.set(address, {
      revision,
      specs: [],
      omitted: [],
      next: 0,
      length: 0,
      isComplete: false,
      silentBeats: 0,
      maxSilentBeats: maxSilent,
    });
    this.#request(address, 0);
  }

  #request(address: string, start: number): void {
    this.#host.send(address, { type: "link.asked", start, maxMessage: this.#host.maxMessage });
  }

  #onAsked({ start, maxMessage }: OtherFrame, from: string): boolean {
    if (!isCount(start) || typeof maxMessage !== "number" || !(maxMessage > 0)) return false;
    this.#host.send(from, this.#page(start, Math.min(maxMessage, this.#host.maxMessage) - pageHeader));
    return true;
  }

  /** Creates a page of at most half a message, or of one spec. */
  #page(start: number, limit: number): OtherFrame {
    const specs: OperationSpec[] = [];
    const omitted: string[] = [];
    let size = 0;
    let next = start;
    for (; next < this.#specs.length && omitted.length < maxOmitted; next++) {
      const spec = this.#specs[next]!;
      const length = Buffer.byteLength(JSON.stringify(spec)) + 1;
      if (length > limit) {
        omitted.push(formatOperationId(spec.namespace, spec.name).slice(0, 100));
        continue;
      }
      if (specs.length > 0 && size + length > limit / 2) break;
      size += length;
      specs.push(spec);
    }
    return {
      type: "link.page",
      revision: this.#revision,
      start,
      specs,
      omitted,
      next,
      isLast: next >= this.#specs.length,
    };
  }

  #onPage({ revision, start, specs, omitted, next, isLast }: OtherFrame, from: string): boolean {
    if (!isCount(revision) || !isCount(next) || !Array.isArray(specs) || !Array.isArray(omitted)) return false;
    const peer = this.#peers.get(from);
    if (peer === undefined || peer.isComplete || peer.next !== start) return true; // not requested
    if (peer.revision !== revision) {
      this.#collect(from, revision, peer.maxSilentBeats);
      return true;
    }
    const length = JSON.stringify(specs).length;
    if (this.#keptLength + length > maxKeptLength) {
      log.warn("The announcements of peers are too large. Those of {from} are ignored.", { from });
      peer.isComplete = true;
      return true;
    }
    this.#keptLength += length;
    peer.length += length;
    peer.specs.push(...(specs as OperationSpec[]));
    for (const id of omitted) if (typeof id === "string" && peer.omitted.length < maxOmitted) peer.omitted.push(id);
    peer.next = next;
    if (isLast !== true && next > (start as number) && peer.specs.length <= this.#host.maxOperations) {
      this.#request(from, next);
      return true;
    }
    peer.isComplete = true;
    const event = { type: "peer.announced" as const, peerId: from, specs: [...peer.specs] };
    this.#onPeer(peer.omitted.length === 0 ? event : { ...event, omitted: peer.omitted });
    if (this.#isQuiet()) this.#onComplete();
    return true;
  }

  /** Whether all specs that were requested have arrived. */
  #isQuiet(): boolean {
    for (const { isComplete } of this.#peers.values()) if (!isComplete) return false;
    return true;
  }

  #forget(address: string): void {
    const peer = this.#peers.get(address);
    if (peer === undefined) return;
    this.#peers.delete(address);
    this.#keptLength -= peer.length;
    this.#onPeer({ type: "peer.left", peerId: address });
    if (this.#isQuiet()) this.#onComplete();
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
