import { isCallError, type SubscriptionIterator } from "../operation/inside.ts";

/**
 * The result of an operation whose type is not known at run time. It is a subscription when it is iterated, and a call
 * otherwise. If the current synchronous code ends without iterating it, the call starts, so that a call that the
 * program does not await is also sent. If the operation is a subscription, awaiting the result resolves with the
 * iterator.
 */
export function createRemoteResult<T>(
  call: () => Promise<T>,
  subscribe: () => SubscriptionIterator<T>,
): Promise<T> & SubscriptionIterator<T> {
  let values: SubscriptionIterator<T> | undefined;
  const iterate = () => {
    values ??= subscribe();
    // The iterator reports the failure. An earlier call must not report it again as an unhandled rejection.
    result.catch(() => {});
    return values;
  };
  const result = Promise.resolve().then(
    () =>
      values ??
      call().catch((error) => {
        if (isSubscription(error)) return iterate();
        throw error;
      }),
  ) as Promise<T>;
  return Object.assign(result, {
    next: () => iterate().next(),
    return: () => iterate().return(),
    throw: (error: unknown) => iterate().throw(error),
    [Symbol.asyncIterator]: iterate,
    [Symbol.asyncDispose]: async () => void (await iterate().return()),
  });
}

/** Whether a call failed, before anything ran, because its operation is a subscription. */
function isSubscription(error: unknown): boolean {
  if (!isCallError(error) || error.code !== "WRONG_OPERATION_TYPE" || error.mayHaveRun !== false) return false;
  return (error.details as { type?: unknown } | undefined)?.type === "subscription";
}
