import type { CallError } from "./error.ts";
import { validationError } from "./validation-error.ts";

const deadlineHint = "must be a time in milliseconds since the epoch, such as Date.now() + 5_000";

/** Returns a `VALIDATION_ERROR` if the deadline, signal or timeout of a call is invalid. */
export function checkCallOptions(
  operationId: string,
  deadline: unknown,
  signal: unknown,
  timeout?: unknown,
): CallError | undefined {
  if (timeout !== undefined && (typeof timeout !== "number" || !(timeout > 0))) {
    return invalidOption(operationId, "timeout", "must be a number of milliseconds above 0, or Infinity");
  }
  if (deadline !== undefined && (typeof deadline !== "number" || Number.isNaN(deadline))) {
    return invalidOption(operationId, "deadline", deadlineHint);
  }
  if (signal !== undefined && typeof (signal as Partial<AbortSignal> | null)?.addEventListener !== "function") {
    return invalidOption(operationId, "signal", "must be an AbortSignal, such as the signal of an AbortController");
  }
  return undefined;
}

/** Returns a `VALIDATION_ERROR` for a deadline in the first months of 1970, which is a duration such as `5_000` by mistake. */
export function checkPastDeadline(operationId: string, deadline: number | undefined): CallError | undefined {
  return deadline !== undefined && deadline >= 100 && deadline < 1e10
    ? invalidOption(operationId, "deadline", deadlineHint)
    : undefined;
}

function invalidOption(operationId: string, name: string, message: string): CallError {
  return validationError(`options of "${operationId}"`, [{ path: `/${name}`, message }]);
}
