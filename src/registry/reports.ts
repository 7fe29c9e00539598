import type { TSchema } from "typebox";
import { logger } from "../internal/log.ts";
import type { CallError, Drift, DriftKind, OperationContext, ResponseEnvelope } from "../operation/index.ts";
import { compileSchema } from "../schema/index.ts";
import type { RegistryCore } from "./core.ts";
import type { OperationEntry } from "./operation-entry.ts";
import type { RegistryCallEvent, RegistryCallEventBase } from "./types.ts";

const log = logger("registry");

/** One message per kind of drift. `place` is a JSON pointer into the data. */
const driftMessages: Readonly<Record<DriftKind, string>> = {
  stripped: "{operationId} returned {place}, which is not part of its outputSchema. It was removed.",
  filled: "{operationId} did not return {place}. It was set to the default of the outputSchema.",
  converted: "{operationId} returned {place} with a type that differs from its outputSchema. It was converted.",
  invented: "{operationId} did not return {place}, which its outputSchema requires. It was set to an empty value.",
  mismatch: "{operationId} returned {place}, which does not match its outputSchema. It was not changed.",
};

/** What an event has besides the fields of all events. */
type Facts<Event = RegistryCallEvent> = Event extends unknown ? Omit<Event, keyof RegistryCallEventBase> : never;

/** The property of a call with the way in which it arrived. A symbol, because handlers do not have it in their context. */
export const via = Symbol("via");

/** Emits an event of a call. */
export function emitCall(
  core: RegistryCore,
  { requestId, parentRequestId, identity, [via]: door }: OperationContext & { readonly [via]?: string | undefined },
  operationId: string,
  facts: Facts,
): void {
  const event: RegistryCallEventBase = { requestId, operationId, timestamp: Date.now() };
  if (parentRequestId !== undefined) event.parentRequestId = parentRequestId;
  if (identity !== undefined) event.identity = identity;
  if (door !== undefined) event.via = door;
  core.calls.emit(Object.assign(event, facts) as never); // The bench `hub` needs this: a spread takes several times as long.
}

/** Emits the outcome of a call when its caller receives it. `startedAt` is a time of `performance.now()`. */
export async function emitOutcome(
  core: RegistryCore,
  context: OperationContext,
  operationId: string,
  startedAt: number,
  result: Promise<ResponseEnvelope>,
): Promise<ResponseEnvelope> {
  const duration = () => performance.now() - startedAt;
  try {
    const envelope = await result;
    emitCall(core, context, operationId, { kind: "succeeded", duration: duration(), envelope });
    return envelope;
  } catch (error) {
    emitCall(core, context, operationId, { kind: "failed", duration: duration(), error: error as CallError });
    throw error;
  }
}

/** Warns that data did not match its schema: once per operation and kind, because it tends to happen on every call. */
export function reportDrift({ id, home }: OperationEntry, drift: readonly Drift[]): void {
  for (const { kind, path } of drift) {
    home?.warn(`${id} ${kind}`, driftMessages[kind], {
      operationId: id,
      kind,
      path,
      place: path === "" ? "data" : path,
    });
  }
}

/** Warns that the details of a declared error do not match the schema that was declared for them. */
export function reportUndeclaredDetails({ id, spec, home }: OperationEntry, error: CallError): void {
  const declared = spec.errorSchemas?.find(({ code }) => code === error.code);
  if (declared === undefined || matches(declared.schema, error.details)) return;
  const message = "{operationId} threw {code} with details that do not match the schema declared for them.";
  home?.warn(`${id} ${error.code} details`, message, { operationId: id, code: error.code });
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
