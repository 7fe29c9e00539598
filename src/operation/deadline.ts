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
