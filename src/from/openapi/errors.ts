import { escapeToken } from "../../internal/json-pointer.ts";
import { CallError, type CallErrorOptions, type Limits, namespacePattern } from "../../operation/inside.ts";

/** Creates the error for a document that cannot be read. */
export function unreadableDocument(reason: string, cause?: unknown): CallError {
  const message = `The OpenAPI document cannot be read: ${reason}${reason.endsWith(".") ? "" : "."}`;
  return new CallError("VALIDATION_ERROR", message, undefined, { cause, mayHaveRun: false });
}

/** Creates the error for a document that exceeds a limit. `limit` is the setting that can be raised. */
export function documentLimitExceeded(limit: keyof Limits | undefined, reason: string): CallError {
  const advice = limit === undefined ? "" : ` Raise it with limits.${limit}.`;
  const message = `The OpenAPI document exceeds a limit: ${reason}.${advice}`;
  return new CallError("LIMIT_EXCEEDED", message, limit && { limit }, { mayHaveRun: false });
}

/** Creates the error for a document that is too large. */
export function documentTooLarge(limit: number): CallError {
  return documentLimitExceeded("documentBytes", `it is larger than ${limit} bytes`);
}

/** Creates the error for an invalid configuration. It is thrown before the import starts. */
export function badConfig(reason: string): CallError {
  return new CallError("VALIDATION_ERROR", reason, undefined, { mayHaveRun: false });
}

/**
 * @throws CallError unless a setting is absent or an array of strings. A single string would be read character by
 * character.
 */
export function assertTexts(value: unknown, setting: string): void {
  if (value === undefined) return;
  if (Array.isArray(value) && value.every((text) => typeof text === "string")) return;
  throw badConfig(`${setting} must be an array of strings.`);
}

/** @throws CallError for an invalid namespace. */
export function assertNamespace(namespace: unknown): void {
  if (typeof namespace === "string" && namespacePattern.test(namespace)) return;
  throw badConfig("namespace must have 1 to 64 characters, no dot, no control character and no lone surrogate.");
}

/**
 * Creates the error for a call that cannot be sent. It is thrown before any byte is sent, and contains the name of the
 * argument but never its value.
 */
export function refused(operationId: string, argument: string | undefined, reason: string): CallError {
  const what = argument === undefined ? `"${operationId}"` : `"${operationId}" because of its argument "${argument}"`;
  const path = argument === undefined ? "" : `/${escapeToken(argument)}`;
  return new CallError(
    "VALIDATION_ERROR",
    `Cannot call ${what}: ${reason}.`,
    { errors: [{ path, message: reason }] },
    { mayHaveRun: false },
  );
}

/** Creates the error for a call that the configuration makes impossible. It is thrown before any byte is sent. */
export function misconfigured(operationId: string, reason: string): CallError {
  return new CallError("EXECUTION_ERROR", `Cannot call "${operationId}": ${reason}.`, undefined, { mayHaveRun: false });
}

/** Creates the error for a call or stream that waited `ms` for a response or an event. */
export function timedOut(operationId: string, what: string, ms: number, mayHaveRun: boolean): CallError {
  return new CallError("TIMEOUT", `"${operationId}" did not receive ${what} within ${ms} ms.`, undefined, {
    retryable: true,
    mayHaveRun,
  });
}

/** Creates the error for a response that cannot be read. `problem` is the predicate of the sentence. */
export function badResponse(operationId: string, problem: string, details?: unknown): CallError {
  return new CallError("BAD_RESPONSE", `The response to "${operationId}" ${problem}.`, details);
}

/** Creates the error for a response or event that exceeds its size limit. */
export function tooLarge(operationId: string, part: "event" | "response", limit: number): CallError {
  const subject = part === "event" ? "An event in the response" : "The response";
  return new CallError("PAYLOAD_TOO_LARGE", `${subject} to "${operationId}" is larger than ${limit} bytes.`, { limit });
}

/** Creates the error for a service that cannot be reached or whose connection was lost. */
export function unavailable(operationId: string, reason: string | undefined, options: CallErrorOptions): CallError {
  const detail = reason === undefined ? "" : `: ${reason}`;
  return new CallError("UNAVAILABLE", `The request of "${operationId}" failed${detail}.`, undefined, options);
}
