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
import { forwardingOf, type OperationRegistry, publishedSpecs } from "../registry/index.ts";
import type { CallRequested, Reply, SendFollowUp, Unsubscribe } from "../transport/transport.ts";
import { CallBudgets } from "./call-budgets.ts";
import type { IdentityRules } from "./identify.ts";
import { markBuilt } from "./origins.ts";
import type { PendingRequestMap } from "./pending-request-map.ts";
import { type RunningHost, sendError, timeLeft } from "./running.ts";
import { RunningCall } from "./running-call.ts";
import type { RunningRequest } from "./running-request.ts";
import { RunningSubscription } from "./running-subscription.ts";

/**
 * Answers requests. Without `reply` it answers through the map that it was built with, for those who listen to
 * `call.requested` themselves. A function alone is a handler too. It returns what takes the later frames of the call, if it
 * wants them.
 */
export interface CallHandler {
  (frame: CallRequested, reply?: Reply, asker?: Identity): SendFollowUp | void;
  /**
   * What it can answer. A handler without it receives every request that no other handler serves by name, in process and
   * over event targets only.
   */
  operations?(): OperationSpec[];
  /** Calls `listener` when that changes. */
  onChange?(listener: (change: HandlerChange) => void): Unsubscribe;
  /** Resolves when no call runs. */
  settled?(): Promise<void>;
}

/** A handler that lists its operations and follows their changes, as `buildCallHandler` makes it. */
export interface BuiltCallHandler extends CallHandler {
  (frame: CallRequested, reply?: Reply, asker?: Identity): SendFollowUp;
  operations(): OperationSpec[];
  onChange(listener: (change: HandlerChange) => void): Unsubscribe;
  settled(): Promise<void>;
}

/** What became of the operations of a handler, by id. One whose spec is another now is in `added`. */
export interface HandlerChange {
  added: readonly string[];
  removed: readonly string[];
}

/** How requests are answered. */
export interface CallHandlerOptions extends IdentityRules {
  registry: OperationRegistry;
  /** Where the requests come from. */
  callMap: PendingRequestMap;
  /**
   * For calls that arrive without a timeout, in ms; `Infinity` for no limit. Calls in process have none, as those of
   * `execute`. @default 30,000
   */
  defaultTimeout?: number;
  /** The longest that a call may take, whatever it asks for, in ms; `Infinity` for no limit. @default one hour */
  maxTimeout?: number;
  limits?: Pick<Limits, "pendingCalls" | "callsPerRoot">;
}

const ignoreFollowUps: SendFollowUp = () => {};

/**
 * Makes a handler that runs the operations of a registry for whoever asks: it checks, runs, replies, and stops work
 * when the time is up, the asker gives up or is gone. Operations that came from peers of the same map are left out.
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
  let waiting: Array<() => void> = [];
  const host: RunningHost = {
    registry,
    authenticate,
    trustedBus,
    isRemote: callMap.transport.capabilities?.sharesObjects !== true,
    budgets: new CallBudgets(callsPerRoot),
    open: new LinkedSet<RunningRequest>(),
    running: 0,
    onIdle() {
      const ready = waiting;
      waiting = [];
      for (const resolve of ready) resolve();
    },
  };

  const handle = (frame: CallRequested, given?: Reply, asker?: Identity): SendFollowUp => {
    if (given === undefined && !callMap.claim(frame)) return ignoreFollowUps;
    const reply = given ?? callMap.replyTo(frame);
    if (host.running >= pendingCalls) {
      sendError(reply, frame, limitExceeded("Too many calls run", "pendingCalls", pendingCalls));
      return ignoreFollowUps;
    }
    const timeout = toTimeout(frame.timeout, maxTimeout);
    if (frame.credit !== undefined) {
      const running = new RunningSubscription(host, frame, reply);
      void running.begin(asker, timeout === undefined ? undefined : Date.now() + timeLeft(frame, timeout));
      return (followUp) => running.follow(followUp);
    }
    const running = new RunningCall(host, frame, reply);
    running.begin(asker, timeout ?? defaultTimeout);
    return (followUp) => running.follow(followUp);
  };

  const isServed = (id: string) => {
    const handler = registry.getHandler(id);
    return handler !== undefined && forwardingOf(handler)?.through !== callMap;
  };
  const handler: BuiltCallHandler = Object.assign(handle, {
    operations: () =>
      publishedSpecs(registry).filter(({ namespace, name }) => isServed(formatOperationId(namespace, name))),
    onChange: (listener: (change: HandlerChange) => void) =>
      registry.on("change", ({ operationId }) => {
        listener(isServed(operationId) ? { added: [operationId], removed: [] } : { added: [], removed: [operationId] });
      }),
    settled: () => (host.running === 0 ? Promise.resolve() : new Promise<void>((resolve) => waiting.push(resolve))),
  });
  markBuilt(handler, {
    end(which, toError) {
      for (const request of [...host.open]) {
        if (which === "all" || request.isSubscription) request.endWith(toError(request.operationId));
      }
    },
    settled: handler.settled,
  });
  return handler;
}

/** What is left of the time that the asker gave: a claim, so nothing above the maximum, and nothing odd. */
function toTimeout(timeout: unknown, maximum: number): number | undefined {
  if (timeout === undefined) return undefined;
  return typeof timeout === "number" && !Number.isNaN(timeout) ? Math.min(timeout, maximum) : 0;
}
