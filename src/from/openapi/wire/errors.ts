import { escapeToken } from "../../../internal/json-pointer.ts";
import { CallError, type CallErrorOptions } from "../../../operation/index.ts";

/** A call that cannot be sent as asked. Thrown before any byte leaves; names the argument, never its value. */
export function refused(operationId: string, argument: string | undefined, reason: string): CallError {
  const what = argument === undefined ? `"${operationId}"` : `"${operationId}": argument "${argument}"`;
  const path = argument === undefined ? "" : `/${escapeToken(argument)}`;
  return new CallError(
    "VALIDATION_ERROR",
    `Cannot call ${what} ${reason}.`,
    { errors: [{ path, message: reason }] },
    { mayHaveRun: false },
  );
}

/** A call that the operator's configuration makes impossible. Thrown before any byte leaves. */
export function misconfigured(operationId: string, reason: string): CallError {
  return new CallError("EXECUTION_ERROR", `Cannot call "${operationId}": ${reason}.`, undefined, { mayHaveRun: false });
}

/** A call that was given up after `ms`. */
export function timedOut(operationId: string, what: string, ms: number, mayHaveRun: boolean): CallError {
  return new CallError("TIMEOUT", `"${operationId}": ${what} within ${ms} ms.`, undefined, {
    retryable: true,
    mayHaveRun,
  });
}

/** An answer that cannot be understood. */
export function badResponse(operationId: string, reason: string, details?: unknown): CallError {
  return new CallError("BAD_RESPONSE", `"${operationId}": ${reason}.`, details);
}

/** An answer or event larger than its limit. */
export function tooLarge(operationId: string, what: string, limit: number): CallError {
  return new CallError("PAYLOAD_TOO_LARGE", `"${operationId}": ${what} is larger than ${limit} bytes.`, { limit });
}

/** A service that cannot be reached, or was lost on the way. */
export function unavailable(operationId: string, reason: string, options: CallErrorOptions): CallError {
  return new CallError("UNAVAILABLE", `"${operationId}": ${reason}.`, undefined, options);
}
