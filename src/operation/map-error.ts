import { describeValue, truncate } from "../internal/text.ts";
import { CallError, isCallError } from "./error.ts";

const maxMessageLength = 2_000;

/**
 * Converts a thrown value to a `CallError`. A `CallError` is returned unchanged. Any other `Error` becomes
 * `EXECUTION_ERROR` with its message, any other value `UNKNOWN_ERROR`; both keep the original as `cause`.
 * The message and `code` of a foreign error do not affect the code. Never throws.
 */
export function mapError(error: unknown): CallError {
  try {
    if (isCallError(error)) return error;
    // An error of another realm is not an instance of `Error`.
    if (error instanceof Error || Object.prototype.toString.call(error) === "[object Error]") {
      return new CallError("EXECUTION_ERROR", messageOf(error as Error), undefined, { cause: error });
    }
  } catch {
    // A proxy or a getter threw.
  }
  const message = `A value that is not an Error was thrown: ${describeValue(error)}.`;
  return new CallError("UNKNOWN_ERROR", message, undefined, { cause: error });
}

function messageOf({ message, name }: { message: unknown; name: unknown }): string {
  if (typeof message === "string" && message !== "") return truncate(message, maxMessageLength);
  const isNamed = typeof name === "string" && name !== "";
  return isNamed ? `${truncate(name, 100)} without a message` : "Error without a message";
}
