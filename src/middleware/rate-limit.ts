import { BoundedMap } from "../internal/bounded.ts";
import { assertObject } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { CallError, resolveCount, resolveDuration } from "../operation/inside.ts";
import type { Middleware, MiddlewareCall } from "../registry/index.ts";

/** Options of the rate limit middleware. */
export interface RateLimitOptions {
  /** Number of calls per `interval`, at least 1. As many calls may be made in a burst. */
  limit: number;
  /** Time in ms in which the whole limit becomes available again, evenly. @default 60,000 */
  interval?: number;
  /** Calls with the same key share a limit. @default the caller's id and the operation; callers without an identity share one */
  key?: (call: MiddlewareCall) => string;
}

/** Maximum number of keys that are counted. Above it, those that were used least recently are forgotten. */
const maxKeys = 100_000;

/**
 * Middleware that limits how often each caller calls each operation, with a token bucket. Calls above the limit fail with
 * `LIMIT_EXCEEDED`: retryable, not run, and with the time in ms until the next call is possible as `details.retryAfter`.
 * Every call of a selected operation counts, nested ones and failed ones included; a subscription counts when it begins.
 */
export function rateLimit(options: RateLimitOptions): Middleware {
  assertObject("rateLimit", options, "rateLimit({ limit: 100 })");
  const limit = resolveCount("limit", options.limit, 1, { min: 1, required: true });
  const interval = resolveDuration("interval", options.interval, 60_000);
  const { key = toKey } = options;
  /** The time at which each bucket is full again. A bucket that is not stored is full. */
  const buckets = new BoundedMap<string, number>(maxKeys);
  /** Time in ms that one call occupies. */
  const cost = interval / limit;
  return (call, next) => {
    const name = key(call);
    const now = performance.now();
    const fullAt = Math.max(buckets.get(name) ?? now, now) + cost;
    const wait = fullAt - interval - now;
    // A thousandth of a millisecond, for rounding errors of the sums.
    if (wait > 0.001) throw tooManyCalls(call.operationId, limit, interval, Math.ceil(wait));
    buckets.set(name, fullAt);
    return next();
  };
}

function toKey({ operationId, context: { identity } }: MiddlewareCall): string {
  // An id of an operation contains no line break, so that different pairs have different keys.
  return identity === undefined ? operationId : `${operationId}\n${identity.id}`;
}

function tooManyCalls(operationId: string, limit: number, interval: number, retryAfter: number): CallError {
  const message = `${quote(operationId)} was not called: the limit is ${limit} calls per ${interval} ms. Try again in ${retryAfter} ms.`;
  return new CallError("LIMIT_EXCEEDED", message, { operationId, retryAfter }, { retryable: true, mayHaveRun: false });
}
