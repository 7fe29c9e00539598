import { monotonicNow } from "../internal/deadlines.ts";
import { LinkedSet } from "../internal/linked-set.ts";
import { type CallError, type Limits, limitExceeded, resolveDuration, resolveLimits } from "../operation/index.ts";
import { coreOf, type OperationRegistry, type RegistryCore } from "../registry/index.ts";
import type { CallRequested } from "../transport/transport.ts";
import { CallBudgets } from "./call-budgets.ts";
import type { RunningRequests } from "./drain.ts";
import type { Authenticate, IdentityRules, IncomingHost, IncomingRequest } from "./incoming-request.ts";

/** Limits of the requests that a server runs. */
export interface RequestLimits {
  /**
   * Time limit of calls that arrive without a timeout, in ms; `Infinity` for no limit. Like `execute`, calls in process
   * have no default limit. @default 30,000
   */
  defaultTimeout?: number | undefined;
  /** Maximum time limit that a caller can request, in ms; `Infinity` for no limit. @default one hour */
  maxTimeout?: number | undefined;
  /** Maximum number of running calls, and of further calls that one of them may cause. */
  limits?: Pick<Limits, "pendingCalls" | "callsPerRoot"> | undefined;
}

/** Options of a {@link RequestRunner}. */
export interface RequestRunnerOptions extends RequestLimits, IdentityRules {
  registry: OperationRegistry;
  /** Whether requests come from outside this process. */
  isRemote: boolean;
  /** Whether calls are made in this process, so that they have no default time limits. */
  isInProcess: boolean;
}

/** Runs the requests that one server receives: with deadlines, budgets, a maximum number, and an orderly end. */
export class RequestRunner implements IncomingHost, RunningRequests {
  readonly core: RegistryCore;
  readonly authenticate: Authenticate | undefined;
  readonly trustedBus: boolean | undefined;
  readonly isRemote: boolean;
  readonly budgets: CallBudgets;
  readonly open = new LinkedSet<IncomingRequest>();
  running = 0;
  waiting: Array<() => void> = [];
  readonly #defaultTimeout: number;
  readonly #maxTimeout: number;
  readonly #pendingCalls: number;

  constructor({ registry, isRemote, isInProcess, limits, ...options }: RequestRunnerOptions) {
    const never = { infinite: true };
    const timeoutDefault = isInProcess ? Number.POSITIVE_INFINITY : 30_000;
    this.#defaultTimeout = resolveDuration("defaultTimeout", options.defaultTimeout, timeoutDefault, never);
    const maximumDefault = isInProcess ? Number.POSITIVE_INFINITY : 3_600_000;
    this.#maxTimeout = resolveDuration("maxTimeout", options.maxTimeout, maximumDefault, never);
    const { pendingCalls, callsPerRoot } = resolveLimits(limits);
    this.#pendingCalls = pendingCalls;
    this.core = coreOf(registry);
    this.authenticate = options.authenticate;
    this.trustedBus = options.trustedBus;
    this.isRemote = isRemote;
    this.budgets = new CallBudgets(callsPerRoot);
  }

  /** Returns the error for a further request, if the maximum number of requests is running. */
  refuse(): CallError | undefined {
    return this.running < this.#pendingCalls
      ? undefined
      : limitExceeded("Too many calls are running", "pendingCalls", this.#pendingCalls);
  }

  /** Returns when a request fails with `TIMEOUT`, in ms since the epoch. Subscriptions have no default limit. */
  deadlineOf(frame: CallRequested): number | undefined {
    const { timeout, expiresAt, credit } = frame;
    const isNumber = typeof timeout === "number" && !Number.isNaN(timeout);
    const unlimited = credit === undefined ? this.#defaultTimeout : Number.POSITIVE_INFINITY;
    // A requested timeout cannot exceed the maximum; an invalid one counts as 0.
    const left = timeout === undefined ? unlimited : isNumber ? Math.min(timeout, this.#maxTimeout) : 0;
    if (left === Number.POSITIVE_INFINITY) return undefined;
    const now = Date.now(); // Read this clock first: a pause between the two reads must not extend the deadline.
    return now + (Number.isFinite(expiresAt) ? Math.min(left, expiresAt! - monotonicNow()) : left);
  }

  end(which: "subscriptions" | "all", toError: (operationId: string) => CallError): void {
    for (const request of [...this.open]) {
      if (which === "all" || request.isSubscription) request.endWith(toError(request.operationId));
    }
  }

  settled(): Promise<void> {
    return this.running === 0 ? Promise.resolve() : new Promise<void>((resolve) => this.waiting.push(resolve));
  }
}
