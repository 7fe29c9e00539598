import { escapeToken } from "../../internal/json-pointer.ts";
import { CallError, type CallErrorOptions, type Limits, namespacePattern } from "../../operation/index.ts";

/** Error for a document that cannot be read at all. */
export function unreadableDocument(reason: string, cause?: unknown): CallError {
  return new CallError("VALIDATION_ERROR", `The OpenAPI document cannot be read: ${reason}`, undefined, {
    cause,
    mayHaveRun: false,
  });
}

/** Error for a document that exceeds a limit. `limit` is the setting that can be raised. */
export function documentLimitExceeded(limit: keyof Limits | undefined, reason: string): CallError {
  const advice = limit === undefined ? "" : ` Raise it with limits.${limit}.`;
  const message = `The OpenAPI document exceeds a limit: ${reason}.${advice}`;
  return new CallError("LIMIT_EXCEEDED", message, limit && { limit }, { mayHaveRun: false });
}

/** Error for a document of too many bytes. */
export function documentTooLarge(limit: number): CallError {
  return documentLimitExceeded("documentBytes", `over ${limit} bytes`);
}

/** Error for an invalid configuration, found before anything is imported. */
export function badConfig(reason: string): CallError {
  return new CallError("VALIDATION_ERROR", reason, undefined, { mayHaveRun: false });
}

/** @throws CallError unless a setting is missing or an array of strings. A single string would be read character by character. */
export function assertTexts(value: unknown, setting: string): void {
  if (value === undefined) return;
  if (Array.isArray(value) && value.every((text) => typeof text === "string")) return;
  throw badConfig(`${setting} must be an array of strings`);
}

/** @throws CallError for a namespace that operations cannot have. */
export function assertNamespace(namespace: unknown): void {
  if (typeof namespace === "string" && namespacePattern.test(namespace)) return;
  throw badConfig("namespace must have 1 to 64 characters, no dot, no control character and no lone surrogate");
}

/** Error for a call that cannot be sent. Thrown before any byte leaves; names the argument, never its value. */
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

/** Error for a call that the configuration makes impossible. Thrown before any byte leaves. */
export function misconfigured(operationId: string, reason: string): CallError {
  return new CallError("EXECUTION_ERROR", `Cannot call "${operationId}": ${reason}.`, undefined, { mayHaveRun: false });
}

/** Error for a call that was cancelled after `ms`. */
export function timedOut(operationId: string, what: string, ms: number, mayHaveRun: boolean): CallError {
  return new CallError("TIMEOUT", `"${operationId}": ${what} within ${ms} ms.`, undefined, {
    retryable: true,
    mayHaveRun,
  });
}

/** Error for a response that cannot be read. */
export function badResponse(operationId: string, reason: string, details?: unknown): CallError {
  return new CallError("BAD_RESPONSE", `"${operationId}": ${reason}.`, details);
}

/** Error for a response or event larger than its limit. */
export function tooLarge(operationId: string, what: string, limit: number): CallError {
  return new CallError("PAYLOAD_TOO_LARGE", `"${operationId}": ${what} is larger than ${limit} bytes.`, { limit });
}

/** Error for a service that cannot be reached, or whose connection was lost. */
export function unavailable(operationId: string, reason: string, options: CallErrorOptions): CallError {
  return new CallError("UNAVAILABLE", `"${operationId}": ${reason}.`, undefined, options);
}
