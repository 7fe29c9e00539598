import { startTimer } from "../internal/timers.ts";
import { onAbort } from "../internal/wait.ts";
import { aborted, type CallError, timedOut } from "../operation/inside.ts";
import { markPipelineError } from "./failures.ts";
import { reportLateResult } from "./reports.ts";

/** What ends a call early. */
export interface CallLimits {
  /** In milliseconds since the epoch. */
  readonly deadline: number | undefined;
  readonly signal: AbortSignal | undefined;
  /** A second signal, that of a client or an env. */
  readonly baseSignal: AbortSignal | undefined;
}

/**
 * The time from the start of a call to the end of its handler. It can end early: at the deadline, by a signal, with the
 * call that it is nested in, or by its owner. Then its caller, the signal of the handler and the nested calls are notified,
 * once. Calls that nothing can end early have none.
 */
export class Lifetime {
  /** Whether the handler was called. */
  hasStarted = false;
  /** Receives the error that ends the call early. */
  onEnd: ((error: CallError) => void) | undefined = undefined;
  readonly #operationId: string;
  /** Absent for a call without any, whose lifetime only provides a signal, which never fires. */
  readonly limits: CallLimits | undefined;
  readonly #parent: Lifetime | undefined;
  #isClosed = false;
  /** The error that ended the call early. */
  error: CallError | undefined = undefined;
  /** Whether the deadline ended the call. */
  #hasExpired = false;
  /** Removes the timer and the listeners. */
  #stop: (() => void) | undefined = undefined;
  #children: Set<Lifetime> | undefined = undefined;
  #controller: AbortController | undefined = undefined;

  constructor(operationId: string, limits?: CallLimits, parent?: Lifetime) {
    this.#operationId = operationId;
    this.limits = limits;
    this.#parent = parent;
  }

  /** The signal of the handler. */
  get signal(): AbortSignal {
    this.watch();
    this.#controller ??= new AbortController();
    if (this.error !== undefined) this.#controller.abort(this.error);
    return this.#controller.signal;
  }

  /** Throws if the call has ended, or if one of its limits has been reached that is not watched yet. */
  check(): void {
    this.#endIfReached();
    if (this.error !== undefined) throw this.error;
  }

  /** Ends the call when a limit is reached, from now on. */
  watch(): void {
    if (this.limits === undefined || this.#stop !== undefined) return;
    this.#endIfReached();
    if (this.#isClosed) return;
    const { deadline = Number.POSITIVE_INFINITY, signal, baseSignal } = this.limits;
    const timer = startTimer(() => this.#expire(), deadline - Date.now());
    const abort = (reason: unknown) => this.abort(reason);
    const stops = [onAbort(signal, abort), onAbort(baseSignal, abort)];
    const parent = this.#parent;
    if (parent !== undefined) {
      parent.#children ??= new Set();
      parent.#children.add(this);
    }
    this.#stop = () => {
      timer.stop();
      for (const stop of stops) stop();
      if (parent !== undefined) parent.#children?.delete(this);
    };
  }

  /** Ends the call early with `ABORTED`. */
  abort(reason: unknown): void {
    this.end(aborted(this.#operationId, reason, this.hasStarted));
  }

  /** Ends the call early with this error. Has no effect on a call that has ended. */
  end(error: CallError): void {
    if (this.#isClosed) return;
    this.error = markPipelineError(this.#operationId, error);
    this.#close();
    this.onEnd?.(error);
    this.#controller?.abort(error);
    for (const child of this.#children ?? []) child.#endLikeParent();
  }

  /** Records that the handler has ended, so that nothing ends the call early any more. */
  finish(): void {
    if (this.error !== undefined && this.hasStarted) reportLateResult(this.#operationId);
    this.onEnd = undefined; // It refers to the result, which whoever may end the call would keep.
    this.#close();
  }

  #close(): void {
    this.#isClosed = true;
    this.#stop?.();
  }

  #endIfReached(): void {
    if (this.#isClosed || this.limits === undefined) return;
    const { deadline, signal, baseSignal } = this.limits;
    if (this.#parent !== undefined) this.#endLikeParent();
    if (signal?.aborted) this.abort(signal.reason);
    if (baseSignal?.aborted) this.abort(baseSignal.reason);
    if (deadline !== undefined && deadline <= Date.now()) this.#expire();
  }

  #expire(): void {
    if (!this.#isClosed) this.#hasExpired = true;
    this.end(timedOut(this.#operationId, this.hasStarted));
  }

  #endLikeParent(): void {
    const parent = this.#parent;
    if (parent === undefined || parent.error === undefined) return;
    if (parent.#hasExpired) return this.#expire();
    this.abort(parent.error.code === "ABORTED" ? parent.error.cause : parent.error);
  }
}
