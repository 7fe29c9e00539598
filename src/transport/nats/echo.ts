/** How often this peer writes to itself, in ms. */
const interval = 500;
/** Later echoes mean that the link or this process stood still. */
const tolerance = 2.5 * interval;

/**
 * Finds out how old a message may be. NATS gives messages no time, and one that waited behind a stalled link or a
 * stopped process must not be taken for a fresh one. What this peer writes to itself arrives in line with everything
 * else, so whatever comes now is not older than the last of these that arrived.
 */
export class Echo {
  readonly #timer: NodeJS.Timeout;
  #sentAt = performance.now();

  constructor(send: (text: string) => void) {
    this.#timer = setInterval(() => send(String(performance.now())), interval);
    this.#timer.unref(); // an echo is no reason to stay alive
  }

  receive(text: string): void {
    const sentAt = Number(text);
    if (sentAt > this.#sentAt && sentAt <= performance.now()) this.#sentAt = sentAt;
  }

  /** The link is new: nothing of before can come. */
  restart(): void {
    this.#sentAt = performance.now();
  }

  /** The most that a message which arrives now can have waited, in ms; 0 while nothing stands still. */
  age(): number {
    const age = performance.now() - this.#sentAt;
    return age > tolerance ? age : 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
