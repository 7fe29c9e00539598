import { BoundedMap } from "../internal/bounded.ts";
import { quote } from "../internal/text.ts";
import { onAbort } from "../internal/wait.ts";
import { CallError, mapError, resolveCount, resolveDuration } from "../operation/inside.ts";
import type { Middleware, MiddlewareCall } from "../registry/index.ts";
import { runWithHooks } from "./call-hooks.ts";

/** Options of a circuit breaker. */
export interface CircuitBreakerOptions {
  /** Failures in a row after which calls are refused, at least 1. @default 5 */
  failures?: number;
  /** Time during which calls are refused, in ms, above 0, before one call tests the service. @default 10,000 */
  cooldown?: number;
}

const downStatuses: ReadonlySet<unknown> = new Set([502, 503, 504]);

/**
 * Refuses calls of a service that fails repeatedly. After the cooldown one call is allowed. If it succeeds, all calls are
 * allowed again; if it fails, calls are refused for another cooldown.
 */
export class CircuitBreaker {
  readonly #failures: number;
  readonly #cooldown: number;
  #count = 0;
  /** Time at which the next call is allowed, in ms since the epoch. */
  #refusesUntil = 0;

  /** @param path - Prefix of the options in error messages, such as `breaker.`. */
  constructor(options: CircuitBreakerOptions = {}, path = "") {
    this.#failures = resolveCount(`${path}failures`, options.failures, 5, { min: 1 });
    this.#cooldown = resolveDuration(`${path}cooldown`, options.cooldown, 10_000);
  }

  /** Allows or refuses a call. @throws CallError `UNAVAILABLE`, retryable and not run, while calls are refused. */
  admit(operationId: string): void {
    if (this.#count < this.#failures) return;
    const now = Date.now();
    if (now < this.#refusesUntil) throw refused(operationId, this.#count, this.#refusesUntil - now);
    this.#refusesUntil = now + this.#cooldown;
  }

  /** Counts a call to which the service responded. */
  succeeded(): void {
    this.#count = 0;
  }

  /**
   * Counts a call that failed. `UNAVAILABLE`, `TIMEOUT` and the HTTP statuses 502, 503 and 504 are failures of the service;
   * any other error of the service counts as a response. An abort, and an error before the service was reached, are not
   * counted.
   */
  failed(error: CallError): void {
    const status = (error.details as { status?: unknown } | undefined)?.status;
    if (error.code === "UNAVAILABLE" || error.code === "TIMEOUT" || downStatuses.has(status)) {
      if (++this.#count >= this.#failures) this.#refusesUntil = Date.now() + this.#cooldown;
    } else if (error.code !== "ABORTED" && (error.mayHaveRun || typeof status === "number")) {
      this.#count = 0;
    }
  }
}

function refused(operationId: string, failures: number, retryAfter: number): CallError {
  const message = `${quote(operationId)} was not called: its service failed ${failures} times in a row. Try again in ${retryAfter} ms.`;
  return new CallError("UNAVAILABLE", message, { operationId, retryAfter }, { retryable: true, mayHaveRun: false });
}

/** Options of the circuit breaker middleware. */
export interface CircuitBreakerMiddlewareOptions extends CircuitBreakerOptions {
  /** Calls with the same key share a circuit breaker. @default the namespace of the operation */
  key?: (call: MiddlewareCall) => string;
}

/** Maximum number of circuit breakers of one middleware; above it the oldest are removed. */
const maxBreakers = 1_000;

/**
 * Middleware that refuses calls of a service that fails repeatedly, by default counted per namespace. A subscription counts as a
 * success when its first value arrives, or when it ends without an error, and as a failure when it fails at any time.
 */
export function circuitBreaker(options: CircuitBreakerMiddlewareOptions = {}): Middleware {
  const { key = ({ spec }) => spec.namespace } = options;
  const breakers = new BoundedMap<string, CircuitBreaker>(maxBreakers);
  void new CircuitBreaker(options); // Reports invalid options here instead of on the first call.
  return (call, next) => {
    const name = key(call);
    const breaker = breakers.get(name) ?? new CircuitBreaker(options);
    if (!breakers.has(name)) breakers.set(name, breaker);
    breaker.admit(call.operationId);
    return observe(breaker, call, next);
  };
}

function observe(breaker: CircuitBreaker, call: MiddlewareCall, next: () => Promise<unknown>): Promise<unknown> {
  const { context } = call;
  let isCounted = false;
  const count = (error?: unknown) => {
    if (isCounted) return;
    isCounted = true;
    if (error === undefined) breaker.succeeded();
    else breaker.failed(mapError(error));
  };
  // A handler may never return. The deadline of the call then counts as a failure of the service.
  const stop = onAbort(context.abortable === false ? undefined : context.signal, count);
  return runWithHooks(call, next, {
    onFirstValue: () => breaker.succeeded(),
    onEnd(error) {
      stop();
      count(error);
    },
    onLeave: stop,
  });
}
