import { getOwn, isObject } from "../../internal/objects.ts";
import { CircuitBreaker, ConcurrencyLimiter, RetryPolicy } from "../../middleware/index.ts";
import { resolveCount, resolveDuration, resolveLimits } from "../../operation/inside.ts";
import type { HTTPAuth, HTTPServiceConfig } from "./config.ts";
import { badConfig } from "./errors.ts";

/** The state that all operations of one service share. */
export interface ServiceState {
  readonly limiter: ConcurrencyLimiter | undefined;
  readonly retry: RetryPolicy | undefined;
  /** Returns the circuit breaker of an origin. A service may use several origins. */
  breakerOf(origin: string): CircuitBreaker | undefined;
}

const states = new WeakMap<HTTPServiceConfig, ServiceState>();

/** Returns the state of a service. It belongs to the identity of its configuration object, which is never copied. */
export function stateOf(config: HTTPServiceConfig): ServiceState {
  const state = states.get(config) ?? createState(config);
  states.set(config, state);
  return state;
}

function createState(config: HTTPServiceConfig): ServiceState {
  const { concurrency: limit } = config;
  const retry = settingsOf("retry", config.retry);
  const breaker = settingsOf("breaker", config.breaker);
  const breakers = new Map<string, CircuitBreaker>();
  return {
    limiter: limit === undefined ? undefined : new ConcurrencyLimiter({ limit, maxWaiting: Number.POSITIVE_INFINITY }),
    retry: retry && new RetryPolicy(retry, "retry."),
    breakerOf(origin) {
      if (breaker === undefined) return undefined;
      const known = breakers.get(origin) ?? new CircuitBreaker(breaker, "breaker.");
      breakers.set(origin, known);
      return known;
    },
  };
}

const noLimit = { infinite: true } as const;

/** Throws `VALIDATION_ERROR` if a credential has no known type, or a number is invalid for a timer or a counter. */
export function assertSettings(config: HTTPServiceConfig): void {
  assertAuth(config.auth, "auth");
  resolveLimits(config.limits);
  resolveDuration("timeout", config.timeout, undefined, noLimit);
  resolveDuration("idleTimeout", config.idleTimeout, undefined, noLimit);
  resolveDuration("externalRefs.timeout", config.externalRefs?.timeout, undefined);
  resolveCount("concurrency", config.concurrency, undefined, { min: 1, infinite: true });
  const reconnect = settingsOf("reconnect", config.reconnect);
  resolveCount("reconnect.attempts", reconnect?.attempts, undefined, { min: 0, infinite: true });
  resolveDuration("reconnect.delay", reconnect?.delay, undefined);
  resolveDuration("reconnect.maxDelay", reconnect?.maxDelay, undefined);
  // The policies validate their own options.
  createState(config).breakerOf("");
}

const authTypes: ReadonlySet<unknown> = new Set<HTTPAuth["type"]>(["bearer", "apiKey", "basic", "oauth2"]);

/** Omits the value from the message, because it may be a secret. */
function assertAuth(auth: unknown, option: string): void {
  const schemes = getOwn(auth, "schemes");
  if (isObject(schemes)) {
    for (const [name, scheme] of Object.entries(schemes)) assertAuth(scheme, `auth.schemes.${name}`);
  } else if (auth !== undefined && typeof auth !== "function" && !authTypes.has(getOwn(auth, "type"))) {
    throw badConfig(`${option} must have the type "bearer", "apiKey", "basic" or "oauth2": { type: "bearer", token }.`);
  }
}

/** Returns the settings of an option that may also be `true`, for the defaults, or `false`. */
function settingsOf<T extends object>(option: string, value: boolean | T | undefined): Partial<T> | undefined {
  if (value === undefined || value === false) return undefined;
  if (value === true) return {};
  if (typeof value === "object" && value !== null) return value;
  throw badConfig(`${option} must be true, false or an object of settings.`);
}
