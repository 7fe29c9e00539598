/** How long, in ms, a backlog over the limit may stand still. */
const patience = 1_000;

/** What waits for a reader, and where that ends. */
interface BacklogOptions {
  /** How many bytes wait now. */
  amount(): number;
  /** Above this many the reader has to get on; above twice as many it is given up at once. */
  limit: number;
  /** Called once, when the reader is given up. */
  onStuck(): void;
}

/** Tells a reader that does not read from one that was just given much: memory is bounded, and a burst breaks nothing. */
export class Backlog {
  readonly #options: BacklogOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: BacklogOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#options.amount() > this.#options.limit;
  }

  /** To be called when something was added. */
  check(): void {
    const { amount, limit, onStuck } = this.#options;
    const before = amount();
    if (before <= limit) return;
    if (before > 2 * limit) return onStuck();
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (amount() < before) this.check();
      else onStuck();
    }, patience);
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}
