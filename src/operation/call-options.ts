import type { CallError } from "./error.ts";
import { validationError } from "./errors.ts";

const deadlineHint = "must be a time in milliseconds since the epoch, such as Date.now() + 5_000";

/** The options that limit the time of a call. */
interface TimeOptions {
  deadline?: number | undefined;
  timeout?: number | undefined;
}

/** Returns the earlier of two deadlines, either of which may be absent. */
export function earlier(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined) return b;
  return b === undefined ? a : Math.min(a, b);
}

/**
 * Returns the deadline that options set, with the timeout counted from now; the default one if they set neither.
 * `checkCallOptions` reports invalid ones.
 */
export function deadlineOf(options: TimeOptions | undefined, defaultTimeout?: number): number | undefined {
  const deadline = options?.deadline;
  const timeout = options?.timeout ?? (deadline === undefined ? defaultTimeout : undefined);
  return typeof timeout === "number" ? earlier(deadline, Date.now() + timeout) : deadline;
}

/** Returns options whose deadline includes the timeout, counted from now. */
export function withDeadline<T extends TimeOptions | null | undefined>(options: T): T {
  return typeof options?.timeout === "number" ? { ...options, deadline: deadlineOf(options) } : options;
}

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
export function checkPastDeadline(operationId: string, deadline: number): CallError | undefined {
  return deadline >= 100 && deadline < 1e10 ? invalidOption(operationId, "deadline", deadlineHint) : undefined;
}

function invalidOption(operationId: string, name: string, message: string): CallError {
  return validationError(`options of "${operationId}"`, [{ path: `/${name}`, message }]);
}
