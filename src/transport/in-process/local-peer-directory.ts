import { Emitter } from "../../internal/emitter.ts";
import { logger } from "../../internal/log.ts";
import type { OperationSpec } from "../../operation/index.ts";
import type { PeerEvent, Unsubscribe } from "../transport.ts";

const log = logger("transport");

/** The operations that each peer of one process serves. */
export class LocalPeerDirectory {
  readonly #announced = new Map<string, readonly OperationSpec[]>();
  /** The functions that end the subscriptions of each peer. */
  readonly #stops = new Map<string, Set<Unsubscribe>>();
  readonly #events = new Emitter<PeerEvent>((error) =>
    log.error("A listener for peer events failed: {error}", { error }),
  );

  /** Replaces the list of operations that a peer serves. An empty list means that the peer left. */
  announce(peerId: string, specs: readonly OperationSpec[]): void {
    if (specs.length === 0) return this.#withdraw(peerId);
    this.#announced.set(peerId, specs);
    this.#events.emit({ type: "peer.announced", peerId, specs });
  }

  /** The specs that all peers announce. */
  *specs(): Iterable<OperationSpec> {
    for (const specs of this.#announced.values()) yield* specs;
  }

  /** Reports all peers except `ownId`: first those that are present, then changes. */
  watch(ownId: string, listener: (event: PeerEvent) => void): Unsubscribe {
    const stops = this.#stops.get(ownId) ?? new Set();
    const off = this.#events.on((event) => {
      if (event.peerId !== ownId && stops.has(stop)) listener(event);
    });
    const stop = () => {
      stops.delete(stop);
      off();
    };
    stops.add(stop);
    this.#stops.set(ownId, stops);
    for (const [peerId, specs] of [...this.#announced]) {
      if (peerId !== ownId) listener({ type: "peer.announced", peerId, specs });
    }
    return stop;
  }

  /** Removes a peer, and ends its subscriptions. */
  leave(peerId: string): void {
    for (const stop of this.#stops.get(peerId) ?? []) stop();
    this.#stops.delete(peerId);
    this.#withdraw(peerId);
  }

  #withdraw(peerId: string): void {
    if (this.#announced.delete(peerId)) this.#events.emit({ type: "peer.left", peerId });
  }
}
