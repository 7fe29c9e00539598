import { BoundedMap } from "./bounded.ts";

/** Ids above this number displace the oldest: any peer can announce any number of operations. */
const maxOperations = 10_000;

/** Operations that were served a short while ago. A peer that left with them may be restarting. */
export class RecentOperations {
  readonly #duration: number;
  /** When each was last served. */
  readonly #servedAt = new BoundedMap<string, number>(maxOperations);

  /** @param duration how long an operation counts as recent, in the unit of the `now` that the methods take */
  constructor(duration: number) {
    this.#duration = duration;
  }

  add(operationId: string, now: number): void {
    if (this.#servedAt.get(operationId) !== now) this.#servedAt.set(operationId, now);
  }

  /** A peer that is still there serves it no longer. */
  delete(operationId: string): void {
    this.#servedAt.delete(operationId);
  }

  has(operationId: string, now: number): boolean {
    const servedAt = this.#servedAt.get(operationId);
    if (servedAt === undefined) return false;
    if (now - servedAt <= this.#duration) return true;
    this.#servedAt.delete(operationId);
    return false;
  }
}
