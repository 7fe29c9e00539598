import type { TSchema } from "typebox";
import { createWarnOnce, logger } from "../internal/log.ts";
import type { CallError, Drift } from "../operation/index.ts";
import { compileSchema } from "../schema/index.ts";
import type { Entry } from "./entry.ts";

const log = logger("registry");
const warnOnce = createWarnOnce(log);

/** Data did not fit its schema. Once per operation and kind, because it tends to happen at every call. */
export function reportDrift(operationId: string, drift: readonly Drift[]): void {
  for (const { kind, path } of drift) {
    const message =
      "Output of {operationId} drifts from its schema: {kind} at {path}. Further ones are in meta.drift only.";
    warnOnce(`${operationId} ${kind}`, message, { operationId, kind, path });
  }
}

/** Details of a declared error do not fit the schema that was declared for them. */
export function reportUndeclaredDetails({ id, spec }: Entry, error: CallError): void {
  const declared = spec.errorSchemas?.find(({ code }) => code === error.code);
  if (declared === undefined || fits(declared.schema, error.details)) return;
  const message = "Details of the error {code} of {operationId} do not fit the schema declared for them.";
  warnOnce(`${id} ${error.code} details`, message, { operationId: id, code: error.code });
}

/** The error counts more than what is wrong with it: details or a schema that cannot be read do not replace it. */
function fits(schema: TSchema, details: unknown): boolean {
  try {
    return compileSchema(schema).check(details);
  } catch {
    return false;
  }
}

/** A handler answered after its caller had been told TIMEOUT or ABORTED. */
export function reportLate(operationId: string): void {
  log.debug("{operationId} settled after its call had ended; the result is dropped.", { operationId });
}

/** A handler failed while cleaning up, after its consumer had left. */
export function reportAbandoned(operationId: string, error: unknown): void {
  log.warn("{operationId} failed after its consumer had left: {error}", { operationId, error });
}

/** A listener to the registry's events threw. */
export function reportListener(event: string, error: unknown): void {
  log.error("A listener to {event} events threw: {error}", { event, error });
}

/** The id of an operation of a followed source is taken. No news where the two are alike, as on a hub that serves too. */
export function reportTaken(source: string, operationId: string, isAlike: boolean): void {
  const properties = { operationId, source };
  if (isAlike) log.debug("{operationId} of {source} waits until its id is free.", properties);
  else {
    const message =
      "{operationId} of {source} has another schema than the operation that is registered; it is not merged.";
    warnOnce(`${operationId} ${source} taken`, message, properties);
  }
}

/** An operation of a followed source could not be registered. */
export function reportRefused(source: string, operationId: string, error: unknown): void {
  log.warn("{operationId} of {source} was not registered: {error}", { operationId, source, error });
}
