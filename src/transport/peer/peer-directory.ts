import { BoundedMap } from "../../internal/bounded.ts";
import { clientLogger } from "../../internal/client-log.ts";
import { Emitter } from "../../internal/emitter.ts";
import type { OperationSpec } from "../../operation/index.ts";
import type { PeerAnnounced, PeerEvent, Unsubscribe } from "../transport.ts";

const log = clientLogger("transport", "peer");

/** Operations above this number displace the oldest: a peer can announce any number. */
const maxRecentOperations = 10_000;

/** How long an operation that was served may be missing before it counts as removed. */
export interface RestartTime {
  /** The time now, in any unit. */
  now(): number;
  /** How long a peer that left may take to come back, in the unit of `now`. */
  readonly duration: number;
}

/** What the remote peers of a transport announce, and what they served a short while ago: a peer that left may be restarting. */
export class PeerDirectory<Key> {
  readonly #restart: RestartTime;
  readonly #announced = new Map<Key, PeerAnnounced>();
  readonly #events = new Emitter<PeerEvent>((error) => log.error("A listener to peers threw: {error}", { error }));
  /** When each operation was last served. */
  readonly #servedAt = new BoundedMap<string, number>(maxRecentOperations);

  constructor(restart: RestartTime) {
    this.#restart = restart;
  }

  get hasListeners(): boolean {
    return this.#events.hasListeners;
  }

  /** Reports the peers that are there, then every change. */
  watch(listener: (event: PeerEvent) => void): Unsubscribe {
    const stop = this.#events.on(listener);
    for (const event of [...this.#announced.values()]) listener(event);
    return stop;
  }

  /** What a peer has announced last. */
  get(key: Key): PeerAnnounced | undefined {
    return this.#announced.get(key);
  }

  keys(): Key[] {
    return [...this.#announced.keys()];
  }

  /** Returns whether a peer of that name has announced itself. */
  hasPeerId(peerId: string): boolean {
    for (const event of this.#announced.values()) if (event.peerId === peerId) return true;
    return false;
  }

  set(key: Key, event: PeerAnnounced): void {
    this.#announced.set(key, event);
    this.#events.emit(event);
  }

  /** The peer left. */
  delete(key: Key): void {
    const event = this.#announced.get(key);
    if (event === undefined) return;
    this.#announced.delete(key);
    this.#events.emit({ type: "peer.left", peerId: event.peerId });
  }

  /** The peer is the same, and is reached in another way from now on. */
  move(from: Key, to: Key): void {
    const event = this.#announced.get(from);
    this.#announced.delete(from);
    if (event !== undefined) this.#announced.set(to, event);
  }

  /** The operation was served just now. */
  noteServed(operationId: string): void {
    const now = this.#restart.now();
    if (this.#servedAt.get(operationId) !== now) this.#servedAt.set(operationId, now);
  }

  /** A peer that is still there has stopped serving the operation. */
  noteWithdrawn(operationId: string): void {
    this.#servedAt.delete(operationId);
  }

  /** Returns whether an operation that no peer serves was served a short while ago. */
  mayReturn(operationId: string): boolean {
    const servedAt = this.#servedAt.get(operationId);
    if (servedAt === undefined) return false;
    if (this.#restart.now() - servedAt <= this.#restart.duration) return true;
    this.#servedAt.delete(operationId);
    return false;
  }

  /** The specs of all peers. */
  *specs(): Iterable<OperationSpec> {
    for (const { specs } of this.#announced.values()) yield* specs;
  }
}
