import { describeValue } from "../internal/text.ts";
import type { SubscribeOptions } from "./context.ts";
import type { CallError } from "./error.ts";
import { validationError } from "./errors.ts";

const deadlineHint = "must be a time in milliseconds since the epoch, such as Date.now() + 5_000";

const durations = ["timeout", "idleTimeout"] as const;

/** Returns a `VALIDATION_ERROR` if an option that limits a call is invalid. Its caller may have passed any value. */
export function checkCallOptions(operationId: string, options: SubscribeOptions): CallError | undefined {
  const { deadline, signal } = options;
  for (const name of durations) {
    const value = options[name];
    if (value === undefined || (typeof value === "number" && value > 0)) continue;
    const message = `must be a number of milliseconds above 0, or Infinity, not ${describeValue(value)}`;
    return invalidOption(operationId, name, message);
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
