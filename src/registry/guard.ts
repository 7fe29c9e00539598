import { type AbortListener, listenForAbort } from "../internal/abort-listeners.ts";
import { type Expiring, expireAt, monotonicNow, toMonotonic } from "../internal/deadlines.ts";
import { Linked, LinkedSet } from "../internal/linked-set.ts";
import { aborted, type CallError, type ResponseEnvelope, timedOut } from "../operation/index.ts";
import { markPipelineError } from "./failures.ts";
import { reportLateResult } from "./reports.ts";

/** The reason why a call ended before its handler. */
export type Ending = { kind: "aborted"; reason: unknown } | { kind: "expired" };

/** One listener of a guard: to the signal of the caller, or to the guard of the parent call. */
class Watch extends Linked implements AbortListener {
  readonly guard: Guard;

  constructor(guard: Guard) {
    super();
    this.guard = guard;
  }

  abort(reason: unknown): void {
    this.guard.end({ kind: "aborted", reason });
  }
}

/**
 * Ends a call early: by the signal of its caller, by its deadline, or together with its parent call. Only calls that can end
 * early have a guard. It ends at most once, and not after it was released. It is itself an entry of the deadline list, which
 * saves another object.
 */
export class Guard extends Linked implements Expiring {
  // Assigned in the constructor instead of defined as class fields, because that is faster.
  declare readonly operationId: string;
  /** The error that the call ended with. */
  declare ended: CallError | undefined;
  declare private started: boolean;
  declare private released: boolean;
  declare private endListener: ((error: CallError) => void) | undefined;
  declare private expiresAt: number;
  declare private controller: AbortController | undefined;
  declare private children: LinkedSet<Watch> | undefined;
  declare private signalWatch: Watch | undefined;
  declare private baseWatch: Watch | undefined;
  declare private parentWatch: Watch | undefined;

  /** @param started - Whether the handler was called before the guard was needed. */
  constructor(operationId: string, started = false) {
    super();
    this.operationId = operationId;
    this.ended = undefined;
    this.started = started;
    this.released = false;
    this.endListener = undefined;
    this.expiresAt = Number.POSITIVE_INFINITY;
    this.controller = undefined;
    this.children = undefined;
    this.signalWatch = undefined;
    this.baseWatch = undefined;
    this.parentWatch = undefined;
  }

  /** Starts listening. The guard may have ended when this returns, if the signal was aborted or the deadline has passed. */
  arm(signal: AbortSignal | undefined, deadline: number | undefined, parent: Guard | undefined): void {
    if (parent !== undefined) {
      if (parent.ended !== undefined) return this.end(endingOf(parent.ended));
      this.expiresAt = parent.expiresAt;
      // The outer handler may have blocked the event loop, so that the timer could not fire.
      if (this.expiresAt <= monotonicNow()) return this.end({ kind: "expired" });
      if (parent.released) this.#watchDeadline();
      else {
        this.parentWatch = new Watch(this);
        parent.children ??= new LinkedSet();
        parent.children.add(this.parentWatch);
      }
    }
    if (signal !== undefined) {
      this.signalWatch = this.#listenTo(signal);
      if (this.ended !== undefined) return;
    }
    if (deadline !== undefined) {
      const now = Date.now();
      if (deadline <= now) return this.end({ kind: "expired" });
      const expiresAt = toMonotonic(deadline, now);
      // The parent call watches its deadline for both calls, as long as it runs.
      if (expiresAt < this.expiresAt) {
        this.expiresAt = expiresAt;
        expireAt(this, expiresAt);
      }
    }
  }

  expire(): void {
    this.end({ kind: "expired" });
  }

  /** Whether the call has neither ended nor been released. */
  get isOpen(): boolean {
    return !this.released && this.ended === undefined;
  }

  /** Adds a listener to the end. It is called immediately if the call has ended. */
  onEnd(listener: (error: CallError) => void): void {
    const earlier = this.endListener;
    if (this.ended !== undefined) listener(this.ended);
    else if (earlier === undefined) this.endListener = listener;
    else {
      this.endListener = (error) => {
        earlier(error);
        listener(error);
      };
    }
  }

