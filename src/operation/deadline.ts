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

/** Returns options whose deadline includes the timeout, counted from now. `checkCallOptions` reports invalid ones. */
export function withDeadline<T extends TimeOptions | null | undefined>(options: T): T {
  if (typeof options?.timeout !== "number") return options;
  return { ...options, deadline: earlier(options.deadline, Date.now() + options.timeout) };
}
