import { describeValue, truncate } from "../internal/text.ts";
import { CallError, isCallError } from "./error.ts";

const maxMessageLength = 2_000;

/**
 * Converts a thrown value to a `CallError`. A `CallError` is returned unchanged. Any other `Error` becomes
 * `EXECUTION_ERROR` with its message, any other value `UNKNOWN_ERROR`; both keep the original as `cause`.
 * The message and `code` of a foreign error do not affect the code. Never throws.
 */
export function mapError(error: unknown): CallError {
  if (isCallError(error)) return error;
  const message = errorMessage(error);
  return message === undefined
    ? new CallError("UNKNOWN_ERROR", `A value that is not an Error was thrown: ${describeValue(error)}.`, undefined, {
        cause: error,
      })
    : new CallError("EXECUTION_ERROR", message, undefined, { cause: error });
}

/** Returns the message of an `Error`, also from another realm; `undefined` when the value is not an error. */
function errorMessage(error: unknown): string | undefined {
  try {
    if (!(error instanceof Error) && Object.prototype.toString.call(error) !== "[object Error]") return undefined;
    const { message, name } = error as Error;
    if (typeof message === "string" && message !== "") return truncate(message, maxMessageLength);
    return typeof name === "string" && name !== ""
      ? `${truncate(name, 100)} without a message`
      : "Error without a message";
  } catch {
    return undefined; // A proxy or a getter threw.
  }
}
