const most = 5;
const within = 60_000;
const firstDelay = 100;

/** How often something that dies may be started again: five times in a minute, each time after a longer pause. */
export class RestartBudget {
  #taken: number[] = [];

  /** How long to wait before the next start, in ms, or `undefined` when there have been too many. */
  take(now = performance.now()): number | undefined {
    this.#taken = this.#taken.filter((time) => now - time < within);
    if (this.#taken.length >= most) return undefined;
    this.#taken.push(now);
    return firstDelay * 2 ** (this.#taken.length - 1);
  }
}
