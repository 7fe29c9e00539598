/** With fewer additions than this a new table is not worth its cost. */
const minAdded = 1_024;

/**
 * A map for entries that are added and removed all the time. A `Map` of V8 replaces its table from time to time, and each
 * old table keeps the next one alive. Once an old table is in the old generation, every entry that was in the map when the
 * table was replaced stays in memory until the next full collection. This map starts a new `Map` before that becomes much.
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

  /** The entries as they are now, in the order in which they were added. They may change while the list is used. */
  entries(): Array<[K, V]> {
    return [...this.#map];
  }
}
