import { BoundedMap } from "../../internal/bounded.ts";
import { settlesWithin } from "../../internal/wait.ts";
import { aborted, type CallError, notServedNow } from "../../operation/inside.ts";
import { encode, type OtherFrame, type WireFrame } from "../codec/index.ts";
import {
  type CallAborted,
  type CallRequested,
  type FollowUp,
  type OnRequest,
  type ReplyFrame,
  type StopServing,
  toFailedFrame,
} from "../transport.ts";
import { BatchWriter, type FrameSender } from "./batch-writer.ts";
import type { BrokerAdapter } from "./broker-adapter.ts";
import { ClockSync, PeerClock } from "./clock-sync.ts";
import { notMovable } from "./errors.ts";
import { ticksPerHeartbeat } from "./heartbeat.ts";
import { AcceptedCall, IncomingCalls, type RemotePeer } from "./incoming-calls.ts";
import { type CallRef, splitRefs, toCallRef } from "./outgoing-calls.ts";
import { PeerQuestions } from "./peer-questions.ts";

/** Maximum length of a message with several frames, in characters. */
export const maxBrokerBatch = 64 * 1024;
/** Maximum number of callers that are tracked. Above it, the oldest idle callers are removed. */
const maxCallers = 10_000;
/** Maximum number of callers that are checked to find an idle one. */
const maxIdleChecks = 100;
/** Minimum number of requests that are remembered, so that a request that arrives twice does not run twice. */
const maxSeenRequests = 10_000;
/** Maximum number of aborts that are remembered. Aborts are broadcast, and most workers never receive the request. */
const maxEarlyAborts = 10_000;
/** Maximum time, in ms, to wait for callers that do not reply when serving stops. */
const maxSettleMs = 1_000;

/** State that all callers of a {@link BrokerServer} share. */
interface CallerHost {
  readonly adapter: BrokerAdapter;
  readonly sender: FrameSender;
  readonly sync: ClockSync;
  /** Counts the calls of all callers. */
  readonly total: { pending: number; readonly pendingCalls: number };
}

/** A caller at an address on the broker: its clock, its calls, and the frames to send to it at the end of this turn. */
class RemoteCaller extends BatchWriter implements RemotePeer {
  readonly calls: IncomingCalls;
  readonly #host: CallerHost;

  constructor(address: string, host: CallerHost) {
    super(toMaxBatch(host.adapter));
    this.#host = host;
    this.calls = new IncomingCalls(this, new PeerClock(address), host.sync, host.total);
  }

  /** Whether nothing is pending for this caller, so that it can be removed. */
  get isIdle(): boolean {
    return this.calls.size === 0 && this.calls.clock.held.size === 0 && this.batch === "";
  }

  /** Sends a frame in one batch with others to the same caller in this turn. Throws a `CallError`. */
  send(frame: WireFrame): Promise<void> | undefined {
    this.push(encode(frame, this.#host.sender));
    return this.#host.adapter.whenWritable();
  }

  protected override write(message: string): void {
    this.#host.adapter.send(this.calls.clock.address, message);
  }
}

/** The serving half of a peer on a broker: runs the requests of other peers and replies to them. */
export class BrokerServer {
  readonly #adapter: BrokerAdapter;
  readonly #sender: FrameSender;
  readonly #questions = new PeerQuestions();
  readonly #sync: ClockSync;
  readonly #host: CallerHost;
  readonly #servers = new Map<string, OnRequest>();
  readonly #callers = new Map<string, RemoteCaller>();
  /** Callers of the latest requests, by request id. Two maps that rotate cost less than deleting entries one by one. */
  #seen = new Map<string, string>();
  #seenBefore = new Map<string, string>();
  /** Aborts that arrived before their requests, or whose requests were sent to another worker. */
  readonly #earlyAborts = new BoundedMap<string, true>(maxEarlyAborts);
  /** Errors of subscriptions that ended with the connection. They are sent when the connection is restored. */
  readonly #cut: Array<{ from: string; frame: ReplyFrame }> = [];
  #idempotent: ReadonlySet<string> = new Set();
  #tick = 0;
  #lostWith: CallError | undefined = undefined;
  #isClosed = false;

  constructor(adapter: BrokerAdapter, sender: FrameSender, limits: { readonly pendingCalls: number }) {
    this.#adapter = adapter;
    this.#sender = sender;
    this.#sync = new ClockSync(
      this.#questions,
      ({ address }, question, calls) => {
        const frame: OtherFrame = { type: "link.pinged", address: adapter.address, question, calls };
        adapter.send(address, encode(frame, sender), true);
      },
      () => sender.maxMessage,
    );
    this.#host = {
      adapter,
      sender,
      sync: this.#sync,
      total: { pending: 0, pendingCalls: limits.pendingCalls },
    };
  }

