import { CallError, isCallError, mapError, nestedFailure } from "../operation/index.ts";
import type { OperationEntry } from "./operation-entry.ts";
import { reportUndeclaredDetails } from "./reports.ts";

/** Errors that the pipeline created, with the id of the operation. */
const pipelineErrors = new WeakMap<CallError, string>();

/** Errors of handlers with `mayHaveRun: false`, with the id of the operation. */
const claimsNotRun = new WeakMap<CallError, string>();

/** Marks an error as created by the pipeline and not by a handler. Returns the error. */
export function markPipelineError(operationId: string, error: CallError): CallError {
  pipelineErrors.set(error, operationId);
  return error;
}

/** Returns the error for input or options whose getters threw. Errors of the pipeline are returned unchanged. */
export function notStarted(operationId: string, cause: unknown): CallError {
  if (isCallError(cause)) return cause;
  const { code, message } = mapError(cause);
  return markPipelineError(operationId, new CallError(code, message, undefined, { cause, mayHaveRun: false }));
}

/** Converts an error of a handler to the `CallError` that its caller receives. */
export function toFailure(entry: OperationEntry, error: unknown): CallError {
  if (!isCallError(error)) return mapError(error);
  const nestedId = pipelineErrors.get(error);
  if (nestedId !== undefined) return withMayHaveRun(nestedFailure(nestedId, error));
  reportUndeclaredDetails(entry, error);
  if (error.mayHaveRun !== false) return error;
  const claimedBy = claimsNotRun.get(error);
  if (claimedBy !== undefined && claimedBy !== entry.id) return withMayHaveRun(error);
  claimsNotRun.set(error, entry.id);
  return error;
}

/** Returns the error with `mayHaveRun: true`: the nested call may not have run, but the handler that made it has. */
function withMayHaveRun(error: CallError): CallError {
  if (error.mayHaveRun !== false) return error;
  const { code, message, details, retryable } = error;
  return new CallError(code, message, details, { cause: error, retryable });
}
