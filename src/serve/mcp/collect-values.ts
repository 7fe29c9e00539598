import { onAbort } from "../../internal/abort-listeners.ts";
import { startTimer } from "../../internal/timers.ts";
import { aborted, type ResponseEnvelope } from "../../operation/index.ts";
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
  const ending: Array<() => void> = [];
  try {
    const complete = await new Promise<boolean>((resolve, reject) => {
      const timer = startTimer(() => resolve(false), maxDurationMs);
      const stopListening = onAbort(signal, (reason) => reject(aborted(operationId, reason, true)));
      ending.push(() => timer.stop(), stopListening);
      let subscription: ServedSubscription | undefined;
      const onValue = ({ data }: ResponseEnvelope) => {
        try {
          values.push(toJSONValue(data));
        } catch (error) {
          return reject(error);
        }
        if (values.length < maxValues) subscription?.credit(1);
        else resolve(false);
      };
      subscription = calls.subscribe(request, { onValue, onEnd: () => resolve(true), onError: reject });
      ending.push(() => subscription?.cancel());
    });
    return { values: values.slice(0, maxValues), complete };
  } finally {
    for (const end of ending) end();
  }
}

/** Returns the value that JSON carries. Values are kept, and a handler may change its objects later. */
function toJSONValue(data: unknown): unknown {
  const text = toJSONText(data);
  return text === undefined ? null : JSON.parse(text);
}
