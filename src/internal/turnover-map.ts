/** Fewer entries than this are not worth a new start. */
const leastAdded = 1_024;

/**
 * A map for entries that come and go all the time. A `Map` of V8 makes itself a new table every now and then, and each
 * table keeps the one after it alive; once one of them is in the old space, so is everything that was in the map when a
 * table was left, until the next full collection. This one begins anew before that is much.
 */
export class TurnoverMap<K, V> {
  #map = new Map<K, V>();
  #added = 0;

  get size(): number {
    return this.#map.size;
  }

  has(key: K): boolean {
    return this.#map.has(key);
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  set(key: K, value: V): void {
    this.#added += 1;
    if (this.#added > leastAdded && this.#added > 2 * this.#map.size) {
      this.#map = new Map(this.#map);
      this.#added = 0;
    }
    this.#map.set(key, value);
  }

  delete(key: K): boolean {
    return this.#map.delete(key);
  }

  clear(): void {
    this.#map.clear();
  }

  /** Entries in the order of their coming, as they are now. */
  entries(): Array<[K, V]> {
    return [...this.#map];
  }
}
