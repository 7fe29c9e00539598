import { type AbortListener, listenForAbort } from "../internal/abort-listeners.ts";
import { type Expiring, expireAt, monotonicNow, toMonotonic } from "../internal/deadlines.ts";
import { notify } from "../internal/emitter.ts";
import { Linked, type LinkedSet } from "../internal/linked-set.ts";
import { logger } from "../internal/log.ts";
import { randomRequestId } from "../internal/request-id.ts";
import {
  aborted,
  type CallError,
  checkCallOptions,
  checkPastDeadline,
  type Identity,
  limitExceeded,
  mapError,
  operationNotFound,
  timedOut,
  toIdentity,
  unavailable,
} from "../operation/index.ts";
import { LocalRequest } from "../transport/in-process/index.ts";
import type { CallRequested, ReplyFrame, SendFollowUp, Transport } from "../transport/transport.ts";
import type { CallRequestOptions, PassedOnOptions } from "./request-options.ts";
import { type SignIdentity, signRequest } from "./sign-request.ts";

const log = logger("call");

/** What requests share: the transport that carries them, and the list that those which leave the process stand in. */
export interface RequestHost {
  readonly transport: Transport;
  readonly open: LinkedSet<OpenRequest>;
  /** How many are open. */
  size: number;
  readonly maxPending: number;
  /** For calls without a deadline, in ms. */
  readonly defaultTimeout: number;
  /** Whether only those who were asked can answer; ids may be guessed then. */
  readonly isPrivate: boolean;
  /** Whether nothing leaves this process: answers need no second look then, and requests no copy. */
  readonly isInProcess: boolean;
  /** Whether what is said always arrives. */
  readonly staysInProcess: boolean;
  /** Whether calls without a deadline tell of the default, lest the other side goes on when the giving up gets lost. */
  readonly tellsDefault: boolean;
  /** Whether the identity of a call travels as a claim. */
  readonly claimsIdentity: boolean;
  /** Makes the tokens of calls that have an identity and no token. */
  readonly sign: SignIdentity | undefined;
  /** Whether it was told that an identity does not travel. */
  hasWarned: boolean;
  /** Replies that came for requests that had ended. */
  ignored: number;
  isClosed: boolean;
}

/** How far the producer of a subscription may be ahead of its consumer. */
export interface Credit {
  /** In values. */
  readonly count: number;
  /** In bytes; `Infinity` for no limit. */
  readonly bytes: number;
}

class DeadlineWatch extends Linked implements Expiring {
  readonly #request: OpenRequest;

  constructor(request: OpenRequest) {
    super();
    this.#request = request;
  }

  expire(): void {
    const request = this.#request;
    request.giveUp(timedOut(request.operationId, request.isSent));
  }
}

class SignalWatch extends Linked implements AbortListener {
  readonly #request: OpenRequest;

  constructor(request: OpenRequest) {
    super();
    this.#request = request;
  }

  abort(reason: unknown): void {
    const request = this.#request;
    request.giveUp(aborted(request.operationId, reason, request.isSent));
  }
}

/**
 * A request that has not ended; in process it is its own frame. Ends exactly once: by a reply, by its deadline or signal, or with the map that it
 * belongs to. Whoever gives it up tells the serving side.
 */
export abstract class OpenRequest extends LocalRequest {
  // Assigned rather than defined as class fields, to be cheap to make: there is one for each call.
  declare readonly host: RequestHost;
  declare isOpen: boolean;
  declare isSent: boolean;
  declare private readonly onProgress: CallRequestOptions["onProgress"];
  declare private deadlineWatch: DeadlineWatch | undefined;
  declare private signalWatch: SignalWatch | undefined;

  constructor(host: RequestHost, operationId: string, onProgress: CallRequestOptions["onProgress"]) {
    super(host.isPrivate ? undefined : randomRequestId(), operationId, undefined);
    this.host = host;
    this.isOpen = true;
    this.isSent = false;
    this.onProgress = onProgress;
    this.deadlineWatch = undefined;
    this.signalWatch = undefined;
    host.size += 1;
    if (!host.isInProcess) host.open.add(this);
  }

  /** Takes a reply other than progress. Only called while the request is open. */
  protected abstract take(frame: Exclude<ReplyFrame, { type: "call.progressed" }>): void;
  /** Tells the consumer of an error. Called once, when the request has ended. */
  protected abstract fail(error: CallError): void;

  /** Sends the request. Does not throw. */
  send(input: unknown, options: CallRequestOptions | undefined, defaultTimeout: number, credit?: Credit): void {
    const { host } = this;
    try {
      if (host.isClosed) throw unavailable("The PendingRequestMap was closed and", { mayHaveRun: false });
      if (host.size > host.maxPending)
        throw limitExceeded("Too many calls are pending", "pendingCalls", host.maxPending);
      if (typeof this.operationId !== "string") throw operationNotFound("(not a string)");
      const frame: CallRequested = host.isInProcess ? this : toFrame(this);
      frame.input = input;
      const identity = toIdentity(options?.identity);
      if (options !== undefined && options !== null)
        describe(frame, options, host.claimsIdentity ? identity : undefined);
      if (host.isInProcess && (options as PassedOnOptions | undefined)?.isRemote === true) frame.isRemote = true;
      if (credit !== undefined) {
        frame.credit = credit.count;
        if (credit.bytes !== Number.POSITIVE_INFINITY) frame.creditBytes = credit.bytes;
      }
      this.#watch(frame, options, defaultTimeout);
      if (host.isInProcess || identity === undefined || frame.token !== undefined) this.#transmit(frame);
      else this.#introduce(frame, identity);
    } catch (error) {
      this.close(mapError(error));
    }
  }

