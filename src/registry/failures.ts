import { setInspection } from "../internal/lookup.ts";
import { quote } from "../internal/text.ts";
import { CallError, isCallError, mapError, nestedFailure, type ResponseEnvelope, toData } from "../operation/index.ts";
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

/** Errors of handlers, with the id of the operation; of nested calls, the innermost one. */
const failedIn = new WeakMap<CallError, string>();
let isInspected = false;

/**
 * Makes `console.log` and `util.inspect` of Node print the operation that failed. It is not a property, because callers in
 * other processes receive an equal error.
 */
export function showOperation(error: CallError, operationId: string): CallError {
  if (!failedIn.has(error)) failedIn.set(error, operationId);
  if (isInspected) return error;
  isInspected = true;
  setInspection(CallError.prototype, (failure, options, format) => {
    const id = failedIn.get(failure);
    const text = format(failure, { ...options, customInspect: false });
    return id === undefined ? text : `${text} in operation ${quote(id)}`;
  });
  return error;
}

/** Converts an error of a handler to the `CallError` that its caller receives. */
export function toFailure(entry: OperationEntry, error: unknown): CallError {
  return showOperation(toCallError(entry, error), entry.id);
}

function toCallError(entry: OperationEntry, error: unknown): CallError {
  const failure = mapError(error);
  if (failure !== error) return failure;
  const nestedId = pipelineErrors.get(failure);
  if (nestedId !== undefined) return withMayHaveRun(nestedFailure(nestedId, failure));
  reportUndeclaredDetails(entry, failure);
  if (failure.mayHaveRun !== false) return failure;
  const claimedBy = claimsNotRun.get(failure);
  if (claimedBy !== undefined && claimedBy !== entry.id) return withMayHaveRun(failure);
  claimsNotRun.set(failure, entry.id);
  return failure;
}

/** Returns the error with `mayHaveRun: true`: the nested call may not have run, but the handler that made it has. */
function withMayHaveRun(error: CallError): CallError {
  if (error.mayHaveRun !== false) return error;
  const { code, message, details, retryable } = error;
  return new CallError(code, message, details, { cause: error, retryable });
}

/** Returns the data of a call. The error of a failed MCP tool prints its id. */
export function dataOf(id: string, envelope: ResponseEnvelope): unknown {
  try {
    return toData(envelope);
  } catch (error) {
    throw showOperation(error as CallError, id);
  }
}
