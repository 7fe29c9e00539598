import { backOffDelay } from "../../../internal/back-off.ts";
import { resolveCount, resolveDuration } from "../../../operation/inside.ts";
import type { MCPRestart } from "../config.ts";

/** Limits how often a server is restarted within a window of time. */
export class RestartBudget {
  readonly #limit: number;
  readonly #window: number;
  readonly #backOff: { first: number; max: number };
  readonly #random: () => number;
  #times: number[] = [];

  constructor({ limit, window, delay, maxDelay }: MCPRestart, random = Math.random) {
    this.#limit = resolveCount("restart.limit", limit, 5, { min: 0, infinite: true });
    this.#window = resolveDuration("restart.window", window, 60_000);
    this.#backOff = {
      first: resolveDuration("restart.delay", delay, 250),
      max: resolveDuration("restart.maxDelay", maxDelay, 10_000),
    };
    this.#random = random;
  }

  /** Uses one restart at the time `now`, in ms. Returns the delay before it, or `undefined` if the limit is reached. */
  take(now: number): number | undefined {
    this.#times = this.#recent(now);
    const recent = this.#times.length;
    if (recent >= this.#limit) return undefined;
    this.#times.push(now);
    return recent === 0 ? 0 : backOffDelay(recent - 1, this.#backOff, this.#random);
  }

  /**
   * Returns the time from `now` until the next restart is allowed, in ms, or `undefined` if restarts are never allowed.
   */
  waitAt(now: number): number | undefined {
    if (this.#limit < 1) return undefined;
    const recent = this.#recent(now);
    return recent.length < this.#limit ? 0 : recent[recent.length - this.#limit]! + this.#window - now;
  }

  /** Allows all restarts again. */
  reset(): void {
    this.#times = [];
  }

  #recent(now: number): number[] {
    return this.#times.filter((time) => now - time < this.#window);
  }
}
