import { backOffDelay } from "../internal/back-off.ts";
import { BoundedMap } from "../internal/bounded.ts";
import { pause } from "../internal/wait.ts";
import { type CallError, isCallError, OperationType, resolveCount, resolveDuration } from "../operation/index.ts";
import type { Middleware, MiddlewareCall } from "../registry/index.ts";
import { isAsyncIterable, SubscriptionIterator } from "./subscription-iterator.ts";

/** How failed calls are repeated. */
export interface RetryOptions {
  /** Attempts after the first one, 0 or more. @default 2 */
  retries?: number;
  /**
   * Delay before the first retry, in ms, above 0. It doubles with each retry and is reduced by up to half at random. A
   * longer delay that the error asks for takes its place. @default 100
   */
  delay?: number;
  /** Maximum delay, in ms, above 0. A call whose error asks for a longer one is not repeated. @default 30,000 */
  maxDelay?: number;
}

/** What decides whether one call may be repeated. */
export interface RetryConditions {
  /** Whether a second run has no other effect than one: the operation only reads, or is idempotent. */
  repeatable: boolean;
  /** When the call ends, in ms since the epoch. A retry that could only begin later is not made. @default no limit */
  deadline?: number | undefined;
  /** Ends the delay before a retry. */
  signal?: AbortSignal | undefined;
}

/** Retries that can be made before any call has succeeded, and the share of successful calls that may be added. */
const maxBudget = 10;
const budgetPerSuccess = 0.1;

/**
 * Decides whether and when a failed call is repeated. While everything fails, all calls that share a policy are repeated
 * ten times in total; every ten calls that succeed allow one more retry.
 */
export class RetryPolicy {
  readonly #retries: number;
  readonly #delay: number;
  readonly #maxDelay: number;
  #budget = maxBudget;

  /** @param path - Where the options are in a configuration, for error messages, such as `retry.`. */
  constructor(options: RetryOptions = {}, path = "") {
    this.#retries = resolveCount(`${path}retries`, options.retries, 2, { min: 0 });
    this.#delay = resolveDuration(`${path}delay`, options.delay, 100);
    this.#maxDelay = resolveDuration(`${path}maxDelay`, options.maxDelay, 30_000);
  }

  /** Counts a call that succeeded. */
  succeeded(): void {
    this.#budget = Math.min(maxBudget, this.#budget + budgetPerSuccess);
  }

  /**
   * Resolves when the call may be repeated. Throws `error` when it may not, and the reason of the signal when that fires
   * during the delay.
   * @param attempt - Number of retries that were made before, from 0.
   */
  async beforeRetry(error: unknown, attempt: number, conditions: RetryConditions): Promise<void> {
    const { repeatable, deadline = Number.POSITIVE_INFINITY, signal } = conditions;
    if (attempt >= this.#retries || signal?.aborted || !isSafeToRepeat(error, repeatable)) throw error;
    const ownDelay = backOffDelay(attempt, { first: this.#delay, max: this.#maxDelay });
    // An error can ask for a longer delay, not for a shorter one: `Retry-After: 0` would turn every retry into a burst.
    const delay = Math.max(ownDelay, requestedDelay(error));
    if (delay > this.#maxDelay || Date.now() + delay >= deadline || this.#budget < 1) throw error;
    this.#budget -= 1;
    await pause(delay, signal);
  }
}

function isSafeToRepeat(error: unknown, repeatable: boolean): error is CallError {
  return isCallError(error) && error.retryable && (repeatable || !error.mayHaveRun);
}

/** The delay in ms that an error asks for: `details.retryAfter` in ms, or an HTTP `Retry-After` in seconds or as a date. */
function requestedDelay({ details }: CallError): number {
  const { retryAfter, headers } = (details ?? {}) as { retryAfter?: unknown; headers?: Record<string, unknown> };
  if (typeof retryAfter === "number" && retryAfter > 0) return retryAfter;
  const header = headers?.["retry-after"];
  const value = typeof header === "string" ? header.trim() : "";
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? 0 : Math.max(0, date - Date.now());
}

/** Namespaces whose retries are counted apart. Beyond this number, the counts of the oldest are forgotten. */
const maxNamespaces = 1_000;

/**
 * Middleware that repeats failed calls, where that is safe: the error is `retryable`, and the operation is a query,
 * `idempotent`, or did not run (`mayHaveRun: false`). Respects the call's deadline and signal, and the delay that the error
 * asks for. A subscription is repeated only until its first value. Retries are limited per namespace, see
 * {@link RetryPolicy}.
 */
export function retry(options: RetryOptions = {}): Middleware {
  const policies = new BoundedMap<string, RetryPolicy>(maxNamespaces);
  void new RetryPolicy(options); // invalid options are reported here, not by the first call
  return (call, next) => {
    const { namespace, type } = call.spec;
    const policy = policies.get(namespace) ?? new RetryPolicy(options);
    if (!policies.has(namespace)) policies.set(namespace, policy);
    return type === OperationType.SUBSCRIPTION ? retryOpening(policy, call, next) : retryCall(policy, call, next);
  };
}

async function retryCall(policy: RetryPolicy, call: MiddlewareCall, next: () => Promise<unknown>): Promise<unknown> {
  for (let attempt = 0; ; attempt++) {
    try {
      const result = await next();
      policy.succeeded();
      return result;
    } catch (error) {
      await policy.beforeRetry(error, attempt, conditionsOf(call));
    }
  }
}

/** Repeats a subscription until its first value: what consumers have received cannot be taken back. */
async function retryOpening(policy: RetryPolicy, call: MiddlewareCall, next: () => Promise<unknown>): Promise<unknown> {
  let attempt = 0;
  const open = async (): Promise<unknown> => {
    for (;;) {
      try {
        return await next();
      } catch (error) {
        await policy.beforeRetry(error, attempt++, conditionsOf(call));
      }
    }
  };
  const values = await open();
  if (!isAsyncIterable(values)) return values;
  return new SubscriptionIterator(values, {
    onFirstValue: () => policy.succeeded(),
    async reopen(error) {
      // A handler that has begun to yield has run, whatever an error from inside it claims.
      if (!conditionsOf(call).repeatable) throw error;
      await policy.beforeRetry(error, attempt++, conditionsOf(call));
      return open();
    },
  });
}

function conditionsOf({ spec, context }: MiddlewareCall): RetryConditions {
  return {
    repeatable: spec.type === OperationType.QUERY || spec.idempotent === true,
    deadline: context.deadline,
    // The signal is created when it is read, which a call that nothing can abort need not pay for.
    signal: context.abortable === false ? undefined : context.signal,
  };
}
