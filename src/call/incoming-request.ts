import { logger } from "../internal/log.ts";
import { isObject } from "../internal/objects.ts";
import { deferTurn } from "../internal/timers.ts";
import {
  type AuthenticatedIdentity,
  accessDenied,
  CallError,
  credentialEnded,
  expiryOf,
  type Identity,
  isCallError,
  type Limits,
  limitExceeded,
  mapError,
  type Progress,
  type RequestFields,
  type ResponseEnvelope,
  requestFields,
  resolveDuration,
  resolveLimits,
} from "../operation/inside.ts";
import { type CallOrigin, coreOf, type OperationRegistry, type RegistryCore } from "../registry/inside.ts";
import { Linked, LinkedSet } from "../transport/linked-set.ts";
import { type CallRequested, type FollowUp, type Reply, toFailedFrame } from "../transport/transport.ts";
import type { RunningRequests } from "./drain.ts";
import { FairShare } from "./fair-share.ts";

const log = logger("call");

/**
 * Authenticates a caller. Receives the token, the identity that the request claims and the request itself. None of them
 * is trustworthy without verification. Return `undefined` to continue the call without an identity, or throw to refuse it. With
 * `expiresAt`, the subscriptions of that identity end at that time.
 */
export type Authenticate = (
  token: string | undefined,
  claim: Identity | undefined,
  request: Readonly<CallRequested>,
) => AuthenticatedIdentity | undefined | Promise<AuthenticatedIdentity | undefined>;

/** Rules by which a server identifies the caller of a request. */
export interface IdentityRules {
  /** Authenticates callers that the transport has not authenticated. @default these calls have no identity */
  authenticate?: Authenticate | undefined;
  /**
   * Accepts the identity that a request claims. Set it only if every peer on the bus is trusted. The caller's map must
   * also set `trustedBus`. @default false
   */
  trustedBus?: boolean | undefined;
}

/** Limits of the requests that a server runs. */
export interface RequestLimits {
  /**
   * Time limit of calls that arrive without a timeout, in ms; `Infinity` for no limit. Like `execute`, calls in process
   * have no default limit. @default 30,000
   */
  defaultTimeout?: number | undefined;
  /** Maximum time limit that a caller can request, in ms; `Infinity` for no limit. @default one hour */
  maxTimeout?: number | undefined;
  /** `pendingCalls` is the maximum number of running calls. */
  limits?: Pick<Limits, "pendingCalls"> | undefined;
}

/** Decides what the callers of a server receive. */
export interface OutcomeFilter {
  /** Returns the envelope that is sent for a result. */
  toEnvelope(envelope: ResponseEnvelope): ResponseEnvelope;
  /** Returns the error that is sent for the failure of a request. */
  toError(error: CallError, request: CallRequested): CallError;
}

/** Options of a {@link RequestRunner}. */
export interface RequestRunnerOptions extends RequestLimits, IdentityRules {
  registry: OperationRegistry;
  /** Whether requests come from outside this process. */
  isRemote: boolean;
  /** Whether calls are made in this process, so that they have no default time limits. */
  isInProcess: boolean;
  /** How requests arrive, such as `http`. */
  via: string;
  /** @default callers receive what a direct call returns or throws */
  outcome?: OutcomeFilter | undefined;
}

/** Runs the requests that one server receives: with deadlines, a maximum number, and an orderly end. */
export class RequestRunner implements RunningRequests {
  readonly core: RegistryCore;
  readonly authenticate: Authenticate | undefined;
  readonly trustedBus: boolean | undefined;
  readonly outcome: OutcomeFilter | undefined;
  /** Whether requests come from outside this process. */
  readonly isRemote: boolean;
  /** How requests arrive. */
  readonly via: string;
  /** The requests that are running. */
  readonly open = new LinkedSet<IncomingRequest>();
  /** Number of running requests. */
  running = 0;
  /** Maximum number of running requests. Above it, further ones are refused with {@link refusal}. */
  readonly maxRunning: number;
  /** Shares that number between the callers of a server that identifies them by their connections. */
  readonly #share: FairShare;
  /** Callbacks that are called and removed when no request is running. */
  waiting: Array<() => void> = [];
  /** Calls that began in this turn of the event loop. */
  #begun: Array<{ watch(): void }> = [];
  readonly #defaultTimeout: number;
  readonly #maxTimeout: number;

