import { setInspection } from "../internal/lookup.ts";
import { quote } from "../internal/text.ts";
import { CallError, isCallError, mapError, nestedFailure, type ResponseEnvelope, toData } from "../operation/inside.ts";
import type { OperationEntry } from "./operation-entry.ts";
import { reportUndeclaredDetails } from "./reports.ts";

/** Where an error was first seen. */
interface Origin {
  readonly operationId: string;
  /** Whether a step of a call created it, and not a handler. */
  readonly isOfPipeline: boolean;
}

const origins = new WeakMap<CallError, Origin>();

// It is not a property, because callers in other processes receive an equal error.
setInspection(CallError.prototype, (failure, options, format) => {
  const origin = origins.get(failure);
  const text = format(failure, { ...options, customInspect: false });
  return origin === undefined || origin.isOfPipeline ? text : `${text} in operation ${quote(origin.operationId)}`;
});

/** Marks an error as created by a step of a call and not by a handler. Returns the error. */
export function markPipelineError(operationId: string, error: CallError): CallError {
  origins.set(error, { operationId, isOfPipeline: true });
  return error;
}

/** Makes `console.log` and `util.inspect` of Node print the operation that failed; of nested calls, the innermost one. */
export function showOperation(error: CallError, operationId: string): CallError {
  if (!origins.has(error)) origins.set(error, { operationId, isOfPipeline: false });
  return error;
}

/** Marks the error of a step before the handler. A getter of the input or options may have thrown any value. */
export function notStarted(operationId: string, cause: unknown): CallError {
  if (isCallError(cause)) return markPipelineError(operationId, cause);
  const { code, message } = mapError(cause);
  return markPipelineError(operationId, new CallError(code, message, undefined, { cause, mayHaveRun: false }));
}

/** Converts an error of a handler to the `CallError` that its caller receives. */
export function toFailure(entry: OperationEntry, error: unknown): CallError {
  const failure = mapError(error);
  if (failure !== error) return showOperation(failure, entry.id);
  const origin = origins.get(failure);
  if (origin?.isOfPipeline) return showOperation(withMayHaveRun(nestedFailure(origin.operationId, failure)), entry.id);
  reportUndeclaredDetails(entry, failure);
  // Only the handler of an operation can say that it has not run, not one that called it.
  const isOwn = origin === undefined || origin.operationId === entry.id;
  return showOperation(isOwn ? failure : withMayHaveRun(failure), entry.id);
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
