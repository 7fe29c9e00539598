import type { OperationSpec } from "@alkdev/operations";
import type { PeerAnnounced, PeerEvent } from "@alkdev/operations/transport";

// #region peers
/** What each peer of one process announces. */
export class PeerList {
  readonly #announced = new Map<string, PeerAnnounced>();
  readonly #watchers = new Map<(event: PeerEvent) => void, string>();

  /** Sets what a peer serves. An empty list means that it left. */
  announce(peerId: string, specs: readonly OperationSpec[]): void {
    const event: PeerEvent =
      specs.length === 0 ? { type: "peer.left", peerId } : { type: "peer.announced", peerId, specs };
    if (event.type === "peer.announced") this.#announced.set(peerId, event);
    else if (!this.#announced.delete(peerId)) return;
    for (const [watcher, ownId] of this.#watchers) if (ownId !== peerId) watcher(event);
  }

  /** Reports the peers other than `ownId`, first those that are present. */
  watch(ownId: string, watcher: (event: PeerEvent) => void): () => void {
    this.#watchers.set(watcher, ownId);
    for (const event of this.#announced.values()) if (event.peerId !== ownId) watcher(event);
    return () => this.#watchers.delete(watcher);
  }
}
// #endregion peers
