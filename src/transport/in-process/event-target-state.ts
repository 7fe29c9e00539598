import { createId } from "../../internal/request-id.ts";
import type { OperationSpec } from "../../operation/index.ts";
import type { PeerEvent, Unsubscribe } from "../transport.ts";
import { LocalPeerDirectory } from "./local-peer-directory.ts";

/** An object with the three methods of an `EventTarget`, for call events. It may be a bridge to another realm. */
export interface EventTargetLike {
  /** Calls `listener` with every event of this type. */
  addEventListener(type: string, listener: (event: Event) => void): void;
  /** Removes a listener that `addEventListener` added. */
  removeEventListener(type: string, listener: (event: Event) => void): void;
  /** Delivers an event to the listeners of its type. The return value is ignored. */
  dispatchEvent(event: Event): unknown;
}

const methods = ["addEventListener", "removeEventListener", "dispatchEvent"] as const;

/** Returns whether a value has the three methods of an event target. */
export function isEventTargetLike(value: unknown): value is EventTargetLike {
  if (typeof value !== "object" || value === null) return false;
  return methods.every((method) => typeof (value as Partial<EventTargetLike>)[method] === "function");
}

/** Maximum number of peers that may announce themselves by events at one target. */
const maxRemotePeers = 10_000;

const peersByTarget = new WeakMap<EventTargetLike, EventTargetPeers>();

/**
 * The peers at one event target: those of this process, and those whose announcements a bridge forwards. Announcements
 * are events at the target. An announcement without operations requests all other peers to repeat theirs, so that peers
 * that start later receive them.
 */
export class EventTargetPeers {
  readonly #target: EventTargetLike;
  readonly #id = createId();
  readonly #directory = new LocalPeerDirectory();
  /** Peers of this process and the operations that they serve. */
  readonly #local = new Map<string, readonly OperationSpec[]>();
  /** Peers that announced themselves by events, and the operations that they serve. */
  readonly #remote = new Map<string, readonly OperationSpec[]>();

  constructor(target: EventTargetLike) {
    this.#target = target;
    target.addEventListener("peer.announced", this.#onAnnounced);
    target.addEventListener("peer.left", this.#onLeft);
  }

  /** Adds a peer of this process to the peers of a target, which all transports of the target share. */
  static join(target: EventTargetLike, peerId: string): EventTargetPeers {
    let peers = peersByTarget.get(target);
    if (peers === undefined) {
      peers = new EventTargetPeers(target);
      peersByTarget.set(target, peers);
    }
    peers.#local.set(peerId, []);
    return peers;
  }

  announce(peerId: string, specs: readonly OperationSpec[]): void {
    const hadAny = this.#local.get(peerId)?.length !== 0;
    this.#local.set(peerId, specs);
    this.#directory.announce(peerId, specs);
    if (specs.length > 0) this.#publish({ type: "peer.announced", peerId, specs });
    else if (hadAny) this.#publish({ type: "peer.left", peerId });
  }

  watch(peerId: string, listener: (event: PeerEvent) => void): Unsubscribe {
    const stop = this.#directory.watch(peerId, listener);
    this.#publish({ type: "peer.announced", peerId: this.#id, specs: [] });
    return stop;
  }

  /** Removes a peer of this process. The last one also removes the listeners at the target. */
  leave(peerId: string): void {
    this.announce(peerId, []);
    this.#directory.leave(peerId);
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
    this.#directory.announce(peerId, specs);
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
    if (this.#remote.delete(peerId)) this.#directory.announce(peerId, []);
  }

  #isOwn(peerId: string): boolean {
    return peerId === this.#id || this.#local.has(peerId);
  }
}

function detailOf(event: Event): { peerId?: unknown; specs?: unknown } {
  const detail: unknown = (event as Partial<CustomEvent>).detail;
  return typeof detail === "object" && detail !== null ? detail : {};
}

/** Returns whether an announcement repeats the known specs. */
function isSame(known: readonly OperationSpec[], specs: readonly OperationSpec[]): boolean {
  try {
    return JSON.stringify(known) === JSON.stringify(specs);
  } catch {
    return false; // a cycle, which is reported when the announcement is read
  }
}

/** Minimum number of ended requests that are remembered. */
const minEndedClaims = 10_000;
/** Maximum number of requests without a last reply. Above it, the oldest count as ended. */
const maxOpenClaims = 20_000;

/** Request ids that servers at one event target have claimed. All servers receive each request, and one runs it. */
export class Claims {
  readonly #open = new Set<string>();
  #ended = new Set<string>();
  #endedBefore = new Set<string>();

  /** Returns true for the first server that claims a request, and false for later servers and repeated requests. */
  add(requestId: string): boolean {
    if (this.has(requestId)) return false;
    this.#open.add(requestId);
    if (this.#open.size > maxOpenClaims) this.end(this.#open.values().next().value!);
    return true;
  }

  has(requestId: string): boolean {
    return this.#open.has(requestId) || this.#ended.has(requestId) || this.#endedBefore.has(requestId);
  }

  /**
   * Ends a request, claimed or not. Its id stays claimed for a while, because other servers may receive the request
   * later.
   */
  end(requestId: string): void {
    this.#open.delete(requestId);
    this.#ended.add(requestId);
    if (this.#ended.size < minEndedClaims) return;
    this.#endedBefore = this.#ended;
    this.#ended = new Set();
  }
}

/** Shared by all copies of this package in the process, because they may share a target. */
const registryKey = Symbol.for("@alkdev/operations.claims");

function claimsByTarget(): WeakMap<object, Claims> {
  const existing: unknown = Reflect.get(globalThis, registryKey);
  if (existing instanceof WeakMap) return existing;
  const created = new WeakMap<object, Claims>();
  Object.defineProperty(globalThis, registryKey, { value: created });
  return created;
}

/** Returns the claims at a target, which all of its transports share. */
export function claimsOf(target: object): Claims {
  const all = claimsByTarget();
  let claims = all.get(target);
  if (claims === undefined) {
    claims = new Claims();
    all.set(target, claims);
  }
  return claims;
}
