import { monotonicNow } from "./deadlines.ts";

/** How long a measurement is good for, in ms: two clocks drift apart by about a millisecond meanwhile. */
const lasts = 10_000;
/** An answer that took longer than this, in ms, is not good enough to stay with. */
const slowAnswer = 50;

/**
 * The monotonic clock of another process, as far as it can be known from here, so that the age of a message can be told
 * whatever the wall clocks of both say. Somebody asks for its time now and then and passes the answer on to `set`.
 */
export class RemoteClock {
  /** Our time minus theirs, or less: nothing is taken for younger than it is. */
  #offset: number | undefined = undefined;
  #dueAt = Number.NEGATIVE_INFINITY;

  /** `asked` is our time when they were asked, `told` theirs when they answered. */
  set(asked: number, told: number): void {
    const offset = asked - told;
    if (this.#offset === undefined || offset > this.#offset) this.#offset = offset;
    if (monotonicNow() - asked > slowAnswer) this.#dueAt = Number.NEGATIVE_INFINITY;
  }

  /** Whether it is time to ask; once each time. */
  isDue(now: number): boolean {
    if (now < this.#dueAt) return false;
    this.#dueAt = now + lasts;
    return true;
  }

  /** How long a message that they sent at a time of theirs has been on its way, in ms; `undefined` before an answer. */
  ageOf(sentAt: number, now: number): number | undefined {
    if (this.#offset === undefined) return undefined;
    const age = now - sentAt - this.#offset;
    if (age >= 0) return age;
    this.#offset += age; // nothing comes before it is sent: their clock is faster than ours
    return 0;
  }
}
