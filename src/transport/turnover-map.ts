/** Minimum number of additions before a new table is created; with fewer the cost exceeds the benefit. */
const minAdded = 1_024;

/**
 * A map for entries that are added and removed frequently. A `Map` of V8 replaces its table from time to time, and each
 * old table keeps the next one alive. Once an old table is in the old generation, every entry that was in the map when the
 * table was replaced stays in memory until the next full collection. This map creates a new `Map` before much memory is retained.
 */
export class TurnoverMap<K, V> {
  size = 0;
  #map = new Map<K, V>();
  #added = 0;

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  set(key: K, value: V): void {
    this.#added += 1;
    if (this.#added > minAdded && this.#added > 2 * this.size) {
      this.#map = new Map(this.#map);
      this.#added = 0;
    }
    this.#map.set(key, value);
    this.size = this.#map.size;
  }

  delete(key: K): boolean {
    const wasThere = this.#map.delete(key);
    this.size = this.#map.size;
    return wasThere;
  }

  clear(): void {
    this.#map.clear();
    this.size = 0;
  }

  /** Returns the current entries in the order in which they were added. The map may change while the list is used. */
  entries(): Array<[K, V]> {
    return [...this.#map];
  }
}
