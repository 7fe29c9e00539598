import { monotonicNow } from "../../internal/deadlines.ts";
import { aborted, type CallError, notServedNow, timedOut } from "../../operation/index.ts";
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
import { attemptOf, type CallRef, sliceRefs, toCallRef } from "./call-refs.ts";
import { EarlyAborts } from "./early-aborts.ts";
import type { Engine } from "./engine.ts";
import { notMovable } from "./errors.ts";
import type { StampedRequest } from "./message.ts";
import type { Post } from "./post.ts";
import { SeenRequests } from "./seen-requests.ts";
import { type ServedCall, ServedCalls, type ServedLimits } from "./served-calls.ts";
import { ticksPerHeartbeat } from "./ticks.ts";

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
  #idempotent: ReadonlySet<string> = new Set();
  #tick = 0;
  #lostWith: CallError | undefined = undefined;
  #isClosed = false;

  constructor(engine: Engine, post: Post, limits: ServedLimits) {
    this.#engine = engine;
    this.#post = post;
    this.#calls = new ServedCalls(limits);
    this.#askers = new Askers(
      (address, question, calls) => {
        const refs = calls.map(({ requestId, attempt = 0 }) => toCallRef(requestId, attempt));
        const frame = { type: "link.pinged", address: engine.address, question, calls: refs };
        engine.send(address, post.encode(frame), true);
      },
      (held) => sliceRefs(held, post),
    );
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
      this.#acknowledge(this.#calls.list().filter(({ operationId }) => stopped.has(operationId)));
      forget([...stopped]);
    };
  }

  /** Says which of the operations may run more than once. */
  setIdempotent(operationIds: readonly string[]): void {
    this.#idempotent = new Set(operationIds);
  }

  /** Begins to run a request, when it is sure that somebody still waits, or says why not. */
  take(frame: StampedRequest, from: string): void {
    const { requestId, operationId } = frame;
    const attempt = attemptOf(frame);
    const onRequest = this.#servers.get(operationId);
    // It was served here when the engine chose this peer. One that was moved may have been begun by another.
    if (onRequest === undefined || this.#isClosed)
      return this.#refuse(frame, from, notServedNow(operationId, attempt > 0));
    if (this.#early.delete(from, requestId, attempt)) return this.#confirmAbort(operationId, frame, from, attempt > 0);
    if (this.#seen!.add(from, attempt === 0 ? requestId : `${requestId} ${attempt}`)) return;
    const earlier = this.#calls.get(from, requestId);
    if (earlier !== undefined && earlier.attempt >= attempt) return;
    // The field is a claim: only operations that may run more than once are run again.
    if (attempt > 0 && !this.#idempotent.has(operationId)) return this.#refuse(frame, from, notMovable(operationId));
    const refusal = this.#calls.refusal(from, frame);
    if (refusal !== undefined) return this.#refuse(frame, from, refusal);
    if (earlier !== undefined) this.#abort(earlier, "it was sent again");
    const call = this.#calls.add(from, frame, this.#tick);
    const { sentAt } = frame;
    const now = monotonicNow();
    if (!isTime(sentAt)) return this.#begin(call, frame, onRequest, 0, now);
    const asker = this.#askers.at(from);
    const age = attempt === 0 ? this.#askers.ageOf(asker, sentAt, now) : undefined;
    if (age !== undefined) return this.#begin(call, frame, onRequest, age, now);
    const begin = (isAnswered: boolean) => {
      const later = monotonicNow();
      const latest = isAnswered ? (asker.clock.ageOf(sentAt, later) ?? later - now) : Number.POSITIVE_INFINITY;
      this.#begin(call, frame, onRequest, latest, later);
    };
    const until = now + Math.min(frame.timeout ?? maxAge, maxAge);
    this.#askers.hold(asker, { requestId, attempt, until, begin, drop: () => void this.#calls.end(call) });
  }

  /** An asker says what its clock shows. */
  noteClock(question: string, told: number, withdrawn: readonly CallRef[]): void {
    this.#askers.answer(question, told, withdrawn);
  }

  follow(frame: FollowUp, from: string): void {
    const call = this.#calls.get(from, frame.requestId);
    const attempt = attemptOf(frame);
    if (call?.attempt === attempt) {
      if (frame.type === "call.aborted" && this.#calls.end(call))
        this.#confirmAbort(call.operationId, frame, from, true);
      call.tell(frame);
    } else if (frame.type === "call.aborted") this.#early.add(from, frame.requestId, attempt);
  }

  /** Another member of the bus may have sent the abort: a caller that still waits must not wait in vain. */
  #confirmAbort(operationId: string, frame: CallRequested | FollowUp, from: string, mayHaveRun: boolean): void {
    const { requestId } = frame;
    const error = aborted(operationId, undefined, mayHaveRun);
    this.#post.push(from, { ...toFailedFrame(requestId, error), ...toCallRef(requestId, attemptOf(frame)) });
  }

  /** A caller asks about calls whose worker is silent: those that are here are acknowledged, others may be taken over. */
  confirm(operationId: string, refs: readonly CallRef[], from: string): void {
    const here = refs.flatMap((ref) => {
      const call = this.#calls.get(from, ref.requestId);
      return call?.attempt === attemptOf(ref) ? [call] : [];
    });
    this.#acknowledge(here);
    if (here.length === refs.length || !this.#servers.has(operationId) || !this.#idempotent.has(operationId)) return;
    this.#post.push(from, { type: "link.offered", operationId } as never);
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
    // Their callers may have asked while nothing could be received.
    this.#acknowledge(this.#calls.list().filter(({ isAcknowledged }) => isAcknowledged));
  }

  #cutSubscriptions(error: CallError): void {
    for (const call of this.#calls.list()) {
      if (!call.isSubscription) continue;
      this.#cut.push({ address: call.from, frame: toFailedFrame(call.requestId, error) });
      this.#abort(call, error.message);
    }
  }

  /**
   * Acknowledges calls that take longer than a heartbeat, and gives a sign of life for them at each one. That also asks
   * whether their caller is still there.
   */
  tick(isHeartbeat: boolean): void {
    this.#tick += 1;
    if (isHeartbeat) this.#askers.beat();
    const isDue = ({ isAcknowledged, takenAt }: ServedCall) =>
      isAcknowledged ? isHeartbeat : this.#tick - takenAt > ticksPerHeartbeat;
    this.#acknowledge(this.#calls.list().filter(isDue));
  }

  /** Aborts every call, and tells those who wait for them. */
  close(error: CallError): void {
    this.#isClosed = true;
    for (const call of this.#calls.list()) {
      this.#post.push(call.from, toReply(call, toFailedFrame(call.requestId, error)));
      this.#abort(call, error.message);
    }
  }

  /** @param age how long it had been on its way, `now` */
  #begin(call: ServedCall, frame: StampedRequest, onRequest: OnRequest, age: number, now: number): void {
    if (call.hasEnded) return;
    const { operationId, timeout } = frame;
    if (age >= (timeout ?? maxAge)) {
      void this.#reply(call, toFailedFrame(call.requestId, timedOut(operationId, false)));
      return;
    }
    if (timeout !== undefined) {
      frame.timeout = Math.floor(timeout - age);
      frame.expiresAt = now + frame.timeout;
    }
    if (call.isSubscription) this.#introduce(call);
    call.follow(onRequest(frame, (reply) => this.#reply(call, reply)));
  }

  #refuse(frame: CallRequested, from: string, error: CallError): void {
    const { requestId } = frame;
    this.#post.push(from, toReply({ attempt: attemptOf(frame) }, toFailedFrame(requestId, error)));
  }

  #reply(call: ServedCall, frame: ReplyFrame): void | Promise<void> {
    if (call.hasEnded || this.#isClosed) return;
    this.#post.push(call.from, toReply(call, frame));
    if (isLastReply(frame)) this.#calls.end(call);
    return this.#engine.whenWritable();
  }

  /** Says where this peer is, so that the caller can send credit. Goes with the first values. */
  #introduce(call: ServedCall): void {
    this.#post.push(call.from, this.#toTaken([call]));
  }

  #acknowledge(calls: readonly ServedCall[]): void {
    const byCaller = new Map<string, ServedCall[]>();
    for (const call of calls) {
      call.isAcknowledged = true;
      const others = byCaller.get(call.from);
      if (others === undefined) byCaller.set(call.from, [call]);
      else others.push(call);
    }
    for (const [address, its] of byCaller) {
      for (const some of sliceRefs(its, this.#post)) {
        this.#engine.send(address, this.#post.encode(this.#toTaken(some)), true);
      }
    }
  }

  #toTaken(calls: readonly ServedCall[]): { type: string } {
    const refs = calls.map(({ requestId, attempt }) => toCallRef(requestId, attempt));
    return { type: "link.taken", address: this.#engine.address, calls: refs } as never;
  }

  #abort(call: ServedCall, reason: string): void {
    if (this.#calls.end(call)) call.tell({ type: "call.aborted", requestId: call.requestId, reason });
  }
}

/** The caller of a call that was sent again must know which worker has failed. */
function toReply({ attempt }: { attempt: number }, frame: ReplyFrame): ReplyFrame {
  if (attempt > 0 && frame.type === "call.error") Object.assign(frame, { attempt });
  return frame;
}

function isTime(value: unknown): value is number {
  return Number.isFinite(value);
}
