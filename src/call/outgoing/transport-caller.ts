import { LinkedSet } from "../../internal/linked-set.ts";
import {
  type CallError,
  type Limits,
  type ResponseEnvelope,
  resolveDuration,
  resolveLimits,
} from "../../operation/index.ts";
import { type Transport, transportClosed } from "../../transport/transport.ts";
import { OutgoingCall, type OutgoingRequest, type RequestHost } from "./outgoing-call.ts";
import { OutgoingSubscription } from "./outgoing-subscription.ts";
import type { CallRequestOptions, SignIdentity, SubscribeRequestOptions } from "./request-frame.ts";

/** How calls over a transport are made. */
export interface TransportCallerOptions {
  /**
   * For calls without a deadline, in ms, or `Infinity` for no limit: a peer may disappear without notice. Calls in process
   * have none. @default 30,000
   */
  defaultTimeout?: number;
  /**
   * Creates the token of every call that has an `identity` and no `token`, such as the result of `createJWTSigner`. Not
   * called in process.
   */
  sign?: SignIdentity;
  /**
   * Sends the identity of calls as a claim, for servers that set `trustedBus` too. Without it, an identity is not sent.
   * @default only in process and over an `EventTarget`
   */
  trustedBus?: boolean;
  /** `pendingCalls` is the maximum number of calls and subscriptions that have not ended. */
  limits?: Pick<Limits, "pendingCalls">;
}

/** Makes calls over a transport: the calling half of the call protocol, which needs neither a registry nor schemas. */
export class TransportCaller implements AsyncDisposable {
  /** Carries the calls. Closed with this object. */
  readonly transport: Transport;
  /** Whether calls stay in this process. */
  readonly isInProcess: boolean;
  /** What the requests share. @internal */
  protected readonly host: RequestHost;
  #closed: Promise<void> | undefined = undefined;

  constructor(transport: Transport, options: TransportCallerOptions = {}) {
    this.transport = transport;
    const { capabilities = {} } = transport;
    const sharesObjects = capabilities.sharesObjects === true;
    this.isInProcess = sharesObjects || capabilities.staysInProcess === true;
    const timeoutDefault = sharesObjects ? Number.POSITIVE_INFINITY : 30_000;
    this.host = {
      transport,
      open: new LinkedSet<OutgoingRequest>(),
      size: 0,
      maxPending: resolveLimits(options.limits).pendingCalls,
      defaultTimeout: resolveDuration("defaultTimeout", options.defaultTimeout, timeoutDefault, { infinite: true }),
      sendsDefaultTimeout: !this.isInProcess || options.defaultTimeout !== undefined,
      authenticatesReplies: capabilities.authenticatesReplies === true,
      sharesObjects,
      claimsIdentity: sharesObjects || (options.trustedBus ?? capabilities.claimsIdentity === true),
      sign: options.sign,
      hasWarned: false,
      ignored: 0,
      isClosed: false,
    };
  }

  /** Calls a query or mutation of one of the peers that serve it. Rejects with a `CallError`. */
  call<T = unknown>(operationId: string, input?: unknown, options?: CallRequestOptions): Promise<ResponseEnvelope<T>> {
    const { host } = this;
    const promise = new Promise<ResponseEnvelope>(takeSettlers);
    const call = new OutgoingCall(host, operationId, options?.onProgress, settlers.resolve, settlers.reject);
    call.send(input, options, host.defaultTimeout);
    return promise as Promise<ResponseEnvelope<T>>;
  }

  /**
   * Subscribes to an operation of one of the peers that serve it. The request is sent with the first `next()`; leaving the
   * loop ends the handler.
   */
  subscribe<T = unknown>(
    operationId: string,
    input?: unknown,
    options?: SubscribeRequestOptions,
  ): AsyncIterableIterator<ResponseEnvelope<T>> & AsyncDisposable {
    return new OutgoingSubscription(this.host, operationId, input, options) as never;
  }

  /** Number of requests that have not ended. */
  get pendingCount(): number {
    return this.host.size;
  }

  /** Number of replies that arrived for requests that had ended. */
  get ignoredCount(): number {
    return this.host.ignored;
  }

  /**
   * Ends everything: pending calls fail with `UNAVAILABLE`, those that are served are aborted, and the transport is closed. To
   * let served calls finish, call and await the function that `handle()` returned before. Calling it twice is fine.
   */
  close(): Promise<void> {
    this.#closed ??= this.end();
    return this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** What closing does. Called once. @internal */
  protected async end(): Promise<void> {
    this.failPending();
    await this.transport.close();
  }

  /** Fails what is pending, and every later call. @internal */
  protected failPending(): void {
    const { host } = this;
    host.isClosed = true;
    for (const request of [...host.open]) {
      request.abandon(transportClosed(host.transport.name, { mayHaveRun: request.isSent }));
    }
  }
}

/** Settles the promise that was created last. A closure for each call would be a significant part of its cost. */
const settlers = {
  resolve: (_envelope: ResponseEnvelope): void => {},
  reject: (_error: CallError): void => {},
};

function takeSettlers(resolve: typeof settlers.resolve, reject: typeof settlers.reject): void {
  settlers.resolve = resolve;
  settlers.reject = reject;
}
