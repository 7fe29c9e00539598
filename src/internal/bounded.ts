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

/** A set with at most `max` members, which removes the oldest ones. Adding a member again makes it the newest. */
export class BoundedSet<T> extends Set<T> {
  readonly #max: number;
  readonly #oldest: Iterator<T>;

  /** @param max at least 1 */
  constructor(max: number) {
    super();
    this.#max = max;
    this.#oldest = this.keys();
  }

  override add(member: T): this {
    this.delete(member);
    if (this.size >= this.#max) this.delete(this.#oldest.next().value!);
    return super.add(member);
  }
}
