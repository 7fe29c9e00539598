import { describeValue, quote, truncate } from "../internal/text.ts";
import { CallError } from "./error.ts";
import type { OperationType } from "./spec.ts";

/** Creates the error of a call that has not run. */
function notStarted(code: string, message: string, details?: object, retryable = false): CallError {
  return new CallError(code, message, details, { retryable, mayHaveRun: false });
}

/** `UNAVAILABLE`: a service, peer or program cannot be reached or has disconnected. The call is retryable. */
export function unavailable(message: string, options: { cause?: unknown; mayHaveRun: boolean }): CallError {
  return new CallError("UNAVAILABLE", message, undefined, { retryable: true, ...options });
}

/** `UNAVAILABLE`: no peer or source provides the operation now, but one may soon, for example after a restart. */
export function notServedNow(id: string, mayHaveRun = false): CallError {
  const message = `${quote(id)} is not available at the moment. The peer or source that provides it may be starting; try again.`;
  return new CallError("UNAVAILABLE", message, { operationId: truncate(id, 400) }, { retryable: true, mayHaveRun });
}

/** `OPERATION_NOT_FOUND`. `nearest` is the id that was probably meant, where the existing operations are known. */
export function operationNotFound(id: string, nearest?: string): CallError {
  const hint = nearest === undefined ? "" : ` Did you mean ${quote(nearest)}?`;
  const details = { operationId: truncate(id, 400), ...(nearest !== undefined && { nearest }) };
  return notStarted("OPERATION_NOT_FOUND", `No operation ${quote(id)}.${hint}`, details);
}

/** `OPERATION_NOT_FOUND` for any other value in place of an id, such as the definition of an operation. */
export function notAnId(value: unknown): CallError {
  return notStarted("OPERATION_NOT_FOUND", `The id of an operation must be a string, not ${describeValue(value)}.`);
}

/** `OPERATION_NOT_FOUND` for an operation whose spec is registered without a handler. */
export function handlerMissing(id: string): CallError {
  const message = `${quote(id)} has no handler yet. Register one with registerHandler(${quote(id)}, handler).`;
  return notStarted("OPERATION_NOT_FOUND", message, { operationId: id });
}

const correctCall = {
  execute: "subscribe()",
  subscribe: "execute()",
  call: "subscribe(registry, id, input, context)",
} as const;

/** `WRONG_OPERATION_TYPE`: a subscription was called, or a query or mutation was subscribed to. */
export function wrongOperationType(id: string, type: OperationType, used: keyof typeof correctCall): CallError {
  const message = `${quote(id)} is a ${type}, which ${used}() cannot run. Use ${correctCall[used]}.`;
  return notStarted("WRONG_OPERATION_TYPE", message, { operationId: id, type });
}

/** `ACCESS_DENIED`. The reason names the missing right, never the rights of the caller. */
export function accessDenied(id: string, reason: string, cause?: unknown): CallError {
  const message = `Access to ${quote(id)} denied: ${reason}.`;
  const options = cause === undefined ? { mayHaveRun: false } : { cause, mayHaveRun: false };
  return new CallError("ACCESS_DENIED", message, { operationId: id, reason }, options);
}

/** `ACCESS_DENIED`: the credential that a call or connection was authenticated with has expired or was removed. */
export function credentialEnded(id: string, end: "expired" | "revoked", mayHaveRun: boolean): CallError {
  const reason = `the credential of the caller ${end === "expired" ? "has expired" : "is no longer accepted"}`;
  const message = `Access to ${quote(id)} denied: ${reason}. Authenticate again.`;
  return new CallError("ACCESS_DENIED", message, { operationId: id, reason }, { mayHaveRun });
}

/** `TIMEOUT`: the deadline passed. `started`: whether the handler was called. */
export function timedOut(id: string, started: boolean): CallError {
  const problem = started ? "did not finish before its deadline" : "was not started, because its deadline has passed";
  const flags = { retryable: true, mayHaveRun: started };
  return new CallError("TIMEOUT", `${quote(id)} ${problem}.`, { operationId: id }, flags);
}

/** `TIMEOUT`: a subscription yielded no value for longer than its `idleTimeout`, in ms. */
export function silentTooLong(id: string, idleTimeout: number): CallError {
  const message = `${quote(id)} yielded no value within its idleTimeout of ${idleTimeout} ms.`;
  return new CallError("TIMEOUT", message, { operationId: id, idleTimeout }, { retryable: true });
}

