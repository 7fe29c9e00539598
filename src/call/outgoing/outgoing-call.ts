import { clientLogger } from "../../internal/client-log.ts";
import { notify } from "../../internal/emitter.ts";
import { createId, nextRequestId } from "../../internal/request-id.ts";
import { startTimer, type Timer } from "../../internal/timers.ts";
import { onAbort } from "../../internal/wait.ts";
import {
  aborted,
  CallError,
  type CallOptions,
  checkCallOptions,
  checkPastDeadline,
  type ForwardedCall,
  type Identity,
  isResponseEnvelope,
  limitExceeded,
  mapError,
  notAnId,
  type ResponseEnvelope,
  restoreData,
  timedOut,
  toIdentity,
} from "../../operation/inside.ts";
import type { LinkedSet } from "../../transport/linked-set.ts";
import {
  type CallCompleted,
  type CallFailed,
  type CallRequested,
  type CallResponded,
  OpenCall,
  type ReplyFrame,
  type SendFollowUp,
  transportClosed,
} from "../../transport/transport.ts";
import { withDeadline } from "../deadline.ts";
import {
  type CallingTransport,
  describeCall,
  initialCredit,
  type SignIdentity,
  signRequest,
  writeToken,
} from "./request-frame.ts";

const log = clientLogger("call");

/** The state that the requests of one caller share. */
export interface RequestHost {
  readonly transport: CallingTransport;
  /** Requests that have not ended. */
  readonly open: LinkedSet<OutgoingRequest>;
  /** Number of members of `open`. */
  size: number;
  readonly maxPending: number;
  /** Time limit of calls without a deadline, in ms. */
  readonly defaultTimeout: number;
  /** Whether requests also carry the default timeout, so that the server stops even if the abort is lost. */
  readonly sendsDefaultTimeout: boolean;
  /** Whether only the server of a request can reply to it, so that ids do not have to be random. */
  readonly authenticatesReplies: boolean;
  /** Whether frames are passed by reference, so that requests are not copied and replies are not checked. */
  readonly sharesObjects: boolean;
  /** Whether requests carry the identity of their call. */
  readonly claimsIdentity: boolean;
  /** Creates the tokens of calls that have an identity and no token. */
  readonly sign: SignIdentity | undefined;
  /** Whether the warning that identities are not sent was logged. */
  hasWarned: boolean;
  /** Number of replies that arrived for requests that had ended. */
  ignored: number;
  isClosed: boolean;
}

/**
 * A request that has not ended. It ends exactly once: by a reply, by its deadline or signal, or when its caller is
 * closed. If frames are passed by reference, the request is also the frame, so that a call needs one object.
 */
export abstract class OutgoingRequest extends OpenCall implements CallRequested {
  // Assigned in the constructor: with class fields, objects of this hierarchy take twice as long to create (decision
  // 009).
  declare readonly type: "call.requested";
  declare readonly operationId: string;
  declare input: unknown;
  declare parentRequestId?: string;
  declare depth?: number;
  declare timeout: number | undefined;
  declare token?: string;
  declare identity: Identity | undefined;
  declare metadata?: Record<string, unknown>;
  declare isRemote?: boolean;
  declare credit?: number;
  declare creditBytes?: number;
  declare lastEventId?: string;
  declare readonly host: RequestHost;
  declare isOpen: boolean;
  declare isSent: boolean;
  declare private id: string | undefined;
  declare private readonly onProgress: CallOptions["onProgress"];
  declare private timer: Timer | undefined;
  declare private stopListening: (() => void) | undefined;

  constructor(host: RequestHost, operationId: string, onProgress: CallOptions["onProgress"]) {
    super();
    this.server = undefined;
    this.toServer = undefined;
    this.type = "call.requested";
    this.id = host.authenticatesReplies ? undefined : createId();
    this.operationId = operationId;
    this.input = undefined;
    this.identity = undefined;
    this.timeout = undefined;
    this.host = host;
    this.isOpen = true;
    this.isSent = false;
    this.onProgress = onProgress;
    this.timer = undefined;
    this.stopListening = undefined;
    host.size += 1;
    host.open.add(this);
  }

  /** Generated when it is first read, because most calls in process never need it. */
  get requestId(): string {
    this.id ??= nextRequestId();
    return this.id;
  }

  /** Handles a reply other than progress. Only called while the request is open. */
  protected abstract take(frame: CallResponded | CallCompleted | CallFailed): void;
  /** Reports an error to the caller. Called once, when the request has ended. */
  protected abstract fail(error: CallError): void;
  /** Called when the transport can send further frames of this request. */
  protected onReady?(): void;

