import type { CallError } from "./error.ts";
import { validationError } from "./errors.ts";

const deadlineHint = "must be a time in milliseconds since the epoch, such as Date.now() + 5_000";

/** Says what is wrong with the deadline or signal of a call, if anything is. */
export function checkCallOptions(operationId: string, deadline: unknown, signal: unknown): CallError | undefined {
  if (deadline !== undefined && (typeof deadline !== "number" || Number.isNaN(deadline))) {
    return invalidOption(operationId, "deadline", deadlineHint);
  }
  if (signal !== undefined && typeof (signal as Partial<AbortSignal> | null)?.addEventListener !== "function") {
    return invalidOption(operationId, "signal", "must be an AbortSignal, such as that of an AbortController");
  }
  return undefined;
}

/** The same for a deadline that has passed. Nobody means a time in the first months of 1970; `5_000` was meant as a duration. */
export function checkPastDeadline(operationId: string, deadline: number): CallError | undefined {
  return deadline >= 100 && deadline < 1e10 ? invalidOption(operationId, "deadline", deadlineHint) : undefined;
}

/** Says what is wrong with the `idleTimeout` of a subscription, if anything is. */
export function checkIdleTimeout(operationId: string, idleTimeout: unknown): CallError | undefined {
  if (idleTimeout === undefined || (typeof idleTimeout === "number" && idleTimeout > 0)) return undefined;
  return invalidOption(operationId, "idleTimeout", "must be a number of milliseconds above 0");
}

function invalidOption(operationId: string, name: string, message: string): CallError {
  return validationError(`options of "${operationId}"`, [{ path: `/${name}`, message }]);
}
