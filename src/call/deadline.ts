/** The options that limit the time of a call. */
interface TimeOptions {
  deadline?: number | undefined;
  timeout?: number | undefined;
}

/** Returns options whose deadline includes the timeout, counted from now. `checkCallOptions` reports invalid ones. */
export function withDeadline<T extends TimeOptions | null | undefined>(options: T): T {
  if (typeof options?.timeout !== "number") return options;
  const end = Date.now() + options.timeout;
  return { ...options, deadline: options.deadline === undefined ? end : Math.min(options.deadline, end) };
}
