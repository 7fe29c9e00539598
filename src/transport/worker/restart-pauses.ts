const first = 100;
const longest = 30_000;
/** In ms. A worker that served for so long did not fail because it was started. */
const steady = 2_000;

/**
 * How long to wait, in ms, before a worker that died is started again: twice as long each time, as long as it dies soon
 * after it was started.
 */
export class RestartPauses {
  #deaths = 0;

  /** @param servedFor how long the worker served, in ms; 0 when it never did */
  next(servedFor: number): number {
    if (servedFor >= steady) this.#deaths = 0;
    const pause = Math.min(longest, first * 2 ** Math.min(this.#deaths, 30));
    this.#deaths += 1;
    return pause;
  }
}
