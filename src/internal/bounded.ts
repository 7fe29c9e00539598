/** A map with at most `max` entries, which removes the oldest ones. Setting an entry again makes it the newest. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #max: number;
  /** Reused, because a new iterator would visit all entries that were deleted since the table was last rebuilt. */
  readonly #oldest: Iterator<K>;

  /** @param max at least 1 */
  constructor(max: number) {
    super();
    this.#max = max;
    this.#oldest = this.keys();
  }

  override set(key: K, value: V): this {
    this.delete(key);
    if (this.size >= this.#max) this.delete(this.#oldest.next().value!);
    return super.set(key, value);
  }
}
