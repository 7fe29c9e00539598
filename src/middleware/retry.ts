import { backOffDelay } from "../internal/back-off.ts";
import { BoundedMap } from "../internal/bounded.ts";
import { pause } from "../internal/wait.ts";
import {
  type CallError,
  isCallError,
  OperationType,
  requestedDelay,
  resolveCount,
  resolveDuration,
} from "../operation/inside.ts";
import type { Middleware, MiddlewareCall } from "../registry/index.ts";
import { runWithHooks } from "./call-hooks.ts";

/** Options of the retry middleware. */
export interface RetryOptions {
  /** Attempts after the first one, 0 or more. @default 2 */
  retries?: number;
  /**
   * Delay before the first retry, in ms, above 0. It doubles with each retry and is reduced by up to half at random. A
   * longer delay that the error requests is used instead. @default 100
   */
  delay?: number;
  /** Maximum delay, in ms, above 0. A call whose error requests a longer delay is not repeated. @default 30,000 */
  maxDelay?: number;
}

/** The conditions under which one call may be repeated. */
export interface RetryConditions {
  /** Whether two runs have the same effect as one: the operation is a query, or idempotent. */
  repeatable: boolean;
  /** Deadline of the call, in ms since the epoch. A retry that would begin later is not made. @default no limit */
  deadline?: number | undefined;
  /** Ends the delay before a retry. */
  signal?: AbortSignal | undefined;
}

/** Maximum number of retries without a successful call, and the number of retries that each successful call adds. */
const maxBudget = 10;
const budgetPerSuccess = 0.1;

/**
 * Determines whether and when a failed call is repeated. All calls that share a policy have a budget of ten retries; every
 * ten successful calls add one retry to it.
 */
export class RetryPolicy {
  readonly #retries: number;
  readonly #delay: number;
  readonly #maxDelay: number;
  #budget = maxBudget;

  /** @param path - Prefix of the options in error messages, such as `retry.`. */
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
   * Resolves when the call may be repeated. Throws `error` when it may not, and the reason of the signal if it fires
   * during the delay.
   * @param attempt - Number of retries that were made before, from 0.
   */
  async beforeRetry(error: unknown, attempt: number, conditions: RetryConditions): Promise<void> {
    const { repeatable, deadline = Number.POSITIVE_INFINITY, signal } = conditions;
    if (attempt >= this.#retries || signal?.aborted || !isSafeToRepeat(error, repeatable)) throw error;
    const ownDelay = backOffDelay(attempt, { first: this.#delay, max: this.#maxDelay });
    // An error can request a longer delay, but not a shorter one: `Retry-After: 0` would make all clients retry immediately.
    const delay = Math.max(ownDelay, requestedDelay(error));
    if (delay > this.#maxDelay || Date.now() + delay >= deadline || this.#budget < 1) throw error;
    this.#budget -= 1;
    await pause(delay, signal);
  }
}

function isSafeToRepeat(error: unknown, repeatable: boolean): error is CallError {
  return isCallError(error) && error.retryable && (repeatable || !error.mayHaveRun);
}

/** Maximum number of namespaces with a separate retry budget; above it the oldest are removed. */
const maxNamespaces = 1_000;

/**
 * Middleware that repeats failed calls, where that is safe: the error is `retryable`, and the operation is a query,
 * `idempotent`, or did not run (`mayHaveRun: false`). Respects the call's deadline and signal, and the delay that the error
 * requests. A subscription is repeated only until its first value. Retries are limited per namespace, see
 * {@link RetryPolicy}.
 */
export function retry(options: RetryOptions = {}): Middleware {
  const policies = new BoundedMap<string, RetryPolicy>(maxNamespaces);
  void new RetryPolicy(options); // Reports invalid options here instead of on the first call.
  return (call, next) => {
    const { namespace } = call.spec;
    const policy = policies.get(namespace) ?? new RetryPolicy(options);
    if (!policies.has(namespace)) policies.set(namespace, policy);
    return repeat(policy, call, next);
  };
}

async function repeat(policy: RetryPolicy, call: MiddlewareCall, next: () => Promise<unknown>): Promise<unknown> {
  let attempt = 0;
  const run = async (): Promise<unknown> => {
    for (;;) {
      try {
        const result = await next();
        // A subscription succeeds when its first value arrives.
        if (call.spec.type !== OperationType.SUBSCRIPTION) policy.succeeded();
        return result;
      } catch (error) {
        await policy.beforeRetry(error, attempt++, conditionsOf(call));
      }
    }
  };
  return runWithHooks(call, run, {
    onFirstValue: () => policy.succeeded(),
    // Only until the first value, because values that consumers have received cannot be revoked.
    async reopen(error) {
      // A handler that has yielded has run, even if its error has `mayHaveRun: false`.
      if (!conditionsOf(call).repeatable) throw error;
      await policy.beforeRetry(error, attempt++, conditionsOf(call));
      return run();
    },
  });
}

function conditionsOf({ spec, context }: MiddlewareCall): RetryConditions {
  return {
    repeatable: spec.type === OperationType.QUERY || spec.idempotent === true,
    deadline: context.deadline,
    // Reading the signal creates it, which is not needed for a call that cannot be aborted.
    signal: context.abortable === false ? undefined : context.signal,
  };
}