  constructor({ registry, isRemote, isInProcess, via, limits, ...options }: RequestRunnerOptions) {
    const never = { infinite: true };
    const timeoutDefault = isInProcess ? Number.POSITIVE_INFINITY : 30_000;
    const defaultTimeout = resolveDuration("defaultTimeout", options.defaultTimeout, timeoutDefault, never);
    const maximumDefault = isInProcess ? Number.POSITIVE_INFINITY : Math.max(3_600_000, defaultTimeout);
    this.#maxTimeout = resolveDuration("maxTimeout", options.maxTimeout, maximumDefault, never);
    this.#defaultTimeout = Math.min(defaultTimeout, this.#maxTimeout);
    this.maxRunning = resolveLimits(limits).pendingCalls;
    this.#share = new FairShare(isInProcess ? Number.POSITIVE_INFINITY : this.maxRunning);
    this.core = coreOf(registry);
    this.authenticate = options.authenticate;
    this.trustedBus = options.trustedBus;
    this.outcome = options.outcome;
    this.isRemote = isRemote;
    this.via = via;
  }

  /** Returns whether a further request of a caller may run. A caller that is known must then call {@link release}. */
  admit(caller: Identity | undefined): boolean {
    return this.running < this.maxRunning && (caller === undefined || this.#share.take(caller.id));
  }

  release(caller: Identity): void {
    this.#share.release(caller.id);
  }

  /** Returns the error for a further request while {@link maxRunning} requests are running. */
  refusal(): CallError {
    return limitExceeded("Too many calls are running", "pendingCalls", this.maxRunning);
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
    return now + (Number.isFinite(expiresAt) ? Math.min(left, expiresAt! - performance.now()) : left);
  }

  /** Lets a call watch its deadline and its caller from the next turn on. Most calls end sooner and save that cost. */
  watchSoon(call: { watch(): void }): void {
    if (this.#begun.push(call) > 1) return;
    deferTurn(() => {
      const begun = this.#begun;
      this.#begun = [];
      for (const each of begun) each.watch();
    });
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

/** Far above every limit, and far below the largest safe integer. */
const maxDepth = 2 ** 30;

/** A request that this process runs for a remote caller. */
export abstract class IncomingRequest extends Linked implements CallOrigin {
  // Assigned in the constructor instead of defined as class fields, because that is faster and there is one object per
  // call.
  declare readonly depth: number;
  declare readonly parentRequestId: string | undefined;
  declare protected readonly host: RequestRunner;
  declare protected readonly frame: CallRequested;
  declare protected readonly reply: Reply;
  declare protected isOpen: boolean;
  /** The caller, if the transport has authenticated it. */
  declare readonly caller: Identity | undefined;

  constructor(host: RequestRunner, frame: CallRequested, reply: Reply, caller?: Identity) {
    super();
    this.caller = caller;
    const { depth, parentRequestId } = frame;
    // In process and over an event target, the frame was not checked by a codec.
    this.parentRequestId = typeof parentRequestId === "string" ? parentRequestId : undefined;
    this.depth = depth === undefined ? 0 : toDepth(depth);
    this.host = host;
    this.frame = frame;
    this.reply = reply;
    this.isOpen = true;
    host.running += 1;
    host.open.add(this);
  }

  /** Receives a later frame of the request. */
  abstract receive(frame: FollowUp): void;

  /** Ends the request. The caller receives the error, and the handler's signal fires. */
  abstract endWith(error: CallError): void;

  get isSubscription(): boolean {
    return this.frame.credit !== undefined;
  }

  get operationId(): string {
    return this.frame.operationId;
  }

  get requestId(): string {
    return this.frame.requestId;
  }

  get isRemote(): boolean {
    return this.host.isRemote || this.frame.isRemote === true;
  }

  get via(): string {
    return this.host.via;
  }

  /** Sends progress to the caller. Progress that cannot be sent is dropped. */
  reportProgress(progress: Progress): void {
    if (!this.isOpen) return;
    const { requestId, operationId } = this;
    const drop = () => log.debug("Progress of {operationId} could not be sent and was dropped.", { operationId });
    try {
      const sent = this.reply({ type: "call.progressed", requestId, progress });
      if (sent !== undefined) sent.catch(drop);
    } catch {
      drop();
    }
  }

  protected sendFailure(error: unknown): void {
    const { reply, frame, host } = this;
    const known = mapError(error);
    sendError(reply, frame, host.outcome?.toError(known, frame) ?? known);
  }

  /** Ends the request. Afterwards only its last reply is sent. Returns false if it had already ended. */
  protected leave(): boolean {
    if (!this.isOpen) return false;
    const { host } = this;
    this.isOpen = false;
    host.open.delete(this);
    host.running -= 1;
    if (this.caller !== undefined) host.release(this.caller);
    if (host.running === 0 && host.waiting.length > 0) for (const resolve of host.waiting.splice(0)) resolve();
    return true;
  }

  /**
   * Identifies the caller if the transport has not authenticated it. The claims of a frame are not trustworthy by
   * themselves.
   */
  protected identify(): AuthenticatedIdentity | undefined | Promise<AuthenticatedIdentity | undefined> {
    const { authenticate, trustedBus = false } = this.host;
    const { token, identity: claim } = this.frame;
    if (authenticate !== undefined && (typeof token === "string" || claim !== undefined)) {
      return authenticateCaller(authenticate, this.frame, typeof token === "string" ? token : undefined, claim);
    }
    return trustedBus ? claim : undefined;
  }
}

async function authenticateCaller(
  authenticate: Authenticate,
  frame: CallRequested,
  token: string | undefined,
  claim: Identity | undefined,
): Promise<AuthenticatedIdentity | undefined> {
  let identity: AuthenticatedIdentity | undefined;
  try {
    identity = (await authenticate(token, claim, frame)) ?? undefined;
  } catch (cause) {
    if (isCallError(cause)) throw cause;
    const { code, message, details } = accessDenied(frame.operationId, "the caller could not be authenticated");
    throw new CallError(code, message, details, { cause, mayHaveRun: false });
  }
  if (expiryOf(identity) <= Date.now()) throw credentialEnded(frame.operationId, "expired", false);
  return identity;
}

/** Reads the depth of a frame. It can only make limits stricter. */
function toDepth(depth: unknown): number {
  return Number.isSafeInteger(depth) ? Math.min(Math.max(depth as number, 0), maxDepth) : 0;
}

/** Sends an error with its details. If they cannot be encoded, sends them as JSON, or omits them. */
export async function sendError(
  reply: Reply,
  { requestId, operationId }: CallRequested,
  error: CallError,
): Promise<void> {
  const { code, message, retryable, mayHaveRun } = error;
  const attempts = [
    () => toFailedFrame(requestId, error),
    () => ({ type: "call.error" as const, requestId, ...error.toJSON() }),
    () => ({ type: "call.error" as const, requestId, code, message, retryable, mayHaveRun }),
  ];
  for (const attempt of attempts) {
    try {
      const sent = reply(attempt());
      if (sent !== undefined) await sent;
      return;
    } catch (problem) {
      if (!isCallError(problem) || problem.code === "UNAVAILABLE") break;
    }
  }
  log.warn("The error {code} could not be sent to the caller of {operationId}.", { operationId, code });
}

/** Returns the valid fields of a request. In process and over an event target, no codec has checked it. */
export function readRequestFields(request: RequestFields): RequestFields {
  const fields: Record<string, unknown> = {};
  for (const name in requestFields) {
    const value: unknown = request[name as keyof RequestFields];
    const { kind } = requestFields[name as keyof RequestFields];
    if (kind === "object" ? isObject(value) : typeof value === "string") fields[name] = value;
  }
  return fields;
}
