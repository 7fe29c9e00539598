import { startTimer, type Timer } from "../../../internal/timers.ts";
import { waitFor } from "../../../internal/wait.ts";
import { CallError, isCallError } from "../../../operation/index.ts";
import { timedOut } from "../errors.ts";

/** The time limit and the signals of one call. Creates a controller and a timer only where they are needed. */
export class CallScope {
  /** Whether a request may have left; decides `mayHaveRun` of what ends the call. */
  sent = false;
  readonly signal: AbortSignal | undefined;
  readonly #operationId: string;
  readonly #outer: AbortSignal | undefined;
  readonly #timeout: number | undefined;
  readonly #controller: AbortController | undefined;
  readonly #end: (() => void) | undefined;
  #timer: Timer | undefined;
  #timedOut = false;

  /** With `own` the scope can be aborted separately, as a stream is when its consumer leaves. */
  constructor(operationId: string, outer: AbortSignal | undefined, timeout: number | undefined, own = false) {
    this.#operationId = operationId;
    this.#outer = outer;
    this.#timeout = timeout;
    if (timeout === undefined && !own) {
      this.signal = outer;
      return;
    }
    const controller = new AbortController();
    this.#controller = controller;
    this.signal = controller.signal;
    this.#end = () => controller.abort();
    if (outer?.aborted) controller.abort();
    else outer?.addEventListener("abort", this.#end, { once: true });
    if (timeout === undefined) return;
    this.#timer = startTimer(() => {
      this.#timedOut = true;
      controller.abort();
    }, timeout);
  }

  /** When the call ends, in ms since the epoch: by its own limit or by `deadline`. */
  static endOf(timeout: number | undefined, deadline: number | undefined): number {
    return Math.min(
      timeout === undefined ? Number.POSITIVE_INFINITY : Date.now() + timeout,
      deadline ?? Number.POSITIVE_INFINITY,
    );
  }

  /** Removes the time limit: the response headers of a stream have arrived. */
  stopTimer(): void {
    this.#timer?.stop();
  }

  /** Aborts the request. */
  abort(): void {
    this.#controller?.abort();
  }

  /** Releases timer and listener. */
  close(): void {
    this.#timer?.stop();
    if (this.#end !== undefined) this.#outer?.removeEventListener("abort", this.#end);
  }

  /** Why the call was ended by its signal or time limit; `undefined` when it was not. */
  get failure(): CallError | undefined {
    if (this.#timedOut) return timedOut(this.#operationId, "no complete response", this.#timeout ?? 0, this.sent);
    if (this.#outer?.aborted !== true) return undefined;
    const { reason } = this.#outer as { reason?: unknown };
    if (isCallError(reason)) return reason;
    const late = reason instanceof DOMException && reason.name === "TimeoutError";
    const message = `"${this.#operationId}" was ${late ? "out of time" : "aborted"}.`;
    return new CallError(late ? "TIMEOUT" : "ABORTED", message, undefined, { retryable: late, mayHaveRun: this.sent });
  }

  /** Settles as `work` does, but no later than the scope: a `fetch` of the user's own may not observe the signal. */
  race<T>(work: Promise<T>): Promise<T> {
    const controller = this.#controller;
    return controller === undefined ? work : waitFor(work, controller, () => controller.signal.reason);
  }
}
