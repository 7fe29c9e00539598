import { onAbort } from "../../internal/abort-listeners.ts";
import { startTimer } from "../../internal/timers.ts";
import { aborted, type CallError } from "../../operation/index.ts";
import type { ServedRequest, ServedSubscription, ServerCalls } from "../calls.ts";
import { toJSONText } from "../outcome.ts";

/** Maximum number of values that a subscription returns as a tool. */
const maxValues = 100;
/** Maximum duration of a subscription as a tool, in ms. */
const maxDurationMs = 20_000;

/** The result of a subscription as a tool. A type and not an interface, because it is a JSON object. */
export type CollectedValues = {
  values: unknown[];
  /** Whether the subscription has ended, so that there are no more values. */
  complete: boolean;
};

/** Subscribes until the subscription ends, has yielded enough values, or has taken long enough. Then it ends it. */
export async function collectValues(
  calls: ServerCalls,
  request: ServedRequest,
  signal: AbortSignal,
): Promise<CollectedValues> {
  const { operationId } = request;
  if (signal.aborted) throw aborted(operationId, signal.reason, false);
  const values: unknown[] = [];
  let subscription: ServedSubscription | undefined;
  const { promise, resolve, reject } = withResolvers<boolean>();
  const timer = startTimer(() => resolve(false), maxDurationMs);
  const stopListening = onAbort(signal, (reason) => reject(aborted(operationId, reason, true)));
  const onValue = (data: unknown) => {
    values.push(toJSONValue(data));
    if (values.length === maxValues) resolve(false);
    else if (values.length < maxValues) subscription?.credit(1);
  };
  try {
    subscription = calls.subscribe(request, {
      onValue: ({ data }) => tryTo(() => onValue(data), reject),
      onEnd: () => resolve(true),
      onError: reject,
    });
    const complete = await promise;
    return { values: values.slice(0, maxValues), complete };
  } finally {
    timer.stop();
    stopListening();
    subscription?.cancel();
  }
}

function tryTo(run: () => void, onFailure: (error: unknown) => void): void {
  try {
    run();
  } catch (error) {
    onFailure(error);
  }
}

/** Returns the value that JSON carries. Values are kept, and a handler may change its objects later. */
function toJSONValue(data: unknown): unknown {
  const text = toJSONText(data);
  return text === undefined ? null : JSON.parse(text);
}

function withResolvers<T>(): {
  promise: Promise<T>;
  resolve(value: T): void;
  reject(error: CallError | unknown): void;
} {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
