import { assertObject } from "../internal/objects.ts";
import { formatOperationId, type Identity, type OperationSpec } from "../operation/inside.ts";
import { createSelector, forwardingOf, type OperationRegistry, type OperationSelection } from "../registry/inside.ts";
import type { CallRequested, Reply, SendFollowUp, Unsubscribe } from "../transport/transport.ts";
import { setRunningRequests } from "./drain.ts";
import { IncomingCall } from "./incoming-call.ts";
import {
  type IdentityRules,
  type OutcomeFilter,
  type RequestLimits,
  RequestRunner,
  sendError,
} from "./incoming-request.ts";
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

/** Options of {@link buildCallHandler}. `include` and `exclude` select the operations that are served. */
export interface CallHandlerOptions extends IdentityRules, RequestLimits, OperationSelection {
  /** The registry whose operations are served. */
  registry: OperationRegistry;
  /** The map that receives the requests. */
  callMap: PendingRequestMap;
}

const ignoreFollowUps: SendFollowUp = () => {};

/**
 * Creates a handler that runs the operations of a registry for remote callers. It checks and runs each call and replies
 * to it. It ends a call at its deadline, or when its caller aborts or disconnects. Operations that were imported from
 * peers of the same map are excluded.
 */
export function buildCallHandler(options: CallHandlerOptions): BuiltCallHandler {
  assertObject("buildCallHandler", options, "buildCallHandler({ registry, callMap })");
  if (options.callMap?.transport === undefined) throw new TypeError("callMap must be a PendingRequestMap.");
  if (options.authenticate !== undefined && typeof options.authenticate !== "function") {
    throw new TypeError("The option authenticate must be a function, such as (token) => findIdentity(token).");
  }
  return createCallHandler(options);
}

/** Creates the same handler for a server that decides what its callers receive, and that has a name in events of calls. */
export function createCallHandler(
  options: CallHandlerOptions & { outcome?: OutcomeFilter; via?: string },
): BuiltCallHandler {
  const { registry, callMap, via = "peer" } = options;
  const isRemote = callMap.transport.capabilities?.sharesObjects !== true;
  const runner = new RequestRunner({ ...options, isRemote, isInProcess: callMap.isInProcess, via });

  const handle = (frame: CallRequested, given?: Reply, caller?: Identity): SendFollowUp => {
    if (given === undefined && !callMap.claim(frame)) return ignoreFollowUps;
    const reply = given ?? callMap.replyTo(frame);
    if (!runner.admit(caller)) {
      void sendError(reply, frame, runner.refusal());
      return ignoreFollowUps;
    }
    if (frame.credit !== undefined) {
      const subscription = new IncomingSubscription(runner, frame, reply, caller);
      void subscription.begin(caller, runner.deadlineOf(frame));
      return (followUp) => subscription.receive(followUp);
    }
    const call = new IncomingCall(runner, frame, reply, caller);
    call.begin(caller, runner.deadlineOf(frame));
    return (followUp) => call.receive(followUp);
  };

  const isSelected = createSelector(options);
  const isServed = (id: string) => {
    const entry = runner.core.operations.get(id);
    if (entry?.handler === undefined || !isSelected(entry)) return false;
    return forwardingOf(entry.handler)?.through !== callMap;
  };
  const handler: BuiltCallHandler = Object.assign(handle, {
    operations: () =>
      runner.core.publishedSpecs().filter(({ namespace, name }) => isServed(formatOperationId(namespace, name))),
    onChange: (listener: (change: HandlerChange) => void) =>
      registry.on("change", ({ operationId }) => {
        listener(isServed(operationId) ? { added: [operationId], removed: [] } : { added: [], removed: [operationId] });
      }),
    settled: () => runner.settled(),
  });
  setRunningRequests(handler, runner);
  return handler;
}
