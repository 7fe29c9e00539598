/** How long to wait between attempts to connect again. */
export interface BackOff {
  /** Before the first, in ms. @default 250 */
  first?: number;
  /** At most, in ms. @default 10,000 */
  longest?: number;
}

/**
 * How long to wait before the `attempt`th attempt, counted from 0: twice as long each time, less up to half of it by
 * chance, so that many clients of a server that was restarted do not all come at once.
 */
export function delayOf(attempt: number, backOff: BackOff, random = Math.random): number {
  const { first = 250 } = backOff;
  return Math.min(longestDelay(backOff), first * 2 ** Math.min(attempt, 30)) * (0.5 + random() / 2);
}

/** What the waits grow to, in ms. */
export function longestDelay(backOff: BackOff | false | undefined): number {
  return (backOff || undefined)?.longest ?? 10_000;
}
