import { quote, truncate } from "../internal/text.ts";
import { maxTimerDelay } from "../internal/timers.ts";
import type { CallError } from "./error.ts";
import { validationError } from "./errors.ts";

interface OptionRule {
  /** The operation whose call has the option, for the message. @default none, it is a configuration */
  operationId?: string;
}

/** What a duration may be besides a number of milliseconds above 0. */
export interface DurationRule extends OptionRule {
  /** `0` is allowed. Only where the option documents its meaning. */
  zero?: boolean;
  /** `Infinity` is allowed. Only where the option documents that it means "never" or "no limit". */
  infinite?: boolean;
  /** Whether no timer waits for it, so that it may be longer than timers can wait. @default false */
  untimed?: boolean;
}

/**
 * Checks an option that is a duration in ms: a finite number above 0. `undefined` means `fallback`. Fractions are
 * rounded up. A duration above 2^31 - 1 ms (24 days), which timers would take for 1 ms, is reduced to that. Throws
 * `VALIDATION_ERROR` on all else.
 * @param option - name as the user writes it, with a dot for each level: `retry.delay`
 */
export function resolveDuration<T extends number | undefined>(
  option: string,
  value: unknown,
  fallback: T,
  { zero = false, infinite = false, untimed = false, operationId }: DurationRule = {},
): number | T {
  if (value === undefined) return fallback;
  if (infinite && value === Number.POSITIVE_INFINITY) return value;
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0 || (value === 0 && !zero)) {
    const range = zero ? "0 or above" : "above 0";
    const expected = `a number of milliseconds ${range}`;
    throw invalidNumber(option, value, infinite ? `${expected}, or Infinity` : expected, operationId);
  }
  return untimed ? value : Math.min(Math.ceil(value), maxTimerDelay);
}

/** Which counts an option allows. */
export interface CountRule extends OptionRule {
  /** The smallest count. */
  min: 0 | 1;
  /** The largest count. @default the largest safe integer */
  max?: number;
  /** `Infinity` is allowed. Only where the option documents that it means "no limit". */
  infinite?: boolean;
}

/** Checks an option that counts something: an integer within the bounds. `undefined` means `fallback`. Throws `VALIDATION_ERROR` on all else. */
export function resolveCount<T extends number | undefined>(
  option: string,
  value: unknown,
  fallback: T,
  { min, max, infinite = false, operationId }: CountRule,
): number | T {
  if (value === undefined) return fallback;
  if (infinite && value === Number.POSITIVE_INFINITY) return value;
  if (Number.isSafeInteger(value)) {
    const count = value as number;
    if (count >= min && count <= (max ?? count)) return count;
  }
  const expected = max === undefined ? `an integer of at least ${min}` : `an integer from ${min} to ${max}`;
  throw invalidNumber(option, value, infinite ? `${expected}, or Infinity` : expected, operationId);
}

/** A configuration error that names the option, what it was and what it may be. */
export function invalidNumber(option: string, value: unknown, expected: string, operationId?: string): CallError {
  const path = `/${option.replaceAll(".", "/")}`;
  const label = operationId === undefined ? "options" : `options of ${quote(operationId)}`;
  return validationError(label, [{ path, message: `must be ${expected}, not ${describe(value)}` }]);
}

function describe(value: unknown): string {
  if (typeof value === "string") return quote(truncate(value, 40));
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") return String(value);
  return value === null ? "null" : `a value of type ${typeof value}`;
}
