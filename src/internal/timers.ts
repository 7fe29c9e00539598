/** Maximum delay of timers of the platform, in ms. A longer one would fire immediately. */
export const maxTimerDelay = 2 ** 31 - 1;

/** Runs a function in the next turn of the event loop, after promise callbacks and I/O. */
export const deferTurn: (run: () => void) => void =
  typeof setImmediate === "function" ? (run) => setImmediate(run) : (run) => setTimeout(run, 0);

/** A running timer. */
export interface Timer {
  /** Cancels the timer. Has no effect after it has fired. */
  stop(): void;
}

/** Options of a timer. */
export interface TimerOptions {
  /** Whether the timer keeps the process alive. @default true */
  keepsAlive?: boolean;
}

/**
 * Calls `run` once after `delay` ms. Unlike `setTimeout` it also waits for delays above {@link maxTimerDelay}; `Infinity`
 * never fires and keeps nothing alive.
 */
export function startTimer(run: () => void, delay: number, options: TimerOptions = {}): Timer {
  return delay === Number.POSITIVE_INFINITY ? never : new DelayTimer(run, delay, options.keepsAlive ?? true);
}

const never: Timer = { stop() {} };

class DelayTimer implements Timer {
  readonly #run: () => void;
  readonly #keepsAlive: boolean;
  #remaining: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(run: () => void, delay: number, keepsAlive: boolean) {
    this.#run = run;
    this.#keepsAlive = keepsAlive;
    this.#remaining = delay;
    this.#arm();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #arm(): void {
    const delay = Math.min(this.#remaining, maxTimerDelay);
    this.#remaining -= delay;
    this.#timer = setTimeout(() => {
      if (this.#remaining > 0) this.#arm();
      else this.#run();
    }, delay);
    // In browsers, timers are numbers and do not keep a process alive.
    if (!this.#keepsAlive && typeof this.#timer === "object") this.#timer.unref();
  }
}
