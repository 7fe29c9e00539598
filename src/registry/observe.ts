import { monotonicNow } from "../internal/deadlines.ts";
import { mapError, type ResponseEnvelope } from "../operation/index.ts";
import { CallContext } from "./call-context.ts";
import type { RegistryCore } from "./core.ts";
import type { RegistryCallEventBase } from "./types.ts";

/** Tells the registry's listeners when a call starts and how it ends. */
export function observe(
  core: RegistryCore,
  context: CallContext,
  operationId: string,
  start: () => Promise<ResponseEnvelope>,
): Promise<ResponseEnvelope> {
  return observeEnd(beginObserving(core, context, operationId), start);
}

async function observeEnd(
  end: (how: Outcome) => void,
  start: () => Promise<ResponseEnvelope>,
): Promise<ResponseEnvelope> {
  try {
    const envelope = await start();
    end({ envelope });
    return envelope;
  } catch (error) {
    end({ error });
    throw error;
  }
}

/** How an observed call ended: with an error, with an envelope, or, for a subscription, with neither. */
type Outcome = { error: unknown } | { envelope?: ResponseEnvelope };

/** Emits `started` now, and `succeeded` or `failed` when the returned function is called. */
export function beginObserving(core: RegistryCore, context: CallContext, operationId: string): (how: Outcome) => void {
  CallContext.askForEnd(context);
  const startedAt = monotonicNow();
  core.calls.emit({ kind: "started", ...describeCall(context, operationId) });
  return (how) => {
    const base = { ...describeCall(context, operationId), duration: monotonicNow() - startedAt };
    if ("error" in how) core.calls.emit({ kind: "failed", ...base, error: mapError(how.error) });
    else core.calls.emit({ kind: "succeeded", ...base, ...how });
  };
}

/** What every event of a call tells. */
export function describeCall(context: CallContext, operationId: string): RegistryCallEventBase {
  const { requestId, parentRequestId, identity } = context;
  const base: RegistryCallEventBase = { requestId, operationId, timestamp: Date.now() };
  if (parentRequestId !== undefined) base.parentRequestId = parentRequestId;
  if (identity !== undefined) base.identity = identity;
  return base;
}
