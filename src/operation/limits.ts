import { withoutUndefined } from "../internal/objects.ts";
import { describeValue } from "../internal/text.ts";
import { maxTimerDelay } from "../internal/timers.ts";
import type { CallError } from "./error.ts";
import { validationError } from "./errors.ts";

/** The default of every limit. */
export const defaultLimits = {
  /** Maximum depth of nested calls. @default 64 */
  callDepth: 64,
  /** Maximum number of pending calls, outgoing and incoming together. @default 20,000 */
  pendingCalls: 20_000,
  /** Maximum size of a message between peers, in bytes. @default 16 MiB */
  maxMessage: 16 * 1024 * 1024,
  /** Maximum size of a decoded HTTP response, in bytes. @default 64 MiB */
  responseBytes: 64 * 1024 * 1024,
  /** Maximum size of the body of a request to a server, in bytes. @default 1 MiB */
  requestBytes: 1024 * 1024,
  /** Maximum length of the URL of a request to a server, in characters. @default 16,384 */
  urlLength: 16 * 1024,
  /** Maximum size of one event of a stream, in bytes. @default 1 MiB */
  eventBytes: 1024 * 1024,
  /** Maximum depth of JSON from outside this process. @default 200 */
  jsonDepth: 200,
  /** Maximum size of a document, in bytes. @default 20 MiB */
  documentBytes: 20 * 1024 * 1024,
  /** Maximum number of operations of one document. @default 10,000 */
  operations: 10_000,
  /** Maximum number of `$ref`s that are resolved in one document. @default 100,000 */
  references: 100_000,
  /** Maximum depth of one schema. @default 64 */
  schemaDepth: 64,
  /** Maximum number of sub-schemas of one schema. @default 10,000 */
  subschemas: 10_000,
  /** Maximum length of a `pattern`, in characters. @default 50,000 */
  patternLength: 50_000,
};

type Optional<T> = { [Name in keyof T]?: T[Name] | undefined };

/**
 * Limits on the cost of one call, document or connection. A missing or `undefined` field has its default.
 * `Infinity` removes a limit; anything else that is not a number above 0 is refused with `VALIDATION_ERROR`.
 */
export interface Limits extends Optional<typeof defaultLimits> {}

/**
 * Fills in the default of every limit that is missing or `undefined`. Throws `VALIDATION_ERROR` on an invalid one.
 * @param defaults - every limit of a source that has additional ones
 */
export function resolveLimits<T extends Required<Limits> = Required<Limits>>(
  limits: Partial<NoInfer<T>> | undefined,
  defaults: Readonly<T> = defaultLimits as T,
): Readonly<T> {
  if (limits === undefined) return defaults;
  if (typeof limits !== "object" || limits === null) throw invalidNumber("limits", limits, "an object");
  const given = withoutUndefined(limits);
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(defaults, name)) {
      const message = `is not a limit; use ${Object.keys(defaults).join(", ")}`;
      throw validationError("options", [{ path: `/limits/${name}`, message }]);
    }
    if (typeof value !== "number" || !(value > 0)) {
      throw invalidNumber(`limits.${name}`, value, "a number above 0, or Infinity");
    }
  }
  return { ...defaults, ...given };
}

/** What options of both kinds may have. */
interface OptionRule {
  /** `Infinity` is allowed. Use it only where the option documents that it means "never" or "no limit". */
  infinite?: boolean;
}

/** Additional values that a duration may have. */
interface DurationRule extends OptionRule {
  /** `0` is allowed. Use it only where the option documents its meaning. */
  zero?: boolean;
  /** Whether no timer is set for it, so that it may exceed the maximum of timers. @default false */
  untimed?: boolean;
}

/**
 * Checks an option that is a duration in ms: a finite number above 0. `undefined` means `fallback`. Fractions are
 * rounded up. A duration above 2^31 - 1 ms (24 days), which timers would treat as 1 ms, is reduced to that. Throws
 * `VALIDATION_ERROR` for any other value.
 * @param option - name as the user writes it, with a dot for each level: `retry.delay`
 */
export function resolveDuration<T extends number | undefined>(
  option: string,
  value: unknown,
  fallback: T,
  { zero = false, infinite = false, untimed = false }: DurationRule = {},
): number | T {
  if (value === undefined) return fallback;
  if (infinite && value === Number.POSITIVE_INFINITY) return value;
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0 || (value === 0 && !zero)) {
    const range = zero ? "0 or above" : "above 0";
    const expected = `a number of milliseconds ${range}`;
    throw invalidNumber(option, value, infinite ? `${expected}, or Infinity` : expected);
  }
  return untimed ? value : Math.min(Math.ceil(value), maxTimerDelay);
}

/** The counts that an option allows. */
interface CountRule extends OptionRule {
  /** The smallest count. */
  min: 0 | 1;
  /** The largest count. @default the largest safe integer */
  max?: number;
  /** `undefined` is refused, because the option has no default. */
  required?: boolean;
}

/** Checks an option that is an integer within limits. `undefined` means `fallback`. Throws `VALIDATION_ERROR` otherwise. */
export function resolveCount<T extends number | undefined>(
  option: string,
  value: unknown,
  fallback: T,
  { min, max, infinite = false, required = false }: CountRule,
): number | T {
  if (value === undefined && !required) return fallback;
  if (infinite && value === Number.POSITIVE_INFINITY) return value;
  if (Number.isSafeInteger(value)) {
    const count = value as number;
    if (count >= min && count <= (max ?? count)) return count;
  }
  const expected = max === undefined ? `an integer of at least ${min}` : `an integer from ${min} to ${max}`;
  throw invalidNumber(option, value, infinite ? `${expected}, or Infinity` : expected);
}

/** A configuration error that names the option, its value and the allowed values. */
function invalidNumber(option: string, value: unknown, expected: string): CallError {
  const path = `/${option.replaceAll(".", "/")}`;
  return validationError("options", [{ path, message: `must be ${expected}, not ${describeValue(value)}` }]);
}
