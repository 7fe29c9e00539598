import { resolveDuration } from "../../operation/index.ts";

/** How long to wait between attempts to connect again. */
export interface BackOff {
  /** Before the first, in ms, above 0; less up to half of it by chance. @default 250 */
  first?: number;
  /** At most, in ms, above 0. @default 10,000 */
  longest?: number;
}

/** Fills in the defaults. Throws `VALIDATION_ERROR` on what is not a duration. */
export function resolveBackOff({ first, longest }: BackOff): Required<BackOff> {
  return {
    first: resolveDuration("reconnect.first", first, 250),
    longest: resolveDuration("reconnect.longest", longest, 10_000),
  };
}

/**
 * How long to wait before the `attempt`th attempt, counted from 0: twice as long each time, less up to half of it by
 * chance, so that many clients of a server that was restarted do not all come at once.
 */
export function delayOf(attempt: number, { first, longest }: Required<BackOff>, random = Math.random): number {
  return Math.min(longest, first * 2 ** Math.min(attempt, 30)) * (0.5 + random() / 2);
}
