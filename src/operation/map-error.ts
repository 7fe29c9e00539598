import { quote, truncate } from "../internal/text.ts";
import { CallError, isCallError } from "./error.ts";

const maxMessageLength = 2_000;

/**
 * Turns whatever was thrown into a `CallError`. One that is a `CallError` already stays itself; another `Error`
 * becomes `EXECUTION_ERROR` with its message, anything else `UNKNOWN_ERROR`; both keep the original as `cause`.
 * Neither message nor `code` of a foreign error decides the code. Never throws.
 */
export function mapError(error: unknown): CallError {
  if (isCallError(error)) return error;
  const message = errorMessage(error);
  return message === undefined
    ? new CallError("UNKNOWN_ERROR", `Something that is not an error was thrown: ${describe(error)}.`, undefined, {
        cause: error,
      })
    : new CallError("EXECUTION_ERROR", message, undefined, { cause: error });
}

/** The message of an `Error`, also of another realm; `undefined` when the value is not an error. */
function errorMessage(error: unknown): string | undefined {
  try {
    if (!(error instanceof Error) && Object.prototype.toString.call(error) !== "[object Error]") return undefined;
    const { message, name } = error as Error;
    if (typeof message === "string" && message !== "") return truncate(message, maxMessageLength);
    return typeof name === "string" && name !== ""
      ? `${truncate(name, 100)} without a message`
      : "Error without a message";
  } catch {
    return undefined; // a proxy or a getter that throws
  }
}

function describe(value: unknown): string {
  switch (typeof value) {
    case "string":
      return quote(value, 200);
    case "object":
      return value === null ? "null" : "an object";
    case "function":
      return "a function";
    case "symbol":
      return "a symbol";
    default:
      return String(value);
  }
}