/** `ABORTED`. `reason` is the signal's reason and becomes the `cause`. `started`: whether the handler was called. */
export function aborted(id: string, reason: unknown, started: boolean): CallError {
  const message = started ? `${quote(id)} was aborted.` : `${quote(id)} was aborted before it started.`;
  return new CallError("ABORTED", message, { operationId: id }, { cause: reason, mayHaveRun: started });
}

/** `LIMIT_EXCEEDED`. `problem` is a sentence without its full stop; `limit` names the setting to raise, such as `callDepth`. */
export function limitExceeded(problem: string, limit: string, allowed: number): CallError {
  const message = `${problem}: the limit is ${allowed}. Raise limits.${limit} if you need more.`;
  // Only what is pending becomes less, so that a later call may succeed.
  return notStarted("LIMIT_EXCEEDED", message, { limit, allowed }, limit === "pendingCalls");
}

/** `LIMIT_EXCEEDED`: too much is pending at the moment, above a limit that is not an option. */
export function overloaded(problem: string, allowed: number): CallError {
  return notStarted("LIMIT_EXCEEDED", `${problem}: the limit is ${allowed}. Try again later.`, { allowed }, true);
}

/** `EXECUTION_ERROR`: middleware called `next()` too late. */
export function nextAfterEnd(id: string): CallError {
  const message = `Middleware called next() after the call of "${id}" had ended. Call it before the promise that the middleware returns is settled.`;
  return new CallError("EXECUTION_ERROR", message);
}

/** The codes of errors that only the handler which made a nested call can correct, not the caller of that handler. */
const codesOfMistakes: ReadonlySet<string> = new Set([
  "OPERATION_NOT_FOUND",
  "ACCESS_DENIED",
  "VALIDATION_ERROR",
  "WRONG_OPERATION_TYPE",
  "OUTPUT_INVALID",
]);

/**
 * Translates the error of a nested call for the outer caller, who cannot correct an invalid id, scope, input or output
 * inside the outer operation. Other errors, such as `TIMEOUT` or a declared one, pass unchanged.
 */
export function nestedFailure(id: string, error: CallError): CallError {
  const { code, message, retryable } = error;
  if (!codesOfMistakes.has(code)) return error;
  return new CallError(
    "EXECUTION_ERROR",
    `The nested call of ${quote(id)} failed: ${message}`,
    { nested: { operationId: id, code } },
    { cause: error, retryable },
  );
}

/** Returns the delay in ms that an error requests: `details.retryAfter` in ms, or an HTTP `Retry-After` in seconds or as a date. */
export function requestedDelay({ details }: CallError): number {
  const { retryAfter, headers } = (details ?? {}) as { retryAfter?: unknown; headers?: Record<string, unknown> };
  if (typeof retryAfter === "number" && retryAfter > 0) return retryAfter;
  const header = headers?.["retry-after"];
  const value = typeof header === "string" ? header.trim() : "";
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? 0 : Math.max(0, date - Date.now());
}

/** One reason why a value does not match a schema. */
export interface ValueProblem {
  /** JSON pointer into the value; `""` is the value itself. */
  path: string;
  message: string;
}

/** Maximum number of problems that an error lists; `details.total` counts all of them. */
const maxListedProblems = 20;

/** `VALIDATION_ERROR`. `label` names the checked value, such as `input of "task.create"`; `total` counts omitted problems too. */
export function validationError(label: string, errors: readonly ValueProblem[], total = errors.length): CallError {
  const details = { errors: errors.slice(0, maxListedProblems), total };
  const message = `Invalid ${label}: ${summarize(errors, total)}`;
  return new CallError("VALIDATION_ERROR", message, details, { mayHaveRun: false });
}

/** `OUTPUT_INVALID`: the operation ran, and under `strict` its output does not match its `outputSchema`. */
export function outputInvalid(id: string, errors: readonly ValueProblem[], total = errors.length): CallError {
  const details = { operationId: id, errors: errors.slice(0, maxListedProblems), total };
  return new CallError("OUTPUT_INVALID", `Invalid output of ${quote(id)}: ${summarize(errors, total)}`, details);
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
