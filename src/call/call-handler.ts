import { monotonicNow } from "../internal/deadlines.ts";
import { LinkedSet } from "../internal/linked-set.ts";
import {
  formatOperationId,
  type Identity,
  type Limits,
  limitExceeded,
  type OperationSpec,
  resolveDuration,
  resolveLimits,
} from "../operation/index.ts";
import { coreOf, forwardingOf, type OperationRegistry, publishedSpecs } from "../registry/index.ts";
import type { CallRequested, Reply, SendFollowUp, Unsubscribe } from "../transport/transport.ts";
import { CallBudgets } from "./call-budgets.ts";
import { setRunningRequests } from "./drain.ts";
import { IncomingCall } from "./incoming-call.ts";
import { type IdentityRules, type IncomingHost, type IncomingRequest, sendError } from "./incoming-request.ts";
import { IncomingSubscription } from "./incoming-subscription.ts";
import type { PendingRequestMap } from "./pending-request-map.ts";

/**
 * Replies to requests. Without `reply`, it replies through the map that it was built with, for programs that listen to
 * `call.requested` themselves. A plain function is also a handler. It may return a function that receives the later
 * frames of the call.
 */
export interface CallHandler {
  (frame: CallRequested, reply?: Reply, caller?: Identity): SendFollowUp | void;
  /**
   * Returns the operations that it serves. A handler without this method receives every request that no other handler
   * serves by name, only in process and over event targets.
   */
  operations?(): OperationSpec[];
  /** Calls `listener` when the operations change. */
  onChange?(listener: (change: HandlerChange) => void): Unsubscribe;
  /** Resolves when no call is running. */
  settled?(): Promise<void>;
}

/** A handler that lists its operations and reports their changes. Created by `buildCallHandler`. */
export interface BuiltCallHandler extends CallHandler {
  (frame: CallRequested, reply?: Reply, caller?: Identity): SendFollowUp;
  operations(): OperationSpec[];
  onChange(listener: (change: HandlerChange) => void): Unsubscribe;
  settled(): Promise<void>;
}

/** Changes of a handler's operations, by id. An operation whose spec changed is in `added`. */
export interface HandlerChange {
  /** Ids of operations that are served from now on. */
  added: readonly string[];
  /** Ids of operations that are no longer served. */
  removed: readonly string[];
}

/** Options of {@link buildCallHandler}. */
export interface CallHandlerOptions extends IdentityRules {
  /** The registry whose operations are served. */
  registry: OperationRegistry;
  /** The map that receives the requests. */
  callMap: PendingRequestMap;
  /**
   * Time limit of calls that arrive without a timeout, in ms; `Infinity` for no limit. Like `execute`, calls in process
   * have no default limit. @default 30,000
   */
  defaultTimeout?: number;
  /** Maximum time limit that a caller can request, in ms; `Infinity` for no limit. @default one hour */
  maxTimeout?: number;
  /** Maximum number of running calls, and of further calls that one of them may cause. */
  limits?: Pick<Limits, "pendingCalls" | "callsPerRoot">;
}

const ignoreFollowUps: SendFollowUp = () => {};

/**
 * Creates a handler that runs the operations of a registry for remote callers. It checks and runs each call and replies
 * to it. It ends a call at its deadline, or when its caller aborts or disconnects. Operations that were imported from
 * peers of the same map are excluded.
 */
export function buildCallHandler(options: CallHandlerOptions): BuiltCallHandler {
  const { registry, callMap, limits, authenticate, trustedBus } = options;
  const { isInProcess } = callMap;
  const never = { infinite: true };
  const timeoutDefault = isInProcess ? Number.POSITIVE_INFINITY : 30_000;
  const defaultTimeout = resolveDuration("defaultTimeout", options.defaultTimeout, timeoutDefault, never);
  const maximumDefault = isInProcess ? Number.POSITIVE_INFINITY : 3_600_000;
  const maxTimeout = resolveDuration("maxTimeout", options.maxTimeout, maximumDefault, never);
  const { pendingCalls, callsPerRoot } = resolveLimits(limits);
  const host: IncomingHost = {
    core: coreOf(registry),
    authenticate,
    trustedBus,
    isRemote: callMap.transport.capabilities?.sharesObjects !== true,
    budgets: new CallBudgets(callsPerRoot),
    open: new LinkedSet<IncomingRequest>(),
    running: 0,
    waiting: [],
  };

  const handle = (frame: CallRequested, given?: Reply, caller?: Identity): SendFollowUp => {
    if (given === undefined && !callMap.claim(frame)) return ignoreFollowUps;
    const reply = given ?? callMap.replyTo(frame);
    if (host.running >= pendingCalls) {
      void sendError(reply, frame, limitExceeded("Too many calls are running", "pendingCalls", pendingCalls));
      return ignoreFollowUps;
    }
    if (frame.credit !== undefined) {
      const subscription = new IncomingSubscription(host, frame, reply);
      void subscription.begin(caller, toDeadline(frame, Number.POSITIVE_INFINITY, maxTimeout));
      return (followUp) => subscription.receive(followUp);
    }
    const call = new IncomingCall(host, frame, reply);
    call.begin(caller, toDeadline(frame, defaultTimeout, maxTimeout));
    return (followUp) => call.receive(followUp);
  };

  const isServed = (id: string) => {
    const handler = registry.getHandler(id);
    return handler !== undefined && forwardingOf(handler)?.through !== callMap;
  };
  const handler: BuiltCallHandler = Object.assign(handle, {
    operations: () =>
      publishedSpecs(host.core).filter(({ namespace, name }) => isServed(formatOperationId(namespace, name))),
    onChange: (listener: (change: HandlerChange) => void) =>
      registry.on("change", ({ operationId }) => {
        listener(isServed(operationId) ? { added: [operationId], removed: [] } : { added: [], removed: [operationId] });
      }),
    settled: () =>
      host.running === 0 ? Promise.resolve() : new Promise<void>((resolve) => host.waiting.push(resolve)),
  });
  setRunningRequests(handler, {
    end(which, toError) {
      for (const request of [...host.open]) {
        if (which === "all" || request.isSubscription) request.endWith(toError(request.operationId));
      }
    },
    settled: handler.settled,
  });
  return handler;
}

/**
 * Returns when a request fails with `TIMEOUT`, in ms since the epoch. A requested timeout cannot exceed the maximum; an
 * invalid one counts as 0.
 */
function toDeadline(frame: CallRequested, defaultTimeout: number, maxTimeout: number): number | undefined {
  const { timeout, expiresAt } = frame;
  const isNumber = typeof timeout === "number" && !Number.isNaN(timeout);
  const left = timeout === undefined ? defaultTimeout : isNumber ? Math.min(timeout, maxTimeout) : 0;
  if (left === Number.POSITIVE_INFINITY) return undefined;
  const now = Date.now(); // Read this clock first: a pause between the two reads must not extend the deadline.
  return now + (Number.isFinite(expiresAt) ? Math.min(left, expiresAt! - monotonicNow()) : left);
}
