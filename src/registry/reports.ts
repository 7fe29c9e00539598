import type { TSchema } from "typebox";
import { monotonicNow } from "../internal/deadlines.ts";
import { createWarnOnce, logger, type WarnOnce } from "../internal/log.ts";
import { type CallError, type Drift, type DriftKind, mapError, type ResponseEnvelope } from "../operation/index.ts";
import { compileSchema } from "../schema/index.ts";
import type { IncomingExecution } from "./call-run.ts";
import type { CallState } from "./call-state.ts";
import { notStarted } from "./failures.ts";
import type { CallOutcome } from "./guard.ts";
import type { OperationEntry } from "./operation-entry.ts";
import type { RegistryCallEvent, RegistryCallEventBase } from "./types.ts";

const log = logger("registry");

/** Creates the function that logs warnings about the operations of a registry, once per operation and kind. */
export function createRegistryWarn(isLogging: boolean): WarnOnce {
  return isLogging ? createWarnOnce(log) : () => {};
}

/** One message per kind of drift. `place` is a JSON pointer into the data. */
const driftMessages: Readonly<Record<DriftKind, string>> = {
  stripped: "{operationId} returned {place}, which is not part of its outputSchema. It was removed.",
  filled: "{operationId} did not return {place}. It was set to the default of the outputSchema.",
  converted: "{operationId} returned {place} with a type that differs from its outputSchema. It was converted.",
  invented: "{operationId} did not return {place}, which its outputSchema requires. It was set to an empty value.",
  mismatch: "{operationId} returned {place}, which does not match its outputSchema. It was not changed.",
};

/** Runs a call and reports its outcome to `end`, which {@link observeStart} returned. */
export async function observe(
  end: (end: ObservedEnd) => void,
  operationId: string,
  start: () => Promise<ResponseEnvelope>,
): Promise<ResponseEnvelope> {
  try {
    const envelope = await start();
    end({ envelope });
    return envelope;
  } catch (thrown) {
    const error = notStarted(operationId, thrown);
    end({ error });
    throw error;
  }
}

/** The outcome of an observed call: an error, an envelope, or, for a subscription, neither. */
export type ObservedEnd = { error: unknown } | { envelope?: ResponseEnvelope };

/** Emits `started`, and `succeeded` or `failed` when the returned function is called. */
export function observeStart(call: CallState): (end: ObservedEnd) => void {
  call.observeEnd();
  const startedAt = monotonicNow();
  emitStart(call);
  return (end) => emitEnd(call, startedAt, end);
}

function emitStart(call: CallState): void {
  call.core.calls.emit(describeCall(call, "started") as RegistryCallEvent);
}

function emitEnd(call: CallState, startedAt: number, end: ObservedEnd): void {
  const event = describeCall(call, "error" in end ? "failed" : "succeeded") as EndEvent;
  event.duration = monotonicNow() - startedAt;
  if ("error" in end) event.error = mapError(end.error);
  else if (end.envelope !== undefined) event.envelope = end.envelope;
  call.core.calls.emit(event as RegistryCallEvent);
}

/**
 * Reports the outcome of an incoming call to listeners, then to the call. Listeners are notified when the call ends, even
 * if its handler is still running. It does not race promises or add a listener to the guard: both kept objects of ended
 * calls alive until the next full garbage collection, which took a third of the time of a call.
 */
export class ObservedOutcome implements CallOutcome {
  // Assigned in the constructor instead of defined as class fields, because that is faster.
  declare private readonly call: CallState;
  declare private readonly incoming: IncomingExecution;
  declare private readonly startedAt: number;
  declare private isReported: boolean;

  constructor(call: CallState, incoming: IncomingExecution) {
    this.call = call;
    this.incoming = incoming;
    this.isReported = false;
    incoming.observer = this;
    this.startedAt = monotonicNow();
    emitStart(call); // A listener may end the call.
  }

  onEarlyEnd(error: CallError): void {
    this.#report({ error });
  }

  onResult(envelope: ResponseEnvelope): void {
    this.call.finish();
    this.#report({ envelope });
    this.incoming.onResult(envelope);
  }

  onError(error: unknown): void {
    this.call.finish();
    this.#report({ error });
    this.incoming.onError(error);
  }

  #report(outcome: ObservedEnd): void {
    if (this.isReported) return;
    this.isReported = true;
    emitEnd(this.call, this.startedAt, outcome);
  }
}

type EndEvent = RegistryCallEventBase & { duration?: number; error?: CallError; envelope?: ResponseEnvelope };

/**
 * Returns an event with the fields that all events of a call have. Its other fields are assigned by the caller: to copy it
 * with a spread takes several times as long, and a hub records every call.
 */
export function describeCall<Kind extends string>(
  { context, operationId }: CallState,
  kind: Kind,
): RegistryCallEventBase & { kind: Kind } {
  const { requestId, parentRequestId, identity } = context;
  const event: RegistryCallEventBase & { kind: Kind } = { kind, requestId, operationId, timestamp: Date.now() };
  if (parentRequestId !== undefined) event.parentRequestId = parentRequestId;
  if (identity !== undefined) event.identity = identity;
  return event;
}

/** Warns that data did not match its schema: once per operation and kind, because it tends to happen on every call. */
export function reportDrift({ id, warn }: OperationEntry, drift: readonly Drift[]): void {
  for (const { kind, path } of drift) {
    warn(`${id} ${kind}`, driftMessages[kind], { operationId: id, kind, path, place: path === "" ? "data" : path });
  }
}

/** Warns that the details of a declared error do not match the schema that was declared for them. */
export function reportUndeclaredDetails({ id, spec, warn }: OperationEntry, error: CallError): void {
  const declared = spec.errorSchemas?.find(({ code }) => code === error.code);
  if (declared === undefined || matches(declared.schema, error.details)) return;
  const message = "{operationId} threw {code} with details that do not match the schema declared for them.";
  warn(`${id} ${error.code} details`, message, { operationId: id, code: error.code });
}

/** Returns whether details match a schema. Details or a schema that throw must not hide the error. */
function matches(schema: TSchema, details: unknown): boolean {
  try {
    return compileSchema(schema).check(details);
  } catch {
    return false;
  }
}

/** Logs that a handler ended after its call had failed with TIMEOUT or ABORTED. */
export function reportLateResult(operationId: string): void {
  log.debug("{operationId} settled after its call had ended. The result was dropped.", { operationId });
}

/** Logs that a handler failed during cleanup, after its consumer had stopped reading. */
export function reportAbandoned(operationId: string, error: unknown): void {
  log.warn("{operationId} failed after its consumer had stopped reading: {error}", { operationId, error });
}

/** Logs that a listener to the registry's events threw. */
export function reportListener(event: string, error: unknown): void {
  log.error("A listener for {event} events failed: {error}", { event, error });
}
