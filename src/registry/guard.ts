import { type AbortListener, listenForAbort } from "../internal/abort-listeners.ts";
import { type Expiring, expireAt, monotonicNow, toMonotonic } from "../internal/deadlines.ts";
import { Linked, LinkedSet } from "../internal/linked-set.ts";
import { aborted, type CallError, timedOut } from "../operation/index.ts";
import { markPipelineError } from "./failures.ts";

/** Why a call was given up before its handler answered. */
export type Ending = { kind: "aborted"; reason: unknown } | { kind: "expired" };

/** A further place where a guard waits: its caller's signal, or the guard of the call around it. */
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
 * Watches over a call that can be given up: by its caller's signal, by its deadline, or because the call around it
 * was. Made only for such calls. Ends at most once, and not at all once it was released. Being linked itself, it
 * waits for its deadline without a further object.
 */
export class Guard extends Linked implements Expiring {
  // Assigned rather than defined as class fields: there are many, and calls make one of these each.
  declare readonly operationId: string;
  /** The error that the call was given up with. */
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

  constructor(operationId: string) {
    super();
    this.operationId = operationId;
    this.ended = undefined;
    this.started = false;
    this.released = false;
    this.endListener = undefined;
    this.expiresAt = Number.POSITIVE_INFINITY;
    this.controller = undefined;
    this.children = undefined;
    this.signalWatch = undefined;
    this.baseWatch = undefined;
    this.parentWatch = undefined;
  }

  /** Begins to watch. The guard may have ended when this returns: a signal was aborted before, a deadline is past. */
  arm(
    signal: AbortSignal | undefined,
    deadline: number | undefined,
    parent: Guard | undefined,
    wallNow?: number,
  ): void {
    if (parent !== undefined) {
      if (parent.ended !== undefined) return this.end(endingOf(parent.ended));
      this.expiresAt = parent.expiresAt;
      // The handler around may have kept the timer from firing.
      if (this.#isExpired()) return this.end({ kind: "expired" });
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
      const now = wallNow ?? Date.now();
      if (deadline <= now) return this.end({ kind: "expired" });
      const expiresAt = toMonotonic(deadline, now);
      // The call around watches its own deadline for both, as long as it runs.
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

  /** Says who hears of the end, which may have come already. */
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

  /** Stops watching. True for the first to say so, false when the call has ended or was released before. */
  release(): boolean {
    if (this.released || this.ended !== undefined) return false;
    this.released = true;
    this.#leave();
    // Calls inside that nobody waited for keep the deadline.
    const children = this.children;
    for (let child = children?.shift(); child !== undefined; child = children?.shift()) child.guard.#watchDeadline();
    return true;
  }

  /**
   * Says that the handler is called now: from here on it may have had an effect. Throws when the call has ended, or would
   * have if what came before had let a timer fire.
   */
  start(): void {
    this.endIfExpired();
    if (this.ended !== undefined) throw this.ended;
    this.started = true;
  }

  /** Ends the call when its time is up though no timer could fire. */
  endIfExpired(): void {
    if (this.#isExpired()) this.end({ kind: "expired" });
  }

  /** What the handler can listen to. */
  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.ended !== undefined) this.controller.abort(this.ended);
    }
    return this.controller.signal;
  }

  /** Gives the call up: its caller, its handler's signal and the calls inside it hear of it. */
  end(ending: Ending): void {
    if (this.released || this.ended !== undefined) return;
    const error = toError(this.operationId, ending, this.started);
    this.ended = error;
    this.#leave();
    this.endListener?.(error);
    this.#fire(error, ending);
  }

  /** Ends a call that has been answered: only its handler's signal and the calls inside it hear of it. */
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

  /** Listens to a further signal. Without `AbortSignal.any`, which leaves something behind at signals that live long. */
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

  #isExpired(): boolean {
    return this.expiresAt !== Number.POSITIVE_INFINITY && this.expiresAt <= monotonicNow();
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

function toError(operationId: string, ending: Ending, started: boolean): CallError {
  const isLate = ending.kind === "expired";
  return markPipelineError(
    operationId,
    isLate ? timedOut(operationId, started) : aborted(operationId, ending.reason, started),
  );
}

function endingOf(error: CallError): Ending {
  return error.code === "TIMEOUT" ? { kind: "expired" } : { kind: "aborted", reason: error.cause };
}
