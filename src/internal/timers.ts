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

/**
 * Calls `run` once after `delay` ms. Unlike `setTimeout` it also waits for delays above {@link maxTimerDelay}; `Infinity`
 * never fires and keeps nothing alive.
 * @param keepsAlive - whether the timer keeps the process alive
 */
export function startTimer(run: () => void, delay: number, { keepsAlive = true } = {}): Timer {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = (remaining: number) => {
    const step = Math.min(remaining, maxTimerDelay);
    timer = setTimeout(() => (remaining > step ? wait(remaining - step) : run()), step);
    // In browsers, timers are numbers and do not keep a process alive.
    if (!keepsAlive && typeof timer === "object") timer.unref();
  };
  if (delay !== Number.POSITIVE_INFINITY) wait(delay);
  return { stop: () => clearTimeout(timer) };
}
