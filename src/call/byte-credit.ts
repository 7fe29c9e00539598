import { roughSize } from "../internal/rough-size.ts";

/**
 * How many bytes of values a producer may have on their way to a consumer. Values are released in the order in which they
 * were sent, so that only the producer measures them.
 */
export class ByteCredit {
  readonly #allowed: number;
  /** The sizes of values that were sent and not yet taken, from `#first` on. */
  #sizes: number[] = [];
  #first = 0;
  #used = 0;
  #sinceDue = 0;

  /** @param allowed bytes; one value may go beyond it */
  constructor(allowed: number) {
    this.#allowed = allowed;
  }

  get isUsedUp(): boolean {
    return this.#used >= this.#allowed;
  }

  /**
   * Counts a value that is sent. True when the consumer has to report that it has taken it: after half of the bytes, and
   * before a pause.
   */
  spend(value: unknown): boolean {
    const size = roughSize(value, this.#allowed);
    this.#sizes.push(size);
    this.#used += size;
    this.#sinceDue += size;
    if (!this.isUsedUp && 2 * this.#sinceDue < this.#allowed) return false;
    this.#sinceDue = 0;
    return true;
  }

  /** The consumer has taken so many values. */
  release(count: number): void {
    const end = Math.min(this.#first + count, this.#sizes.length);
    for (; this.#first < end; this.#first++) this.#used -= this.#sizes[this.#first]!;
    if (this.#first < this.#sizes.length) return;
    this.#sizes = [];
    this.#first = 0;
    this.#used = 0;
  }
}