  /** Stops listening. Returns false when the call has ended or was released before. */
  release(): boolean {
    if (this.released || this.ended !== undefined) return false;
    this.released = true;
    this.#leave();
    // Nested calls that are still running keep the deadline.
    const children = this.children;
    for (let child = children?.shift(); child !== undefined; child = children?.shift()) child.guard.#watchDeadline();
    return true;
  }

  /**
   * Records that the handler is called and may have an effect from now on. Throws if the call has ended, or if its
   * deadline passed while the event loop was blocked.
   */
  start(): void {
    if (this.expiresAt <= monotonicNow()) this.expire();
    if (this.ended !== undefined) throw this.ended;
    this.started = true;
  }

  /** The signal of the handler, created on first use. */
  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.ended !== undefined) this.controller.abort(this.ended);
    }
    return this.controller.signal;
  }

  /** Ends the call: notifies its caller, its handler's signal and its nested calls. The caller receives `given`, if any. */
  end(ending: Ending, given?: CallError): void {
    if (this.released || this.ended !== undefined) return;
    const error = given ?? toError(this.operationId, ending, this.started);
    this.ended = error;
    this.#leave();
    this.endListener?.(error);
    this.#fire(error, ending);
  }

  /** Ends a call whose caller already has the outcome: notifies only its handler's signal and its nested calls. */
  abandon(error: CallError, ending: Ending = endingOf(error)): void {
    if (this.ended !== undefined) return;
    this.ended = error;
    this.#leave();
    this.#fire(error, ending);
  }

  #fire(error: CallError, ending: Ending): void {
    this.controller?.abort(error);
    const children = this.children;
    for (let child = children?.shift(); child !== undefined; child = children?.shift()) child.guard.end(ending);
  }

  /** Listens to another signal. Does not use `AbortSignal.any`, which leaks memory with long-lived signals. */
  alsoListenTo(signal: AbortSignal): void {
    this.baseWatch = this.#listenTo(signal);
  }

  #listenTo(signal: AbortSignal): Watch | undefined {
    if (signal.aborted) {
      this.end({ kind: "aborted", reason: signal.reason });
      return undefined;
    }
    const watch = new Watch(this);
    listenForAbort(signal, watch);
    return watch;
  }

  #watchDeadline(): void {
    if (this.owner === undefined && this.expiresAt !== Number.POSITIVE_INFINITY) expireAt(this, this.expiresAt);
  }

  #leave(): void {
    this.unlink();
    this.signalWatch?.unlink();
    this.baseWatch?.unlink();
    this.parentWatch?.unlink();
  }
}

/** Receives the outcome of a call. Exactly one of the two methods is called. */
export interface CallOutcome {
  /** Receives the envelope. */
  onResult(envelope: ResponseEnvelope): void;
  /** Receives a `CallError`. */
  onError(error: unknown): void;
}

/** Settles a promise with the outcome of a call, unless its guard has ended the call before. */
export class RaceOutcome implements CallOutcome {
  declare readonly guard: Guard;
  declare readonly resolve: (envelope: ResponseEnvelope) => void;
  declare readonly reject: (error: unknown) => void;

  constructor(guard: Guard, resolve: (envelope: ResponseEnvelope) => void, reject: (error: unknown) => void) {
    this.guard = guard;
    this.resolve = resolve;
    this.reject = reject;
  }

  onResult(envelope: ResponseEnvelope): void {
    if (this.guard.release()) this.resolve(envelope);
    else reportLateResult(this.guard.operationId);
  }

  onError(error: unknown): void {
    if (this.guard.release()) this.reject(error);
    else reportLateResult(this.guard.operationId);
  }
}

function toError(operationId: string, ending: Ending, started: boolean): CallError {
  const isExpired = ending.kind === "expired";
  return markPipelineError(
    operationId,
    isExpired ? timedOut(operationId, started) : aborted(operationId, ending.reason, started),
  );
}

function endingOf(error: CallError): Ending {
  return error.code === "TIMEOUT" ? { kind: "expired" } : { kind: "aborted", reason: error.cause };
}
