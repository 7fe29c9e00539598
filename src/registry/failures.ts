import { CallError, isCallError, mapError, nestedFailure } from "../operation/index.ts";
import type { Entry } from "./entry.ts";
import { reportUndeclaredDetails } from "./reports.ts";

/** Errors that the pipeline itself raised, and for which operation. */
const raised = new WeakMap<CallError, string>();

/** Errors of handlers that say they had no effect, and of which operation. */
const unrun = new WeakMap<CallError, string>();

/** Notes that the pipeline, not a handler, made this error. */
export function raise(operationId: string, error: CallError): CallError {
  raised.set(error, operationId);
  return error;
}

/** What a caller gets when something that it handed in threw as it was read. Errors of the pipeline stay themselves. */
export function notStarted(operationId: string, cause: unknown): CallError {
  if (isCallError(cause)) return cause;
  const { code, message } = mapError(cause);
  return raise(operationId, new CallError(code, message, undefined, { cause, mayHaveRun: false }));
}

/** What a handler threw, as the `CallError` that the caller gets. */
export function toFailure(entry: Entry, error: unknown): CallError {
  if (!isCallError(error)) return mapError(error);
  const nestedId = raised.get(error);
  if (nestedId !== undefined) return asRun(nestedFailure(nestedId, error));
  reportUndeclaredDetails(entry, error);
  if (error.mayHaveRun !== false) return error;
  const claimedBy = unrun.get(error);
  if (claimedBy !== undefined && claimedBy !== entry.id) return asRun(error);
  unrun.set(error, entry.id);
  return error;
}

/** A nested call that never ran says nothing of the handler around it, which did. */
function asRun(error: CallError): CallError {
  if (error.mayHaveRun !== false) return error;
  const { code, message, details, retryable } = error;
  return new CallError(code, message, details, { cause: error, retryable });
}
