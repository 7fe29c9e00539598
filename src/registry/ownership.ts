import { BoundedMap } from "../internal/bounded.ts";
import { waitFor } from "../internal/wait.ts";
import { notServedNow, operationNotFound } from "../operation/inside.ts";
import type { OperationEntry, OperationOwner } from "./operation-entry.ts";

/** Maximum time in ms that peers wait for the other sources to load. A source that hangs must not hold them back. */
const maxHoldMs = 10_000;

/** Maximum number of ids that are remembered for nested calls. The oldest ones are forgotten. */
const maxIds = 100_000;

/**
 * Decides which ids belong to this process. Peers and trusted servers choose their own ids and would otherwise receive the
 * calls of a source of this process while it is loading, restarting or closed (decision 018).
 */
export class Ownership {
  /** Namespaces by who may use them. Nothing is ever removed. */
  readonly #reserved = new Map<string, "process" | "peers">();
  /** Sources of this process that have never loaded, and whose namespaces are not known until then. */
  readonly #unloaded = new Set<object>();
  /** First attempts to load sources of this process. */
  readonly #attempts = new Set<Promise<unknown>>();
  /** Counts changes of ids. Nested calls of an operation depend on which changes it was registered after. */
  #changes = 0;
  /** The change with which peers first served an id. */
  readonly #servedSince = new BoundedMap<string, number>(maxIds);
  /** The change with which the program last removed its operation with an id. */
  readonly #removedSince = new BoundedMap<string, number>(maxIds);
  /** The last change before an operation was registered. Absent for those that were registered before all changes. */
  readonly #registeredAfter = new WeakMap<OperationEntry, number>();
  readonly #onReserved: () => void;

  constructor(onReserved: () => void) {
    this.#onReserved = onReserved;
  }

  /** Records a source before it loads, with its namespace if that is known. */
  expect(source: object, namespace: string | undefined, isForeign: boolean): void {
    if (namespace !== undefined) this.reserve(namespace, isForeign ? "peers" : "process");
    else if (!isForeign) this.#unloaded.add(source);
  }

  /** Records that a source has loaded, or that it was closed. */
  settle(source: object): void {
    this.#unloaded.delete(source);
  }

  /** Whether a source that may own any namespace has never loaded. */
  get isIncomplete(): boolean {
    return this.#unloaded.size > 0;
  }

  /** Reserves a namespace for sources of this process, or for peers of a source with that namespace in its options. */
  reserve(namespace: string, owner: "process" | "peers" = "process"): void {
    const known = this.#reserved.get(namespace);
    if (known === "process" || known === owner) return;
    this.#reserved.set(namespace, owner);
    this.#onReserved();
  }

  /** Returns whether operations of a source may have a namespace. */
  mayUse(namespace: string, { isForeign, hasForeignNamespaces }: OperationOwner): boolean {
    const owner = this.#reserved.get(namespace);
    return owner === undefined || !isForeign || (owner === "peers" && !hasForeignNamespaces);
  }

  /** Makes peers wait for the first attempt to load a source of this process. */
  holdPeers(attempt: Promise<unknown>): void {
    this.#attempts.add(attempt);
    const end = () => this.#attempts.delete(attempt);
    attempt.then(end, end);
  }

  /** Resolves when the operations of peers may be registered. Rejects when `signal` fires. */
  async whenPeersMayStart(signal: AbortSignal): Promise<void> {
    if (this.#attempts.size === 0) return;
    const attempts = Promise.allSettled(this.#attempts);
    await waitFor(attempts, { timeout: maxHoldMs, signal }, (reason) => new Error(reason)).catch(() => {});
    signal.throwIfAborted();
  }

  /** Records that an operation is registered, or that it replaces another version of itself. */
  noteOffered(entry: OperationEntry, before: OperationEntry | undefined): void {
    if (entry.owner?.hasForeignNamespaces === true) {
      if (!this.#servedSince.has(entry.id)) this.#servedSince.set(entry.id, ++this.#changes);
    } else if (this.#changes > 0) {
      this.#registeredAfter.set(entry, before === undefined ? this.#changes : this.#lastChangeBefore(before));
    }
  }

  /** Records that the program has removed its operation with an id. */
  noteRemoved(id: string): void {
    this.#removedSince.set(id, ++this.#changes);
  }

  /**
   * Throws if a nested call must not reach an operation of a peer: the program has removed the id since the caller was
   * registered, or a source that has never loaded may own it and no peer served it at that time.
   */
  checkNested({ id, owner }: OperationEntry, caller: OperationEntry | undefined): void {
    const last = this.#lastChangeBefore(caller);
    if (last < (this.#removedSince.get(id) ?? 0)) throw operationNotFound(id);
    if (!this.isIncomplete || !owner?.hasForeignNamespaces) return;
    if (last < (this.#servedSince.get(id) ?? Number.POSITIVE_INFINITY)) throw notServedNow(id);
  }

  #lastChangeBefore(entry: OperationEntry | undefined): number {
    return (entry && this.#registeredAfter.get(entry)) ?? 0;
  }
}
