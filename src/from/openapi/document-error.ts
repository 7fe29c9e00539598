import { CallError, type Limits, namespacePattern } from "../../operation/index.ts";

/** A document that cannot be read at all. */
export function unreadableDocument(reason: string, cause?: unknown): CallError {
  return new CallError("VALIDATION_ERROR", `The OpenAPI document cannot be read: ${reason}`, undefined, {
    cause,
    mayHaveRun: false,
  });
}

/** A document that is larger, deeper or more entangled than the limits allow. `limit` is what an operator can raise. */
export function documentLimitExceeded(limit: keyof Limits | undefined, reason: string): CallError {
  const advice = limit === undefined ? "" : ` Raise it with limits.${limit}.`;
  const message = `The OpenAPI document exceeds a limit: ${reason}.${advice}`;
  return new CallError("LIMIT_EXCEEDED", message, limit && { limit }, { mayHaveRun: false });
}

/** A document of too many bytes. */
export function documentTooLarge(limit: number): CallError {
  return documentLimitExceeded("documentBytes", `over ${limit} bytes`);
}

/** A mistake in the configuration, found before anything is imported. */
export function badConfig(reason: string): CallError {
  return new CallError("VALIDATION_ERROR", reason, undefined, { mayHaveRun: false });
}

/** @throws CallError unless a setting is missing or an array of strings. A single string would be read by its characters. */
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
