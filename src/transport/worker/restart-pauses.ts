const first = 100;
const longest = 30_000;
const enough = 60_000;

/** How long to wait, in ms, before something that died is started again: twice as long each time, until one lasts. */
export class RestartPauses {
  #deaths = 0;
  /** When the last one was to be started. */
  #started = Number.NEGATIVE_INFINITY;

  next(now = performance.now()): number {
    if (now - this.#started >= enough) this.#deaths = 0;
    const pause = Math.min(longest, first * 2 ** Math.min(this.#deaths, 30));
    this.#deaths += 1;
    this.#started = now + pause;
    return pause;
  }
}
