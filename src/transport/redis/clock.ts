import type { RedisClient } from "./client.ts";

/**
 * The server's clock, as far as it can be known from here. Entries carry its time, so that the age of a request is the
 * difference of two times of one clock, whatever the clocks of this machine and the asker's say.
 */
export class ServerClock {
  /** What to add to this process's monotonic time. */
  #offset: number | undefined;

  /** Asks the server for its time. The answer is as old as half of its way. */
  async read(client: RedisClient): Promise<void> {
    const asked = performance.now();
    const [seconds, microseconds] = (await client.sendCommand(["TIME"])) as [string, string];
    const heard = performance.now();
    this.#offset = Number(seconds) * 1_000 + Number(microseconds) / 1_000 - (asked + heard) / 2;
  }

  /** How long ago that was, in ms; never less than 0. */
  since(time: number): number {
    if (this.#offset === undefined) return 0;
    return Math.max(0, performance.now() + this.#offset - time);
  }
}
