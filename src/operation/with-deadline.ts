/** The options that limit the time of a call. */
interface TimeOptions {
  deadline?: number | undefined;
  timeout?: number | undefined;
}

/**
 * Applies `timeout` to `deadline`, counted from now. Returns options without a timeout unchanged, and invalid options too:
 * `checkCallOptions` reports those.
 */
export function withDeadline<T extends TimeOptions | null | undefined>(options: T): T {
  const timeout: unknown = options?.timeout;
  if (typeof timeout !== "number" || !(timeout > 0)) return options;
  const { deadline } = options as TimeOptions;
  if (deadline !== undefined && typeof deadline !== "number") return options;
  const end = Date.now() + timeout;
  return { ...options, deadline: deadline === undefined ? end : Math.min(deadline, end) };
}
