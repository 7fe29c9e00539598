import {
  type CallError,
  type CallOptions,
  type Limits,
  type ResponseEnvelope,
  resolveDuration,
  resolveLimits,
  type SubscribeOptions,
} from "../../operation/inside.ts";
import { LinkedSet } from "../../transport/linked-set.ts";
import { transportClosed } from "../../transport/transport.ts";
import { OutgoingCall, type OutgoingRequest, type RequestHost } from "./outgoing-call.ts";
import { OutgoingSubscription } from "./outgoing-subscription.ts";
import type { CallingTransport, SignIdentity } from "./request-frame.ts";

/** Options of a {@link TransportCaller}. */
export interface TransportCallerOptions {
  /**
   * Time limit of calls without a deadline, in ms, or `Infinity` for no limit. It is needed because a peer may
   * disappear without notice. Calls in process have no default limit. @default 30,000
   */
  defaultTimeout?: number;
  /**
   * Creates the token of every call that has an `identity` and no `token`, such as the result of `createJWTSigner`. Not
   * called in process.
   */
  sign?: SignIdentity;
  /**
   * Sends the identity of calls as a claim, for servers that also set `trustedBus`. Otherwise, identities are not sent.
   * @default only in process and over an `EventTarget`
   */
  trustedBus?: boolean;
  /** `pendingCalls` is the maximum number of calls and subscriptions that have not ended. */
  limits?: Pick<Limits, "pendingCalls">;
}

/**
 * Makes calls over a transport. It is the calling half of the call protocol, and needs neither a registry nor schemas.
 */
export class TransportCaller<Over extends CallingTransport = CallingTransport> implements AsyncDisposable {
  /** The transport that carries the calls. It is closed together with this object. */
  readonly transport: Over;
  /** Whether calls stay in this process. */
  readonly isInProcess: boolean;
  /** The state that the requests share. @internal */
  protected readonly host: RequestHost;
  #closed: Promise<void> | undefined = undefined;

  constructor(transport: Over, options: TransportCallerOptions = {}) {
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
  call<T = unknown>(operationId: string, input?: unknown, options?: CallOptions): Promise<ResponseEnvelope<T>> {
    const { host } = this;
    const promise = new Promise<ResponseEnvelope>(takeSettlers);
    const call = new OutgoingCall(host, operationId, options?.onProgress, settlers.resolve, settlers.reject);
    call.send(input, options, host.defaultTimeout);
    return promise as Promise<ResponseEnvelope<T>>;
  }

  /**
   * Subscribes to an operation of one of the peers that serve it. The request is sent with the first `next()`. Leaving
   * the loop ends the handler.
   */
  subscribe<T = unknown>(
    operationId: string,
    input?: unknown,
    options?: SubscribeOptions,
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
   * Fails pending calls with `UNAVAILABLE`, aborts served calls, and closes the transport. To let served calls finish,
   * first call and await the function that `handle()` returned. May be called more than once.
   */
  close(): Promise<void> {
    this.#closed ??= this.end();
    return this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Performs the closing. Called once. @internal */
  protected async end(): Promise<void> {
    this.failPending();
    await this.transport.close();
  }

  /** Fails pending calls and every later call. @internal */
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