  async serve(operationIds: readonly string[], onRequest: OnRequest): Promise<StopServing> {
    for (const id of operationIds) this.#servers.set(id, onRequest);
    const forget = (ids: Iterable<string>) => {
      for (const id of ids) if (this.#servers.get(id) === onRequest) this.#servers.delete(id);
    };
    try {
      await this.#adapter.serve(operationIds);
    } catch (error) {
      forget(operationIds);
      throw error;
    }
    return async (ids = operationIds) => {
      const stopped = new Set(ids.filter((id) => this.#servers.get(id) === onRequest));
      if (stopped.size === 0) return;
      await this.#adapter.stop([...stopped]);
      await settlesWithin(maxSettleMs, this.#sync.settled());
      // Broadcasts to the workers of these operations no longer reach this peer.
      this.#acknowledge(({ operationId }) => stopped.has(operationId));
      forget(stopped);
    };
  }

  /** Number of requests that are running. */
  get running(): number {
    return this.#host.total.pending;
  }

  /** Sets the operations that may run more than once. */
  setIdempotent(operationIds: readonly string[]): void {
    this.#idempotent = new Set(operationIds);
  }

  /** Runs a request once it is certain that its caller still waits for it, or refuses it. */
  take(frame: CallRequested, from: string): void {
    const { requestId, operationId, attempt = 0 } = frame;
    const onRequest = this.#servers.get(operationId);
    // The operation was served here when the broker chose this peer. Another peer may have started an earlier attempt.
    if (onRequest === undefined || this.#isClosed) {
      return this.#refuse(frame, from, notServedNow(operationId, attempt > 0));
    }
    if (this.#earlyAborts.size > 0 && this.#earlyAborts.delete(toAbortKey(from, requestId, attempt))) {
      return this.#confirmAbort(operationId, frame, from, attempt > 0);
    }
    if (this.#isRepeated(attempt === 0 ? requestId : `${requestId} ${attempt}`, from)) return;
    const { calls } = this.#callerAt(from);
    const earlier = calls.get(requestId);
    if (earlier !== undefined && earlier.attempt >= attempt) return;
    // The attempt is a claim: only operations that may run more than once are run again.
    if (attempt > 0 && !this.#idempotent.has(operationId)) return this.#refuse(frame, from, notMovable(operationId));
    if (earlier !== undefined) calls.abort(earlier, "it was sent again");
    const call = calls.accept(frame, this.#tick);
    if (!(call instanceof AcceptedCall)) return this.#refuse(frame, from, call);
    // The caller of a subscription sends credit to this address. The frame is batched with the first values.
    if (call.isSubscription) this.#callerAt(from).send(this.#toTaken([call]));
    calls.run(call, onRequest);
  }

  /** Accepts a caller's clock and the list of its withdrawn requests. Returns false when the frame is malformed. */
  takeClock(frame: OtherFrame): boolean {
    return this.#questions.takeReply(frame);
  }

  /** Accepts a later frame of a caller. */
  follow(frame: FollowUp, from: string): void {
    const calls = this.#callers.get(from)?.calls;
    const call = calls?.get(frame.requestId);
    if (frame.type === "call.credited") return call?.deliver(frame);
    const { requestId, attempt = 0 } = frame;
    if (call?.attempt === attempt) {
      if (calls?.end(call)) this.#confirmAbort(call.operationId, frame, from, true);
      call.deliver(frame);
    } else this.#earlyAborts.set(toAbortKey(from, requestId, attempt), true);
  }

  /** Replies to a question about calls with a silent worker: acknowledges those that run here, offers to run others. */
  confirm(operationId: string, refs: readonly CallRef[], from: string): void {
    const calls = this.#callers.get(from)?.calls;
    const isHere = ({ requestId, attempt = 0 }: CallRef) => calls?.get(requestId)?.attempt === attempt;
    const here = new Set(refs.filter(isHere).map(({ requestId }) => requestId));
    this.#acknowledge(({ requestId }) => here.has(requestId), from);
    if (here.size === refs.length || !this.#servers.has(operationId) || !this.#idempotent.has(operationId)) return;
    this.#callerAt(from).send({ type: "link.offered", operationId });
  }

  onGone(address: string): void {
    const caller = this.#callers.get(address);
    if (caller === undefined) return;
    this.#callers.delete(address);
    this.#sync.forget(caller.calls.clock);
    caller.calls.abortAll("the caller is gone");
  }

  /** Ends subscriptions, because values or credit may be lost, and both peers would wait for each other. */
  onLinkLost(error: CallError): void {
    this.#lostWith = error;
    this.#cutSubscriptions(error);
  }

  onLinkRestored(): void {
    // Subscriptions that arrived while the connection was partly lost lack their first values.
    if (this.#lostWith !== undefined) this.#cutSubscriptions(this.#lostWith);
    this.#lostWith = undefined;
    for (const caller of this.#callers.values()) caller.maxBatch = toMaxBatch(this.#adapter);
    for (const { from, frame } of this.#cut.splice(0)) this.#callerAt(from).send(frame);
    // Questions of their callers may have been lost while the connection was down.
    this.#acknowledge(({ isAcknowledged }) => isAcknowledged);
  }

  /**
   * Acknowledges calls that run longer than a heartbeat, and reports them as running at each heartbeat. This also
   * checks whether their caller is still connected.
   */
  tick(isHeartbeat: boolean): void {
    this.#tick += 1;
    if (isHeartbeat) this.#sync.beat();
    this.#acknowledge(({ isAcknowledged, takenAt }) =>
      isAcknowledged ? isHeartbeat : this.#tick - takenAt > ticksPerHeartbeat,
    );
  }

  /** Aborts every call and reports the error to its caller. */
  close(error: CallError): void {
    this.#isClosed = true;
    for (const caller of this.#callers.values()) {
      caller.calls.abortAll(error.message, error);
      caller.flush();
    }
  }

  /** Returns whether the request arrived before, and records it. */
  #isRepeated(id: string, from: string): boolean {
    const caller = this.#seen.get(id) ?? this.#seenBefore.get(id);
    if (caller === from) return true;
    if (caller !== undefined) return this.#isRepeated(`${from} ${id}`, from); // two callers use the same id
    if (this.#seen.size >= maxSeenRequests) {
      this.#seenBefore = this.#seen;
      this.#seen = new Map();
    }
    this.#seen.set(id, from);
    return false;
  }

  /** Returns the state of the caller at an address. */
  #callerAt(address: string): RemoteCaller {
    let caller = this.#callers.get(address);
    if (caller !== undefined) return caller;
    if (this.#callers.size >= maxCallers) this.#forgetIdleCaller();
    caller = new RemoteCaller(address, this.#host);
    this.#callers.set(address, caller);
    return caller;
  }

  #forgetIdleCaller(): void {
    let checks = 0;
    for (const [address, caller] of this.#callers) {
      this.#callers.delete(address);
      if (caller.isIdle) return;
      this.#callers.set(address, caller); // the next search begins after it
      if (++checks === maxIdleChecks) return; // the limit on calls also bounds the number of busy callers
    }
  }

  /** Another peer on the broker may have sent the abort, so a caller that still waits must receive a last reply. */
  #confirmAbort(operationId: string, frame: CallRequested | CallAborted, from: string, mayHaveRun: boolean): void {
    this.#refuse(frame, from, aborted(operationId, undefined, mayHaveRun));
  }

  #refuse({ requestId, attempt }: CallRequested | CallAborted, from: string, error: CallError): void {
    const reply = toFailedFrame(requestId, error);
    if (attempt !== undefined) reply.attempt = attempt;
    this.#callerAt(from).send(reply);
  }

  #cutSubscriptions(error: CallError): void {
    for (const [from, { calls }] of this.#callers) {
      for (const call of calls.list()) {
        if (!call.isSubscription) continue;
        this.#cut.push({ from, frame: toFailedFrame(call.requestId, error) });
        calls.abort(call, error.message);
      }
    }
  }

  /** Reports to callers which of their calls run here. @param from reports only to this caller */
  #acknowledge(isDue: (call: AcceptedCall) => boolean, from?: string): void {
    for (const [address, { calls }] of this.#callers) {
      if (calls.size === 0 || (from !== undefined && from !== address)) continue;
      const due = calls.list().filter(isDue);
      for (const call of due) call.isAcknowledged = true;
      for (const part of splitRefs(due, this.#sender.maxMessage)) {
        this.#adapter.send(address, encode(this.#toTaken(part), this.#sender), true);
      }
    }
  }

  #toTaken(calls: readonly AcceptedCall[]): WireFrame {
    const refs = calls.map(({ requestId, attempt }) => toCallRef(requestId, attempt));
    return { type: "link.taken", address: this.#adapter.address, calls: refs };
  }
}

/** In characters of at most three bytes each. The broker may have a lower limit after a reconnect. */
function toMaxBatch({ maxMessage }: BrokerAdapter): number {
  return Math.min(maxBrokerBatch, maxMessage / 3);
}

function toAbortKey(from: string, requestId: string, attempt: number): string {
  return `${from} ${attempt} ${requestId}`;
}