  receive(frame: ReplyFrame): void {
    if (!this.isOpen) {
      this.host.ignored += 1;
      return;
    }
    if (frame.type !== "call.progressed") return this.take(frame);
    const listener = this.onProgress;
    if (listener !== undefined) notify(() => listener(frame.progress), reportProgressListener);
  }

  /** Tells the serving side that `count` more values can be taken. False while the transport is not ready. */
  protected creditMore(count: number): boolean {
    this.toServer?.({ type: "call.credited", requestId: this.requestId, count });
    return this.toServer !== undefined;
  }

  /** The transport is ready to send further frames of this request. */
  protected onReady(): void {}

  /** Ends the request. True for the first to do so. */
  protected end(): boolean {
    if (!this.isOpen) return false;
    this.isOpen = false;
    this.host.size -= 1;
    this.unlink();
    this.deadlineWatch?.unlink();
    this.signalWatch?.unlink();
    return true;
  }

  /** Ends the request with an error that the serving side knows of. */
  close(error: CallError): void {
    if (this.end()) this.fail(error);
  }

  /** Ends the request with an error that the serving side does not know of. */
  giveUp(error: CallError): void {
    if (!this.end()) return;
    this.abandon(error.code);
    this.fail(error);
  }

  /** Tells the serving side that nobody waits any more. */
  protected abandon(reason: string): void {
    this.toServer?.({ type: "call.aborted", requestId: this.requestId, reason });
  }

  /** Sends a request that is made for somebody and has no token yet. */
  #introduce(frame: CallRequested, identity: Identity): void {
    const { host } = this;
    if (host.sign === undefined) {
      if (!host.claimsIdentity) warnOfIdentity(host);
      return this.#transmit(frame);
    }
    const began = monotonicNow();
    const signing = signRequest(host.sign, identity, frame);
    if (signing === undefined) return this.#transmit(frame);
    signing.then(
      () => this.#transmitAfter(frame, monotonicNow() - began),
      (error) => this.close(error),
    );
  }

  /** Sends a request that was held for some milliseconds, unless it has ended meanwhile. Does not throw. */
  #transmitAfter(frame: CallRequested, milliseconds: number): void {
    if (!this.isOpen) return;
    try {
      if (frame.timeout !== undefined) frame.timeout -= milliseconds;
      if (frame.timeout !== undefined && frame.timeout <= 0) throw timedOut(this.operationId, false);
      this.#transmit(frame);
    } catch (error) {
      this.close(mapError(error));
    }
  }

  #transmit(frame: CallRequested): void {
    this.isSent = true;
    const sent = this.host.transport.request(this.operationId, frame, (reply) => this.receive(reply));
    if (typeof sent === "function") this.#onSent(sent);
    else
      sent.then(
        (followUp) => this.#onSent(followUp),
        (error) => this.close(mapError(error)),
      );
  }

  #onSent(followUp: SendFollowUp): void {
    this.toServer = followUp;
    // Given up before the transport was ready; after a last reply it does not matter.
    if (this.isOpen) this.onReady();
    else this.abandon("given up");
  }

  #watch(frame: CallRequested, options: CallRequestOptions | undefined, defaultTimeout: number): void {
    const deadline = options?.deadline;
    const signal = options?.signal;
    const invalid = checkCallOptions(this.operationId, deadline, signal);
    if (invalid !== undefined) throw invalid;
    if (signal?.aborted) throw aborted(this.operationId, signal.reason, false);
    const now = deadline === undefined && defaultTimeout === Number.POSITIVE_INFINITY ? 0 : Date.now();
    const end = deadline ?? now + defaultTimeout;
    if (end !== Number.POSITIVE_INFINITY) {
      if (end <= now) throw checkPastDeadline(this.operationId, end) ?? timedOut(this.operationId, false);
      if (deadline !== undefined || this.host.tellsDefault) frame.timeout = end - now;
      this.deadlineWatch = new DeadlineWatch(this);
      expireAt(this.deadlineWatch, toMonotonic(end, now));
    }
    if (signal === undefined) return;
    this.signalWatch = new SignalWatch(this);
    listenForAbort(signal, this.signalWatch);
  }
}

/** What leaves the process is a plain object. */
function toFrame({ requestId, operationId }: OpenRequest): CallRequested {
  return { type: "call.requested", requestId, operationId, input: undefined };
}

function describe(frame: CallRequested, options: PassedOnOptions, claim: Identity | undefined): void {
  const { parentRequestId, rootRequestId, depth, token, metadata } = options;
  if (parentRequestId !== undefined) frame.parentRequestId = parentRequestId;
  if (rootRequestId !== undefined) frame.rootRequestId = rootRequestId;
  if (depth !== undefined) frame.depth = depth;
  if (token !== undefined) frame.token = token;
  if (claim !== undefined) frame.identity = claim;
  if (metadata !== undefined) frame.metadata = metadata;
}

/** An identity that is dropped without a word would be looked for at the wrong end. */
function warnOfIdentity(host: RequestHost): void {
  if (host.hasWarned) return;
  host.hasWarned = true;
  log.warn(
    "The identity given to calls over {transport} does not travel, so the serving side sees no caller. Give the PendingRequestMap `sign` to prove it, or `trustedBus: true` at both ends where everybody on the bus may claim to be anybody.",
    { transport: host.transport.name },
  );
}

function reportProgressListener(error: unknown): void {
  log.error("A listener to progress threw: {error}", { error });
}
