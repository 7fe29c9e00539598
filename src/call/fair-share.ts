/** Number of owners from which those that have nothing are removed. */
const maxKnown = 1_000;

/**
 * A limit that several owners share, such as the callers of a server. While more than half of it is in use, the owner that
 * has the most is refused, so that one owner cannot keep the others out.
 */
export class FairShare {
  readonly limit: number;
  #used = 0;
  /** Contains up to {@link maxKnown} owners that have nothing, because adding and removing them costs more than the rest. */
  readonly #held = new Map<string, number>();

  constructor(limit: number) {
    this.limit = limit;
  }

  /** How much is in use. */
  get used(): number {
    return this.#used;
  }

  /** Takes an amount for an owner. Returns false if the owner is refused; then nothing is taken. */
  take(owner: string, amount = 1): boolean {
    if (this.#used + amount > this.limit) return false;
    const held = this.#held.get(owner) ?? 0;
    if (2 * this.#used > this.limit && this.#isLargest(held)) return false;
    this.#used += amount;
    this.#held.set(owner, held + amount);
    return true;
  }

  /** Returns an amount that the owner has taken. */
  release(owner: string, amount = 1): void {
    const left = (this.#held.get(owner) ?? 0) - amount;
    this.#used -= amount;
    if (left > 0 || this.#held.size < maxKnown) this.#held.set(owner, left);
    else this.#held.delete(owner);
  }

  /** Returns whether no owner has more. */
  #isLargest(held: number): boolean {
    for (const other of this.#held.values()) if (other > held) return false;
    return true;
  }
}
