/** The range of a back-off. */
export interface BackOffRange {
  /** Delay before the first attempt, in ms. */
  first: number;
  /** Maximum delay, in ms. */
  max: number;
}

/**
 * Returns the delay in ms before the attempt with this number, counted from 0. It doubles with each attempt up to `max`, and is
 * reduced by up to half at random, so that clients that failed together do not retry together.
 */
export function backOffDelay(attempt: number, { first, max }: BackOffRange, random = Math.random): number {
  return Math.min(max, first * 2 ** Math.min(attempt, 30)) * (0.5 + random() / 2);
}

/** Counts failed attempts and returns how long to wait before the next one. */
export class BackOff {
  readonly #range: BackOffRange;
  readonly #random: () => number;
  #attempts = 0;

  constructor(range: BackOffRange, random = Math.random) {
    this.#range = range;
    this.#random = random;
  }

  /** Counts a failure. Returns the delay before the next attempt, in ms, as {@link backOffDelay} computes it. */
  next(): number {
    const delay = backOffDelay(this.#attempts, this.#range, this.#random);
    this.#attempts += 1;
    return delay;
  }

  /** Records a successful attempt: the next delay is the first one again. */
  reset(): void {
    this.#attempts = 0;
  }
}
