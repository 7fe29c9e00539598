import { resolveCount, resolveDuration } from "../../../operation/index.ts";
import type { MCPRestart } from "../config.ts";

/** Says how long to wait before the next restart, and when there were too many. */
export class RestartBudget {
  readonly limit: number;
  readonly window: number;
  readonly #delay: number;
  readonly #maxDelay: number;
  #times: number[] = [];

  constructor({ limit, window, delay, maxDelay }: MCPRestart) {
    this.limit = resolveCount("restart.limit", limit, 5, { min: 0, infinite: true });
    this.window = resolveDuration("restart.window", window, 60_000);
    this.#delay = resolveDuration("restart.delay", delay, 250);
    this.#maxDelay = resolveDuration("restart.maxDelay", maxDelay, 10_000);
  }

  /** Takes one restart at the time `now`, in ms. Gives the wait before it; `undefined` when there were too many. */
  take(now: number): number | undefined {
    this.#times = this.#times.filter((time) => now - time < this.window);
    const recent = this.#times.length;
    if (recent >= this.limit) return undefined;
    this.#times.push(now);
    return recent === 0 ? 0 : Math.min(this.#delay * 2 ** (recent - 1), this.#maxDelay);
  }

  /** How long after `now` the next restart can be taken, in ms: 0 for at once, `undefined` for never. */
  waitAt(now: number): number | undefined {
    if (this.limit < 1) return undefined;
    const recent = this.#times.filter((time) => now - time < this.window);
    return recent.length < this.limit ? 0 : recent[recent.length - this.limit]! + this.window - now;
  }

  /** Forgets what was taken. */
  reset(): void {
    this.#times = [];
  }
}
