import type { AccessControl, OperationHandler, SubscriptionHandler } from "../operation/index.ts";

/** What a handler that calls another registry knows of the steps that run there. */
export interface PassedOn {
  /** The rule that the other registry checks by itself, for whom the connection stands. Absent where both check. */
  readonly checkedRule?: AccessControl | undefined;
  /** Whether everything that the handler returns is known to be an envelope. */
  readonly returnsEnvelopes?: boolean;
}

const passedOn = new WeakMap<object, PassedOn>();

/**
 * Says of a handler that it only passes on what the pipeline of another registry returned: the input is validated there,
 * its envelopes stay as they are, and its errors count as raised by that pipeline.
 */
export function passOn<Handler extends OperationHandler | SubscriptionHandler>(
  handler: Handler,
  known: PassedOn = {},
): Handler {
  passedOn.set(handler, known);
  return handler;
}

/** What is known of a handler, if it is one that passes calls on. */
export function passedOnOf(handler: object | undefined): PassedOn | undefined {
  return handler === undefined ? undefined : passedOn.get(handler);
}