  /** Sends the request. Does not throw. */
  send(input: unknown, options: ForwardedCall | undefined, defaultTimeout: number, isSubscription = false): void {
    const { host, operationId } = this;
    try {
      if (host.isClosed) throw transportClosed(host.transport.name, { mayHaveRun: false });
      if (host.size > host.maxPending) {
        throw limitExceeded("Too many calls are pending", "pendingCalls", host.maxPending);
      }
      if (typeof operationId !== "string") throw notAnId(operationId);
      const frame: CallRequested = host.sharesObjects
        ? this
        : { type: "call.requested", requestId: this.requestId, operationId, input };
      frame.input = input;
      if (isSubscription) {
        frame.credit = initialCredit.count;
        frame.creditBytes = initialCredit.bytes;
      }
      if (options !== undefined && options !== null) this.#sendWith(frame, options, defaultTimeout);
      else {
        if (defaultTimeout !== Number.POSITIVE_INFINITY) this.#watch(frame, undefined, undefined, defaultTimeout);
        this.#transmit(frame);
      }
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

  /** Ends the request. Returns true only for the first call. */
  protected end(): boolean {
    if (!this.isOpen) return false;
    this.isOpen = false;
    this.host.size -= 1;
    this.host.open.delete(this);
    this.timer?.stop();
    this.stopListening?.();
    return true;
  }

  /** Ends the request with an error. The server is not notified, because it has already ended the request. */
  close(error: CallError): void {
    if (this.end()) this.fail(error);
  }

  /** Ends the request with an error and notifies the server. */
  abandon(error: CallError): void {
    if (!this.end()) return;
    this.sendAbort(error.code);
    this.fail(error);
  }

  /** Notifies the server that the caller does not read further replies. */
  protected sendAbort(reason: string): void {
    this.toServer?.({ type: "call.aborted", requestId: this.requestId, reason });
  }

  #sendWith(frame: CallRequested, options: ForwardedCall, defaultTimeout: number): void {
    const { host } = this;
    const identity = toIdentity(options.identity);
    describeCall(frame, options, host.claimsIdentity ? identity : undefined);
    if (host.sharesObjects && options.isRemote === true) frame.isRemote = true;
    const invalid = checkCallOptions(this.operationId, options);
    if (invalid !== undefined) throw invalid;
    const { deadline, token } = withDeadline(options);
    this.#watch(frame, deadline, options.signal, defaultTimeout);
    if (typeof token === "function") return this.#transmitWhen(writeToken(frame, token), frame);
    if (host.sharesObjects || identity === undefined || frame.token !== undefined) return this.#transmit(frame);
    if (host.sign !== undefined) return this.#transmitWhen(signRequest(host.sign, identity, frame), frame);
    if (!host.claimsIdentity) warnOfIdentity(host);
    this.#transmit(frame);
  }

  /** Sends the request when its token is written. */
  #transmitWhen(written: void | Promise<void>, frame: CallRequested): void {
    if (written === undefined) return this.#transmit(frame);
    const transmit = () => {
      if (this.isOpen) this.#transmit(frame);
    };
    written.then(transmit).catch((error) => this.close(mapError(error)));
  }

  #transmit(frame: CallRequested): void {
    this.isSent = true;
    const sent = this.host.transport.request(this.operationId, frame, (reply) => this.receive(reply));
    if (typeof sent === "function") this.#onSent(sent);
    else
      sent.then(
        (toServer) => this.#onSent(toServer),
        (error) => this.close(mapError(error)),
      );
  }

  #onSent(toServer: SendFollowUp): void {
    this.toServer = toServer;
    if (this.isOpen) this.onReady?.();
    // The request was abandoned before the transport was ready. After a last reply, the server ignores the abort.
    else this.sendAbort("abandoned");
  }

  #watch(
    frame: CallRequested,
    deadline: number | undefined,
    signal: AbortSignal | undefined,
    defaultTimeout: number,
  ): void {
    const { operationId } = this;
    if (signal?.aborted) throw aborted(operationId, signal.reason, false);
    const now = deadline === undefined && defaultTimeout === Number.POSITIVE_INFINITY ? 0 : Date.now();
    const end = deadline ?? now + defaultTimeout;
    if (end !== Number.POSITIVE_INFINITY) {
      if (end <= now) throw checkPastDeadline(operationId, end) ?? timedOut(operationId, false);
      if (deadline !== undefined || this.host.sendsDefaultTimeout) frame.timeout = end - now;
      this.timer = startTimer(() => this.abandon(timedOut(operationId, this.isSent)), end - now);
    }
    if (signal === undefined) return;
    this.stopListening = onAbort(signal, (reason) => this.abandon(aborted(operationId, reason, this.isSent)));
  }
}

/** A call of a query or mutation. It waits for a single response. */
export class OutgoingCall extends OutgoingRequest {
  declare private readonly resolve: (envelope: ResponseEnvelope) => void;
  declare private readonly reject: (error: CallError) => void;

  constructor(
    host: RequestHost,
    operationId: string,
    onProgress: CallOptions["onProgress"],
    resolve: (envelope: ResponseEnvelope) => void,
    reject: (error: CallError) => void,
  ) {
    super(host, operationId, onProgress);
    this.resolve = resolve;
    this.reject = reject;
  }

  protected take(frame: CallResponded | CallCompleted | CallFailed): void {
    switch (frame.type) {
      case "call.responded": {
        const { sharesObjects } = this.host;
        if (!sharesObjects && !isResponseEnvelope(frame.output)) return this.abandon(notAnEnvelope(this.operationId));
        this.end();
        if (frame.seq !== undefined) this.sendAbort("one response was requested");
        this.resolve(sharesObjects ? frame.output : restoreData(frame.output));
        return;
      }
      case "call.error":
        return this.close(CallError.fromJSON(frame));
      case "call.completed":
        return this.close(invalidReply(this.operationId, "the call was completed without a response"));
    }
  }

  protected fail(error: CallError): void {
    this.reject(error);
  }
}

/** `BAD_RESPONSE`: a response is not an envelope. */
export function notAnEnvelope(operationId: string): CallError {
  return invalidReply(operationId, "the response is not an envelope");
}

function invalidReply(operationId: string, reason: string): CallError {
  return new CallError("BAD_RESPONSE", `Invalid reply to "${operationId}": ${reason}.`, { operationId });
}

/** Warns once per caller that identities are not sent. Otherwise the problem would only show at the server. */
function warnOfIdentity(host: RequestHost): void {
  if (host.hasWarned) return;
  host.hasWarned = true;
  log.warn(
    "The identity of calls over {transport} is not sent, so the server cannot identify the caller. Pass `sign` to the PendingRequestMap to prove it, or set `trustedBus: true` at both ends if every peer on the bus may claim any identity.",
    { transport: host.transport.name },
  );
}

function reportProgressListener(error: unknown): void {
  log.error("A progress listener failed: {error}", { error });
}
