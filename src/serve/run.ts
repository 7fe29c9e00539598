import { FairShare } from "../call/fair-share.ts";
import { drain, type RunningRequests } from "../call/inside.ts";
import {
  aborted,
  type CallError,
  credentialEnded,
  limitExceeded,
  type Progress,
  type RequestFields,
  type ResponseEnvelope,
  resolveDuration,
  resolveLimits,
} from "../operation/inside.ts";
import { Call, coreOf, type OperationRegistry, type RegistryCore, Subscription } from "../registry/inside.ts";
import type { Caller, Gate } from "./gate.ts";
import { serverClosed } from "./refusals.ts";
import type { CloseOptions, ServeOptions } from "./server.ts";

/** A call that a server has read from a request. */
export interface ServedCall extends RequestFields {
  readonly requestId: string;
  readonly operationId: string;
  readonly input: unknown;
  readonly caller: Caller;
  /** The time limit that the client requests, in ms. */
  readonly timeout?: number | undefined;
  /** Receives the progress that the handler reports. */
  readonly onProgress?: (progress: Progress) => void;
  /** Calls the listener when the client has disconnected or has cancelled the call. Later calls of it have no effect. */
  onClose(listener: (reason?: unknown) => void): void;
}

/** A call that is running. */
interface RunningCall {
  readonly operationId: string;
  readonly owner: string;
  readonly isSubscription: boolean;
  /** Ends it with an error. */
  end(error: CallError): void;
}

/**
 * Runs the calls that a server receives, as promises and iterators. All servers share its rules for time limits, the number
 * of calls, clients that disconnect, credentials that end, and closing.
 */
export class CallRunner implements RunningRequests {
  readonly #core: RegistryCore;
  readonly #gate: Gate | undefined;
  readonly #defaultTimeout: number;
  readonly #maxTimeout: number;
  readonly #share: FairShare;
  readonly #via: string;
  readonly #running = new Set<RunningCall>();
  #onIdle: Array<() => void> = [];
  /** Whether the server was closed. It must refuse further requests. */
  isClosed = false;
  #closed: Promise<void> | undefined = undefined;

  /**
   * @param via - what events of calls report as their door, such as `http`
   * @param gate - watches the credentials of callers. @default they do not end
   */
  constructor(
    registry: OperationRegistry,
    options: Pick<ServeOptions, "defaultTimeout" | "maxTimeout" | "limits">,
    via: string,
    gate?: Gate,
  ) {
    const limits = resolveTimeLimits(options);
    this.#core = coreOf(registry);
    this.#gate = gate;
    this.#via = via;
    this.#defaultTimeout = limits.defaultTimeout;
    this.#maxTimeout = limits.maxTimeout;
    this.#share = new FairShare(resolveLimits(options.limits).pendingCalls);
  }

  /** Runs a query or mutation. Rejects with a `CallError`; with `ABORTED` when the client disconnects. */
  async call(request: ServedCall): Promise<ResponseEnvelope> {
    const { requestId, operationId, caller, metadata, input } = request;
    const timeout = Math.min(request.timeout ?? this.#defaultTimeout, this.#maxTimeout);
    const deadline = timeout === Number.POSITIVE_INFINITY ? undefined : Date.now() + timeout;
    const reportProgress = request.onProgress ?? ignore;
    const origin = { requestId, depth: 0, isRemote: true, via: this.#via, reportProgress };
    const call = Call.incoming(this.#core, operationId, { identity: caller.identity, deadline, metadata }, origin);
    const running = { operationId, owner: caller.owner, isSubscription: false, end: call.end };
    this.#enter(running);
    try {
      request.onClose((reason) => {
        if (this.#running.has(running)) call.abort(reason);
      });
      return await call.run(input);
    } finally {
      this.#leave(running);
    }
  }

  /**
   * Starts a subscription with the first `next()`. It ends with an error when the client disconnects, or when its credentials
   * expire or are removed. Throws a `CallError` if it must not start. Read it to its end, or call `return()`.
   * @param onOpen - called when the handler was called; its first value may take any time
   */
  values(request: ServedCall, onOpen?: () => void): AsyncIterableIterator<ResponseEnvelope, undefined> {
    const { requestId, operationId, caller, metadata, lastEventId, input, timeout } = request;
    const deadline = timeout === undefined ? undefined : Date.now() + Math.min(timeout, this.#maxTimeout);
    const options = { identity: caller.identity, metadata, lastEventId, deadline };
    let stopWatching: (() => void) | undefined;
    const onEnd = () => {
      stopWatching?.();
      this.#leave(running);
    };
    const origin = {
      requestId,
      depth: 0,
      isRemote: true,
      via: this.#via,
      reportProgress: ignore,
      ...(onOpen !== undefined && { onOpen }),
      onEnd,
    };
    const subscription = new Subscription(this.#core, operationId, input, options, origin);
    const end = (error: CallError) => {
      if (this.#running.has(running)) subscription.endWith(error);
    };
    const running = { operationId, owner: caller.owner, isSubscription: true, end };
    this.#enter(running);
    stopWatching = this.#gate?.watch(caller, (reason) => end(credentialEnded(operationId, reason, true)));
    request.onClose((reason) => end(aborted(operationId, reason, true)));
    return subscription.values;
  }

  /** Lets running calls finish, and ends subscriptions with `UNAVAILABLE`. The options of the first call apply. */
  close(options: CloseOptions = {}): Promise<void> {
    this.isClosed = true;
    this.#closed ??= drain(async () => {}, this, options);
    return this.#closed;
  }

  end(which: "subscriptions" | "all", toError: (operationId: string) => CallError): void {
    for (const call of [...this.#running]) {
      if (which === "all" || call.isSubscription) call.end(toError(call.operationId));
    }
  }

  settled(): Promise<void> {
    return this.#running.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#onIdle.push(resolve));
  }

  /** Adds a further call. Throws if it must not start: its request may have been read until now. */
  #enter(call: RunningCall): void {
    if (this.isClosed) throw serverClosed();
    if (!this.#share.take(call.owner)) {
      throw limitExceeded("Too many calls are running", "pendingCalls", this.#share.limit);
    }
    this.#running.add(call);
  }

  #leave(call: RunningCall): void {
    if (!this.#running.delete(call)) return;
    this.#share.release(call.owner);
    if (this.#running.size === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
  }
}

function ignore(): void {}

/**
 * Returns the time limits of calls from outside, in ms. The maximum also limits calls that request no limit; its default is
 * never less than their default.
 */
function resolveTimeLimits(options: Pick<ServeOptions, "defaultTimeout" | "maxTimeout">) {
  const never = { infinite: true };
  const defaultTimeout = resolveDuration("defaultTimeout", options.defaultTimeout, 30_000, never);
  const maxTimeout = resolveDuration("maxTimeout", options.maxTimeout, Math.max(3_600_000, defaultTimeout), never);
  return { defaultTimeout, maxTimeout };
}
