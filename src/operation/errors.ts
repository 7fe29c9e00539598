import { quote, truncate } from "../internal/text.ts";
import { CallError } from "./error.ts";
import type { OperationType } from "./spec.ts";

/** One reason why a value does not match a schema. */
export interface ValueProblem {
  /** JSON pointer into the value; `""` is the value itself. */
  path: string;
  message: string;
}

/** Maximum number of problems that an error lists; `details.total` counts all of them. */
const maxListedProblems = 20;

/** Options of errors of calls that have not run. */
export const notStarted = { retryable: false, mayHaveRun: false } as const;

const correctCall = {
  execute: "subscribe()",
  subscribe: "execute()",
  call: "subscribe(registry, id, input, context)",
} as const;

/** `WRONG_OPERATION_TYPE`: a subscription was called, or a query or mutation was subscribed to. */
export function wrongOperationType(id: string, type: OperationType, used: keyof typeof correctCall): CallError {
  return new CallError(
    "WRONG_OPERATION_TYPE",
    `${quote(id)} is a ${type}, which ${used}() cannot run. Use ${correctCall[used]}.`,
    { operationId: id, type },
    notStarted,
  );
}

/** `ACCESS_DENIED`. The reason names the missing right, never the rights of the caller. */
export function accessDenied(id: string, reason: string): CallError {
  return new CallError(
    "ACCESS_DENIED",
    `Access to ${quote(id)} denied: ${reason}.`,
    { operationId: id, reason },
    notStarted,
  );
}

/** `ACCESS_DENIED`: the credential that a call or connection was authenticated with has expired. */
export function credentialExpired(id: string, started: boolean): CallError {
  const reason = "the credential of the caller has expired";
  const message = `Access to ${quote(id)} denied: ${reason}. Authenticate again.`;
  return new CallError("ACCESS_DENIED", message, { operationId: id, reason }, { mayHaveRun: started });
}

/** `ACCESS_DENIED`: the credential of a caller was removed while a subscription was open. */
export function credentialRevoked(id: string): CallError {
  const reason = "the credential of the caller is no longer accepted";
  const message = `Access to ${quote(id)} denied: ${reason}. Authenticate again.`;
  return new CallError("ACCESS_DENIED", message, { operationId: id, reason }, { mayHaveRun: true });
}

/** `VALIDATION_ERROR`. `label` names the checked value, such as `input of "task.create"`; `total` counts omitted problems too. */
export function validationError(label: string, errors: readonly ValueProblem[], total = errors.length): CallError {
  return new CallError(
    "VALIDATION_ERROR",
    `Invalid ${label}: ${summarize(errors, total)}`,
    { errors: errors.slice(0, maxListedProblems), total },
    notStarted,
  );
}

/** `OUTPUT_INVALID`: the operation ran, and under `strict` its output does not match its `outputSchema`. */
export function outputInvalid(id: string, errors: readonly ValueProblem[], total = errors.length): CallError {
  return new CallError("OUTPUT_INVALID", `Invalid output of ${quote(id)}: ${summarize(errors, total)}`, {
    operationId: id,
    errors: errors.slice(0, maxListedProblems),
    total,
  });
}

/** `TIMEOUT`: the deadline passed. `started`: whether the handler was called. */
export function timedOut(id: string, started: boolean): CallError {
  const message = started
    ? `${quote(id)} did not finish before its deadline.`
    : `${quote(id)} was not started, because its deadline has passed.`;
  return new CallError("TIMEOUT", message, { operationId: id }, { retryable: true, mayHaveRun: started });
}

/** `TIMEOUT`: a subscription yielded no value for longer than its `idleTimeout`, in ms. */
export function silentTooLong(id: string, idleTimeout: number): CallError {
  return new CallError(
    "TIMEOUT",
    `${quote(id)} yielded no value within its idleTimeout of ${idleTimeout} ms.`,
    { operationId: id, idleTimeout },
    { retryable: true },
  );
}

/** `ABORTED`. `reason` is the signal's reason and becomes the `cause`. `started`: whether the handler was called. */
export function aborted(id: string, reason: unknown, started: boolean): CallError {
  const message = started ? `${quote(id)} was aborted.` : `${quote(id)} was aborted before it started.`;
  return new CallError("ABORTED", message, { operationId: id }, { cause: reason, mayHaveRun: started });
}

/** Limits on what is running now. A later call may succeed. */
const loadLimits = ["pendingCalls", "callsPerConnection", "subscriptionsPerConnection", "bufferedBytes"];

/** `LIMIT_EXCEEDED`. `problem` is a sentence without its full stop; `limit` names the setting to raise, such as `callDepth`. */
export function limitExceeded(problem: string, limit: string, allowed: number): CallError {
  return new CallError(
    "LIMIT_EXCEEDED",
    `${problem}: the limit is ${allowed}. Raise limits.${limit} if you need more.`,
    { limit, allowed },
    { retryable: loadLimits.includes(limit), mayHaveRun: false },
  );
}

/** `UNAVAILABLE`: a service, peer or program cannot be reached or has disconnected. The call is retryable. */
export function unavailable(message: string, options: { cause?: unknown; mayHaveRun: boolean }): CallError {
  return new CallError("UNAVAILABLE", message, undefined, { retryable: true, ...options });
}

/**
 * Translates the error of a nested call for the outer caller, who cannot correct an invalid id, scope, input or output
 * inside the outer operation. Other errors, such as `TIMEOUT` or a declared one, pass unchanged.
 */
export function nestedFailure(id: string, error: CallError): CallError {
  switch (error.code) {
    case "OPERATION_NOT_FOUND":
    case "ACCESS_DENIED":
    case "VALIDATION_ERROR":
    case "WRONG_OPERATION_TYPE":
    case "OUTPUT_INVALID":
      return new CallError(
        "EXECUTION_ERROR",
        `The nested call of ${quote(id)} failed: ${error.message}`,
        { nested: { operationId: id, code: error.code } },
        { cause: error, retryable: error.retryable },
      );
    default:
      return error;
  }
}

function summarize(errors: readonly ValueProblem[], total: number): string {
  const shown = errors.slice(0, 3).map(({ path, message }) => {
    const text = truncate(message, 200).replace(/\.$/, "");
    if (path === "") return /^(?:must|is|could)\b/.test(text) ? `it ${text}` : text;
    // Messages of other libraries can be sentences of their own.
    return `${truncate(path, 200)}${/^[a-z]/.test(text) ? "" : ":"} ${text}`;
  });
  const hidden = total - shown.length;
  return `${shown.join("; ")}${hidden > 0 ? ` (and ${hidden} more)` : ""}.`;
}
