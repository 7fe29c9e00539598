import { quote, truncate } from "../internal/text.ts";
import { maxTimerDelay } from "../internal/timers.ts";
import type { CallError } from "./error.ts";
import { validationError } from "./errors.ts";

/**
 * Bounds on what one call, document or connection may cost. Every field has a default, which `undefined` means too.
 * `Infinity` lifts a bound; anything else that is not a number above 0 is refused with `VALIDATION_ERROR`.
 */
export interface Limits {
  /** How deep calls may nest. @default 64 */
  callDepth?: number;
  /** How many calls one that arrived from outside may cause, at any depth. @default 10,000 */
  callsPerRoot?: number;
  /** How many calls may be pending at once, asked or served. @default 20,000 */
  pendingCalls?: number;
  /** How many calls one connection may have pending, each way. @default 10,000 */
  callsPerConnection?: number;
  /** How many of them may be subscriptions. @default 1,024 */
  subscriptionsPerConnection?: number;
  /** Largest message between peers, in bytes. @default 16 MiB */
  maxMessage?: number;
  /** The same for a peer that is not authenticated. @default 1 MiB */
  maxAnonymousMessage?: number;
  /**
   * How much may wait to be read by a slow peer, in bytes. Above it new calls are refused, and a peer that reads nothing,
   * or leaves twice as much, loses its connection. @default 64 MiB
   */
  bufferedBytes?: number;
  /** Largest decoded HTTP answer, in bytes. @default 64 MiB */
  responseBytes?: number;
  /** Largest single event of a stream, in bytes. @default 1 MiB */
  eventBytes?: number;
  /** Deepest nesting of JSON that is read from outside. @default 200 */
  jsonDepth?: number;
  /** Largest document, in bytes. @default 20 MiB */
  documentBytes?: number;
  /** Most operations taken from one document. @default 10,000 */
  operations?: number;
  /** Most `$ref`s followed while one document is read. @default 100,000 */
  references?: number;
  /** Deepest nesting of one schema. @default 64 */
  schemaDepth?: number;
  /** Most sub-schemas in one schema. @default 10,000 */
  subschemas?: number;
  /** Longest `pattern`, in characters. @default 50,000 */
  patternLength?: number;
}

/** The default of every limit. */
export const defaultLimits: Readonly<Required<Limits>> = Object.freeze({
  callDepth: 64,
  callsPerRoot: 10_000,
  pendingCalls: 20_000,
  callsPerConnection: 10_000,
  subscriptionsPerConnection: 1_024,
  maxMessage: 16 * 1024 * 1024,
  maxAnonymousMessage: 1024 * 1024,
  bufferedBytes: 64 * 1024 * 1024,
  responseBytes: 64 * 1024 * 1024,
  eventBytes: 1024 * 1024,
  jsonDepth: 200,
  documentBytes: 20 * 1024 * 1024,
  operations: 10_000,
  references: 100_000,
  schemaDepth: 64,
  subschemas: 10_000,
  patternLength: 50_000,
});

/** Fills in the default of every limit that is missing or `undefined`. Throws `VALIDATION_ERROR` on an invalid one. */
export function resolveLimits(limits: Limits | undefined): Readonly<Required<Limits>>;
/** The same for limits that have more fields, with the defaults of all of them. */
export function resolveLimits<T extends Required<Limits>>(limits: Partial<T> | undefined, defaults: T): Readonly<T>;
export function resolveLimits(
  limits: Limits | undefined,
  defaults: Readonly<Required<Limits>> = defaultLimits,
): Readonly<Required<Limits>> {
  if (limits === undefined) return defaults;
  if (typeof limits !== "object" || limits === null) throw invalidNumber("limits", limits, "an object");
  const resolved = { ...defaults };
  for (const name of Object.keys(defaults) as Array<keyof Limits>) {
    const value: unknown = limits[name];
    if (value === undefined) continue;
    if (typeof value !== "number" || !(value > 0)) {
      throw invalidNumber(`limits.${name}`, value, "a number above 0, or Infinity");
    }
    resolved[name] = value;
  }
  return resolved;
}

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
  /** `undefined` is refused, because the option has no default. */
  required?: boolean;
}

/** Checks an option that counts something: an integer within the bounds. `undefined` means `fallback`. Throws `VALIDATION_ERROR` on all else. */
export function resolveCount<T extends number | undefined>(
  option: string,
  value: unknown,
  fallback: T,
  { min, max, infinite = false, required = false, operationId }: CountRule,
): number | T {
  if (value === undefined && !required) return fallback;
  if (infinite && value === Number.POSITIVE_INFINITY) return value;
  if (Number.isSafeInteger(value)) {
    const count = value as number;
    if (count >= min && count <= (max ?? count)) return count;
  }
  const expected = max === undefined ? `an integer of at least ${min}` : `an integer from ${min} to ${max}`;
  throw invalidNumber(option, value, infinite ? `${expected}, or Infinity` : expected, operationId);
}

/** A configuration error that names the option, what it was and what it may be. */
function invalidNumber(option: string, value: unknown, expected: string, operationId?: string): CallError {
  const path = `/${option.replaceAll(".", "/")}`;
  const label = operationId === undefined ? "options" : `options of ${quote(operationId)}`;
  return validationError(label, [{ path, message: `must be ${expected}, not ${describe(value)}` }]);
}

function describe(value: unknown): string {
  if (typeof value === "string") return quote(truncate(value, 40));
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") return String(value);
  return value === null || value === undefined ? String(value) : `a value of type ${typeof value}`;
}
