import type { ConcurrencyLimiter } from "../../../middleware/index.ts";
import { CallError, type OperationContext, resolveLimits } from "../../../operation/inside.ts";
import { cancelBody } from "../../../transport/http-body.ts";
import type { HTTPServiceConfig } from "../config.ts";
import type { EndpointPlan } from "../endpoint.ts";
import { type ServiceState, stateOf } from "../service-state.ts";
import { type Authenticator, compileAuth } from "./auth.ts";
import { fromNetworkError } from "./network-error.ts";
import { compileOperationResponse } from "./operation-response.ts";
import { compileRequest, type RequestBuilder, type WireRequest } from "./request.ts";
import { compileResponse, isUnauthorized, type ResponseReader } from "./response.ts";
import { CallScope } from "./scope.ts";

const safeMethods = new Set(["GET", "HEAD", "OPTIONS", "QUERY"]);
const redirects = new Set([301, 302, 303, 307, 308]);
const maxRedirects = 3;

/** Reads a successful response. */
type UseResponse<T> = (response: Response, request: WireRequest) => Promise<T>;

/** Sends the requests of one endpoint: builds, authenticates, sends, follows redirects, retries. */
export class Exchange {
  readonly reader: ResponseReader;
  /** Whether a request is idempotent and can be sent again. */
  readonly repeatable: boolean;
  readonly #plan: EndpointPlan;
  readonly #config: HTTPServiceConfig;
  readonly #state: ServiceState;
  readonly #build: RequestBuilder;
  readonly #authenticate: Authenticator | undefined;

  constructor(plan: EndpointPlan, config: HTTPServiceConfig) {
    this.#plan = plan;
    this.#config = config;
    this.#state = stateOf(config);
    this.#build = compileRequest(plan, config);
    this.#authenticate = compileAuth(plan, config);
    this.repeatable = plan.idempotent || safeMethods.has(plan.method);
    const compile = plan.isOperation ? compileOperationResponse : compileResponse;
    this.reader = compile(plan, resolveLimits(config.limits));
  }

  /** Runs one call. `use` receives the first successful response; its failures count as failures of the attempt. */
  run<T>(
    input: unknown,
    context: OperationContext,
    scope: CallScope,
    use: UseResponse<T>,
    prepare?: (request: WireRequest) => void,
  ): Promise<T> {
    const { limiter } = this.#state;
    if (limiter === undefined) return this.#tries(input, context, scope, use, prepare);
    return this.#inTurn(limiter, scope, () => this.#tries(input, context, scope, use, prepare));
  }

  async #inTurn<T>(limiter: ConcurrencyLimiter, scope: CallScope, work: () => Promise<T>): Promise<T> {
    try {
      await limiter.acquire(this.#plan.operationId, scope.signal);
    } catch (error) {
      throw scope.failure ?? error;
    }
    try {
      return await work();
    } finally {
      limiter.release();
    }
  }

  async #tries<T>(
    input: unknown,
    context: OperationContext,
    scope: CallScope,
    use: UseResponse<T>,
    prepare: ((request: WireRequest) => void) | undefined,
  ): Promise<T> {
    const named = typeof input === "object" && input !== null ? (input as Record<string, unknown>) : {};
    const given = this.#plan.isOperation ? { body: input } : named;
    const { retry } = this.#state;
    const deadline = retry && CallScope.endOf(this.#config.timeout, context.deadline);
    let refreshed = false;
    try {
      for (let attempt = 0; ; attempt++) {
        let credentials = this.#authenticate?.();
        if (credentials instanceof Promise) credentials = await scope.race(credentials);
        let request = this.#build(given, context, credentials);
        if (request instanceof Promise) request = await scope.race(request);
        prepare?.(request);
        if (scope.signal?.aborted) throw scope.signal.reason;
        const breaker = this.#state.breakerOf(request.origin);
        breaker?.admit(this.#plan.operationId);
        try {
          const response = await this.#send(request.url, request, scope);
          const used = response.ok ? use(response, request) : this.#redirected(response, request, scope, use);
          const result = await this.#bounded(used, scope);
          retry?.succeeded();
          breaker?.succeeded();
          return result;
        } catch (error) {
          const failure =
            error instanceof CallError ? error : fromNetworkError(this.#plan.operationId, error, request.url);
          breaker?.failed(scope.failure ?? failure);
          if (scope.signal?.aborted) throw failure;
          if (!request.replayable) throw withoutRetry(failure);
          // A refused token may have expired, so one new token is requested.
          if (!refreshed && isUnauthorized(failure) && credentials?.refresh?.()) {
            refreshed = true;
            attempt--;
            continue;
          }
          if (retry === undefined) throw failure;
          await retry.beforeRetry(failure, attempt, { repeatable: this.repeatable, deadline, signal: scope.signal });
        }
      }
    } catch (error) {
      throw scope.failure ?? error;
    }
  }

  /** Follows redirects. Any other unsuccessful response is an error. */
  async #redirected<T>(first: Response, request: WireRequest, scope: CallScope, use: UseResponse<T>): Promise<T> {
    let { url } = request;
    let response = first;
    for (let followed = 0; !response.ok; followed++) {
      // Browsers hide the target of a redirect.
      const isRedirect = redirects.has(response.status) || response.type === "opaqueredirect";
      const next = isRedirect ? this.#follow(response, request, url, followed) : undefined;
      if (next?.url === undefined) throw await this.reader.fail(response, request, next?.problem);
      cancelBody(response.body);
      url = next.url;
      response = await this.#send(url, request, scope);
    }
    return use(response, request);
  }

  /** Ends `work` with the scope. A custom `fetch` may not observe its signal. */
  #bounded<T>(work: Promise<T>, scope: CallScope): Promise<T> {
    return this.#config.fetch === undefined ? work : scope.race(work);
  }

  #send(url: string, { method, headers, body }: WireRequest, scope: CallScope): Promise<Response> {
    const init: RequestInit & { duplex?: "half" } = { method, headers, redirect: "manual" };
    if (scope.signal !== undefined) init.signal = scope.signal;
    if (body !== undefined) {
      init.body = body;
      if (body instanceof ReadableStream) init.duplex = "half";
    }
    scope.sent = true;
    return this.#bounded((this.#config.fetch ?? fetch)(url, init), scope);
  }

  /**
   * Returns the target of a redirect, or the reason why it is not followed. Only GET and HEAD follow redirects, within
   * the same origin.
   */
  #follow(
    response: Response,
    request: WireRequest,
    from: string,
    followed: number,
  ): { url?: string; problem?: string } {
    const location = response.headers.get("location");
    if (location === null || !URL.canParse(location, from)) return { problem: "redirect without a usable location" };
    if (request.method !== "GET" && request.method !== "HEAD")
      return { problem: `redirect of ${request.method} not followed` };
    const target = new URL(location, from);
    if (target.origin !== request.origin || target.username !== "" || target.password !== "") {
      return { problem: "redirect to another origin not followed" };
    }
    if (followed >= maxRedirects) return { problem: `more than ${maxRedirects} redirects` };
    target.hash = "";
    return { url: target.href };
  }
}

/** Marks a failure as not retryable, because the request body was a stream that has been consumed. */
function withoutRetry(failure: CallError): CallError {
  if (!failure.retryable) return failure;
  const { code, message, details, cause, mayHaveRun } = failure;
  return new CallError(code, message, details, { cause, retryable: false, mayHaveRun });
}
