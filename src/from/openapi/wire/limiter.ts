/** Lets a number of requests run at a time; the others wait in order. */
export class ConcurrencyLimiter {
  #free: number;
  readonly #waiting = new Set<() => void>();

  /** @param limit - at least 1, or `Infinity` */
  constructor(limit: number) {
    this.#free = limit;
  }

  /** Resolves when it is this request's turn; rejects when the signal fires before that. */
  acquire(signal: AbortSignal | undefined): Promise<void> {
    if (this.#free > 0) {
      this.#free--;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(enter);
        reject(signal?.reason);
      };
      const enter = () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      if (signal?.aborted) return reject(signal.reason);
      this.#waiting.add(enter);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  /** Gives the place to the next one. */
  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free++;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
