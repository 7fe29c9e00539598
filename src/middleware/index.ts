export type { CircuitBreakerMiddlewareOptions, CircuitBreakerOptions } from "./circuit-breaker.ts";
export { CircuitBreaker, circuitBreaker } from "./circuit-breaker.ts";
export type { ConcurrencyOptions } from "./concurrency.ts";
export { ConcurrencyLimiter, concurrency } from "./concurrency.ts";
export type { RateLimitOptions } from "./rate-limit.ts";
export { rateLimit } from "./rate-limit.ts";
export type { RetryConditions, RetryOptions } from "./retry.ts";
export { RetryPolicy, retry } from "./retry.ts";
