import { startTimer, type Timer } from "../../../internal/timers.ts";
import { waitFor } from "../../../internal/wait.ts";
import { CallError, isCallError } from "../../../operation/index.ts";
import { timedOut } from "../errors.ts";

/** The time limit and the signals of one call. Creates a controller and a timer only where they are needed. */
export class CallScope {
  /** Whether a request may have been sent. Sets `mayHaveRun` of the error that ends the call. */
  sent = false;
  readonly signal: AbortSignal | undefined;
  readonly #operationId: string;
  readonly #outer: AbortSignal | undefined;
  readonly #timeout: number | undefined;
  readonly #controller: AbortController | undefined;
  readonly #end: (() => void) | undefined;
  #timer: Timer | undefined;
  #timedOut = false;

  /** With `own`, the scope can be aborted separately, such as a stream when its consumer stops. */
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

  /** Returns when the call ends, in ms since the epoch: after its timeout or at `deadline`. */
  static endOf(timeout: number | undefined, deadline: number | undefined): number {
    return Math.min(
      timeout === undefined ? Number.POSITIVE_INFINITY : Date.now() + timeout,
      deadline ?? Number.POSITIVE_INFINITY,
    );
  }

  /** Removes the time limit, when the response headers of a stream have arrived. */
  stopTimer(): void {
    this.#timer?.stop();
  }

  /** Aborts the request. */
  abort(): void {
    this.#controller?.abort();
  }

  /** Releases the timer and the listener. */
  close(): void {
    this.#timer?.stop();
    if (this.#end !== undefined) this.#outer?.removeEventListener("abort", this.#end);
  }

  /** The error if the signal or the time limit ended the call, otherwise `undefined`. */
  get failure(): CallError | undefined {
    if (this.#timedOut) return timedOut(this.#operationId, "a complete response", this.#timeout ?? 0, this.sent);
    if (this.#outer?.aborted !== true) return undefined;
    const { reason } = this.#outer as { reason?: unknown };
    if (isCallError(reason)) return reason;
    const late = reason instanceof DOMException && reason.name === "TimeoutError";
    const message = `"${this.#operationId}" ${late ? "exceeded its deadline" : "was aborted"}.`;
    return new CallError(late ? "TIMEOUT" : "ABORTED", message, undefined, { retryable: late, mayHaveRun: this.sent });
  }

  /** Settles like `work`, but no later than the scope, because a custom `fetch` may not observe the signal. */
  race<T>(work: Promise<T>): Promise<T> {
    const controller = this.#controller;
    return controller === undefined ? work : waitFor(work, controller, () => controller.signal.reason);
  }
}
