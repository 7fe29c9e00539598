import { monotonicNow } from "../../internal/deadlines.ts";
import { type CallError, operationNotFound, timedOut } from "../../operation/index.ts";
import {
  type CallRequested,
  type FollowUp,
  isLastReply,
  type OnRequest,
  type ReplyFrame,
  type StopServing,
  toFailedFrame,
} from "../transport.ts";
import { Askers } from "./askers.ts";
import { atMost } from "./at-most.ts";
import { EarlyAborts } from "./early-aborts.ts";
import type { Engine } from "./engine.ts";
import { poisonous, workerGone } from "./errors.ts";
import type { StampedRequest } from "./message.ts";
import type { Post } from "./post.ts";
import { SeenRequests } from "./seen-requests.ts";
import { type ServedCall, ServedCalls, type ServedLimits } from "./served-calls.ts";

/** In ms. Older requests that carry no time of their own are not run, nor those whose asker is silent for so long. */
const maxAge = 60_000;
/** How long, in ms, stopping waits for askers that do not answer. */
const longestWait = 1_000;

/** The serving half of a peer: runs what others ask for and replies to them. */
export class Serving {
  readonly #engine: Engine;
  readonly #post: Post;
  readonly #calls: ServedCalls;
  readonly #servers = new Map<string, OnRequest>();
  readonly #early = new EarlyAborts();
  /** There when something is served. */
  #seen: SeenRequests | undefined;
  readonly #askers: Askers;
  /** Those who wait for subscriptions that ended with the link, and what they are told when it is back. */
  readonly #cut: Array<{ address: string; frame: ReplyFrame }> = [];
  #lostWith: CallError | undefined = undefined;
  #isClosed = false;

