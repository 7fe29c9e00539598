import { nextRequestId } from "../../internal/request-id.ts";
import type { OperationSpec } from "../../operation/index.ts";
import type { PeerEvent, Unsubscribe } from "../transport.ts";
import type { EventTargetLike } from "./event-target-like.ts";
import { PeerBoard } from "./peer-board.ts";

/** More peers than this are not taken from the events of a target. */
const maxRemotePeers = 10_000;

const peersByTarget = new WeakMap<EventTargetLike, TargetPeers>();

/**
 * The peers at one event target: those of this process, and those whose announcements a bridge brings. Announcements are
 * events at the target. An announcement without operations asks the others to repeat theirs, for peers that start late.
 */
export class TargetPeers {
  readonly #target: EventTargetLike;
  readonly #id = nextRequestId();
  readonly #board = new PeerBoard();
  /** Peers of this process and what they serve. */
  readonly #local = new Map<string, readonly OperationSpec[]>();
  /** Peers that events told of, and what they serve. */
  readonly #remote = new Map<string, readonly OperationSpec[]>();

  constructor(target: EventTargetLike) {
    this.#target = target;
    target.addEventListener("peer.announced", this.#onAnnounced);
    target.addEventListener("peer.left", this.#onLeft);
  }

  /** The peers at a target, the same for every transport of it, with one more peer of this process among them. */
  static join(target: EventTargetLike, peerId: string): TargetPeers {
    let peers = peersByTarget.get(target);
    if (peers === undefined) {
      peers = new TargetPeers(target);
      peersByTarget.set(target, peers);
    }
    peers.#local.set(peerId, []);
    return peers;
  }

  announce(peerId: string, specs: readonly OperationSpec[]): void {
    const hadAny = this.#local.get(peerId)?.length !== 0;
    this.#local.set(peerId, specs);
    this.#board.announce(peerId, specs);
    if (specs.length > 0) this.#publish({ type: "peer.announced", peerId, specs });
    else if (hadAny) this.#publish({ type: "peer.left", peerId });
  }

  watch(peerId: string, listener: (event: PeerEvent) => void): Unsubscribe {
    const stop = this.#board.watch(peerId, listener);
    this.#publish({ type: "peer.announced", peerId: this.#id, specs: [] });
    return stop;
  }

  /** A peer of this process is gone; with the last one the target is left. */
  leave(peerId: string): void {
    this.announce(peerId, []);
    this.#board.leave(peerId);
    this.#local.delete(peerId);
    if (this.#local.size > 0) return;
    this.#target.removeEventListener("peer.announced", this.#onAnnounced);
    this.#target.removeEventListener("peer.left", this.#onLeft);
    peersByTarget.delete(this.#target);
  }

  #publish(event: PeerEvent): void {
    const { type, ...detail } = event;
    this.#target.dispatchEvent(new CustomEvent(type, { detail: { type, ...detail } }));
  }

  readonly #onAnnounced = (event: Event): void => {
    const { peerId, specs } = detailOf(event);
    if (typeof peerId !== "string" || !Array.isArray(specs) || this.#isOwn(peerId)) return;
    if (specs.length === 0) {
      this.#forget(peerId);
      return this.#repeat();
    }
    const known = this.#remote.get(peerId);
    if (known === undefined ? this.#remote.size >= maxRemotePeers : isSame(known, specs)) return;
    this.#remote.set(peerId, specs);
    this.#board.announce(peerId, specs);
  };

  readonly #onLeft = (event: Event): void => {
    const { peerId } = detailOf(event);
    if (typeof peerId === "string" && !this.#isOwn(peerId)) this.#forget(peerId);
  };

  #repeat(): void {
    for (const [peerId, specs] of [...this.#local]) {
      if (specs.length > 0) this.#publish({ type: "peer.announced", peerId, specs });
    }
  }

  #forget(peerId: string): void {
    if (this.#remote.delete(peerId)) this.#board.announce(peerId, []);
  }

  #isOwn(peerId: string): boolean {
    return peerId === this.#id || this.#local.has(peerId);
  }
}

function detailOf(event: Event): { peerId?: unknown; specs?: unknown } {
  const detail: unknown = (event as Partial<CustomEvent>).detail;
  return typeof detail === "object" && detail !== null ? detail : {};
}

/** Whether an announcement repeats what is known. */
function isSame(known: readonly OperationSpec[], specs: readonly OperationSpec[]): boolean {
  try {
    return JSON.stringify(known) === JSON.stringify(specs);
  } catch {
    return false; // a cycle; whoever reads the announcement reports it
  }
}
