import { resolveCount, resolveDuration, resolveLimits } from "../../operation/index.ts";
import type { HTTPServiceConfig } from "./config.ts";
import { badConfig } from "./document-error.ts";

const noLimit = { infinite: true } as const;

/**
 * Throws `VALIDATION_ERROR` when a number of a configuration would break a timer or a counter. The configuration itself
 * stays as it is: services share their state by its identity.
 */
export function assertNumbers(config: HTTPServiceConfig): void {
  resolveLimits(config.limits);
  resolveDuration("timeout", config.timeout, undefined, noLimit);
  resolveDuration("idleTimeout", config.idleTimeout, undefined, noLimit);
  resolveDuration("externalRefs.timeout", config.externalRefs?.timeout, undefined);
  resolveCount("concurrency", config.concurrency, undefined, { min: 1, infinite: true });
  const retry = settingsOf("retry", config.retry);
  resolveCount("retry.retries", retry.retries, undefined, { min: 0 });
  resolveDuration("retry.delay", retry.delay, undefined);
  resolveDuration("retry.maxDelay", retry.maxDelay, undefined);
  const breaker = settingsOf("breaker", config.breaker);
  resolveCount("breaker.failures", breaker.failures, undefined, { min: 1 });
  resolveDuration("breaker.cooldown", breaker.cooldown, undefined);
  const reconnect = settingsOf("reconnect", config.reconnect);
  resolveCount("reconnect.attempts", reconnect.attempts, undefined, { min: 0, infinite: true });
  resolveDuration("reconnect.delay", reconnect.delay, undefined);
  resolveDuration("reconnect.maxDelay", reconnect.maxDelay, undefined);
}

/** What stands under an option that may also be `true` or `false`. */
function settingsOf<T extends object>(option: string, value: boolean | T | undefined): Partial<T> {
  if (value === undefined || typeof value === "boolean") return {};
  if (typeof value === "object" && value !== null) return value;
  throw badConfig(`${option} must be true, false or an object of settings.`);
}