  constructor(engine: Engine, post: Post, limits: ServedLimits) {
    this.#engine = engine;
    this.#post = post;
    this.#calls = new ServedCalls(limits);
    this.#askers = new Askers((address, question) => {
      const frame = { type: "link.pinged", address: engine.address, question };
      engine.send(address, post.encode(frame), true);
    });
  }

  async serve(operationIds: readonly string[], onRequest: OnRequest): Promise<StopServing> {
    this.#seen ??= new SeenRequests();
    for (const id of operationIds) this.#servers.set(id, onRequest);
    const forget = (ids: readonly string[]) => {
      for (const id of ids) if (this.#servers.get(id) === onRequest) this.#servers.delete(id);
    };
    try {
      await this.#engine.serve(operationIds);
    } catch (error) {
      forget(operationIds);
      throw error;
    }
    return async (ids = operationIds) => {
      const stopped = new Set(ids.filter((id) => this.#servers.get(id) === onRequest));
      if (stopped.size === 0) return;
      await this.#engine.stop([...stopped]);
      await atMost(this.#askers.settled(), longestWait);
      // What is said to all who serve an operation is not heard here any more.
      for (const call of this.#calls.list()) if (stopped.has(call.operationId)) this.#introduceTo(call);
      forget([...stopped]);
    };
  }

  /** Begins to run a request, when it is sure that somebody still waits, or says why not. */
  take(frame: StampedRequest, from: string, receipt: unknown): void {
    const { requestId, operationId } = frame;
    const onRequest = this.#servers.get(operationId);
    if (onRequest === undefined || this.#isClosed) {
      return this.#refuse(frame, from, receipt, operationNotFound(operationId));
    }
    if (this.#early.delete(from, requestId) || this.#isRepeated(from, requestId, receipt)) {
      return this.#engine.settle?.(receipt);
    }
    const refusal = this.#calls.refusal(from, frame);
    if (refusal !== undefined) return this.#refuse(frame, from, receipt, refusal);
    const call = this.#calls.add(from, frame, receipt);
    const { sentAt } = frame;
    const now = monotonicNow();
    if (!isTime(sentAt)) return this.#begin(call, frame, onRequest, 0, now);
    const asker = this.#askers.at(from);
    const age = this.#askers.ageOf(asker, sentAt, now);
    if (age !== undefined) return this.#begin(call, frame, onRequest, age, now);
    const begin = (isAnswered: boolean) => {
      const later = monotonicNow();
      const latest = isAnswered ? (asker.clock.ageOf(sentAt, later) ?? later - now) : Number.POSITIVE_INFINITY;
      this.#begin(call, frame, onRequest, latest, later);
    };
    this.#askers.hold(asker, { heldAt: now, until: now + Math.min(frame.timeout ?? maxAge, maxAge), begin });
  }

  /** An asker says what its clock shows. */
  noteClock(question: string, told: number): void {
    this.#askers.answer(question, told);
  }

  follow(frame: FollowUp, from: string): void {
    const call = this.#calls.get(from, frame.requestId);
    if (call !== undefined) {
      if (frame.type === "call.aborted") this.#end(call);
      call.tell(frame);
    } else if (frame.type === "call.aborted") this.#early.add(from, frame.requestId);
  }

  /** Somebody asks whether its call still runs here. */
  confirm(requestId: string, from: string): void {
    if (this.#calls.get(from, requestId) !== undefined) return;
    this.#post.push(from, toFailedFrame(requestId, workerGone("this call")));
  }

  /** Tells the asker of a request that workers died with. */
  refusePoison({ requestId, operationId }: CallRequested, from: string): void {
    this.#post.push(from, toFailedFrame(requestId, poisonous(operationId)));
  }

  onGone(address: string): void {
    this.#askers.forget(address);
    for (const call of this.#calls.list(address)) this.#abort(call, "the asker is gone");
  }

  /** Ends subscriptions: values, and what their consumers said, may have been lost, and both would wait for the other. */
  onLinkLost(error: CallError): void {
    this.#lostWith = error;
    this.#cutSubscriptions(error);
  }

  onLinkRestored(): void {
    // What came while only a part of the link was there has lost its first values.
    if (this.#lostWith !== undefined) this.#cutSubscriptions(this.#lostWith);
    this.#lostWith = undefined;
    for (const { address, frame } of this.#cut.splice(0)) this.#post.push(address, frame);
  }

  #cutSubscriptions(error: CallError): void {
    for (const call of this.#calls.list()) {
      if (!call.isSubscription) continue;
      this.#cut.push({ address: call.from, frame: toFailedFrame(call.requestId, error) });
      this.#abort(call, error.message);
    }
  }

  /** Asks about calls that take long: who waits for them may be gone without a word. */
  beat(): void {
    this.#askers.beat();
    const addresses = new Set<string>();
    for (const call of this.#calls.list()) {
      if (call.isOld) {
        this.#introduceTo(call);
        addresses.add(call.from);
      }
      call.isOld = true;
    }
    for (const address of addresses) this.#engine.send(address, "", true);
  }

  /** Aborts every call, and tells those who wait for them. */
  close(error: CallError): void {
    this.#isClosed = true;
    for (const call of this.#calls.list()) {
      this.#post.push(call.from, toFailedFrame(call.requestId, error));
      this.#abort(call, error.message);
    }
  }

  /** @param age how long it had been on its way, `now` */
  #begin(call: ServedCall, frame: StampedRequest, onRequest: OnRequest, age: number, now: number): void {
    if (call.hasEnded) return;
    const { operationId, timeout } = frame;
    if (age >= (timeout ?? maxAge)) {
      // One with a receipt may have been begun by a worker that died.
      void this.#reply(call, toFailedFrame(call.requestId, timedOut(operationId, call.receipt !== undefined)));
      return;
    }
    if (timeout !== undefined) {
      frame.timeout = Math.floor(timeout - age);
      frame.expiresAt = now + frame.timeout;
    }
    if (call.isSubscription) this.#introduceTo(call);
    call.follow(onRequest(frame, (reply) => this.#reply(call, reply)));
  }

  /** Requests that may run more than once come again when a worker died with them. */
  #isRepeated(from: string, requestId: string, receipt: unknown): boolean {
    if (receipt === undefined) return this.#seen!.add(from, requestId);
    return this.#calls.get(from, requestId) !== undefined;
  }

  #refuse({ requestId }: CallRequested, from: string, receipt: unknown, error: CallError): void {
    this.#post.push(from, toFailedFrame(requestId, error));
    this.#engine.settle?.(receipt);
  }

  #reply(call: ServedCall, frame: ReplyFrame): void | Promise<void> {
    if (call.hasEnded || this.#isClosed) return;
    this.#post.push(call.from, frame);
    if (isLastReply(frame)) this.#end(call);
    return this.#engine.whenWritable();
  }

  /** Says where this peer is, so that the asker can send credit. */
  #introduceTo({ from, requestId }: ServedCall): void {
    this.#post.push(from, { type: "link.taken", requestId, address: this.#engine.address } as never);
  }

  #abort(call: ServedCall, reason: string): void {
    if (this.#end(call)) call.tell({ type: "call.aborted", requestId: call.requestId, reason });
  }

  /** True for the first to say so. */
  #end(call: ServedCall): boolean {
    if (!this.#calls.end(call)) return false;
    this.#engine.settle?.(call.receipt);
    return true;
  }
}

function isTime(value: unknown): value is number {
  return Number.isFinite(value);
}
