import { BoundedMap } from "../../internal/bounded.ts";
import { clientLogger } from "../../internal/client-log.ts";
import { Emitter } from "../../internal/emitter.ts";
import type { OperationSpec } from "../../operation/index.ts";
import type { PeerAnnounced, PeerEvent, Unsubscribe } from "../transport.ts";

const log = clientLogger("transport", "peer");

/** Above this number, new operations replace the oldest, because a peer can announce any number. */
const maxRecentOperations = 10_000;

/** The time for which an operation that was served may be missing before it counts as removed. */
export interface RestartTime {
  /** Returns the current time, in any unit. */
  now(): number;
  /** Maximum time in which a peer that left may return, in the unit of `now`. */
  readonly duration: number;
}

/** The announcements of remote peers, and recently served operations, because a peer that left may be restarting. */
export class PeerDirectory<Key> {
  readonly #restart: RestartTime;
  readonly #announced = new Map<Key, PeerAnnounced>();
  readonly #events = new Emitter<PeerEvent>((error) => log.error("A listener to peers threw: {error}", { error }));
  /** Time at which each operation was last served. */
  readonly #servedAt = new BoundedMap<string, number>(maxRecentOperations);

  constructor(restart: RestartTime) {
    this.#restart = restart;
  }

  get hasListeners(): boolean {
    return this.#events.hasListeners;
  }

  /** Reports the peers that are present, then every change. */
  watch(listener: (event: PeerEvent) => void): Unsubscribe {
    const stop = this.#events.on(listener);
    for (const event of [...this.#announced.values()]) listener(event);
    return stop;
  }

  /** Returns the latest announcement of a peer. */
  get(key: Key): PeerAnnounced | undefined {
    return this.#announced.get(key);
  }

  keys(): Key[] {
    return [...this.#announced.keys()];
  }

  /** Returns whether a peer with that id has sent an announcement. */
  hasPeerId(peerId: string): boolean {
    for (const event of this.#announced.values()) if (event.peerId === peerId) return true;
    return false;
  }

  set(key: Key, event: PeerAnnounced): void {
    this.#announced.set(key, event);
    this.#events.emit(event);
  }

  /** Removes a peer that left, and emits `peer.left`. */
  delete(key: Key): void {
    const event = this.#announced.get(key);
    if (event === undefined) return;
    this.#announced.delete(key);
    this.#events.emit({ type: "peer.left", peerId: event.peerId });
  }

  /** Moves the announcement of a peer to another key, without an event. */
  move(from: Key, to: Key): void {
    const event = this.#announced.get(from);
    this.#announced.delete(from);
    if (event !== undefined) this.#announced.set(to, event);
  }

  /** Records that the operation was just served. */
  noteServed(operationId: string): void {
    const now = this.#restart.now();
    if (this.#servedAt.get(operationId) !== now) this.#servedAt.set(operationId, now);
  }

  /** Records that a peer that is still present has stopped serving the operation. */
  noteWithdrawn(operationId: string): void {
    this.#servedAt.delete(operationId);
  }

  /** Returns whether an operation that no peer serves was served recently. */
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
