import { monotonicNow } from "../../internal/deadlines.ts";
import type { CallError } from "../../operation/index.ts";
import type { CallRequested, FollowUp, ReplyFrame, SendFollowUp } from "../transport.ts";
import { AskedCall, AskedCalls } from "./asked-calls.ts";
import { attemptOf, type CallRef, sliceRefs, toCallRef } from "./call-refs.ts";
import type { Directory } from "./directory.ts";
import type { Engine } from "./engine.ts";
import { notConnected, workerGone } from "./errors.ts";
import { stamp } from "./message.ts";
import type { Post } from "./post.ts";
import { SilentWorkers } from "./silent-workers.ts";

/** The asking half of a peer: requests, what their workers say, and what is said to them. */
export class Asking {
  readonly #engine: Engine;
  readonly #post: Post;
  readonly #calls: AskedCalls;
  readonly #silent: SilentWorkers;
  readonly #directory: Directory;

  constructor(engine: Engine, post: Post, limit: number, directory: Directory) {
    this.#engine = engine;
    this.#post = post;
    this.#directory = directory;
    this.#calls = new AskedCalls(limit);
    this.#silent = new SilentWorkers(engine, post, this.#calls);
  }

  request(operationId: string, frame: CallRequested, onReply: (frame: ReplyFrame) => void): SendFollowUp {
    if (!this.#engine.isConnected) throw notConnected(this.#engine.name);
    const { requestId } = frame;
    const text = this.#post.encode(stamp(frame));
    const call = new AskedCall(operationId, onReply, text, this.#calls.tick);
    call.isSubscription = frame.credit !== undefined;
    this.#calls.add(requestId, call);
    try {
      call.ticket = this.#engine.ask(operationId, requestId, text);
    } catch (error) {
      this.#calls.delete(requestId);
      throw error;
    }
    return (followUp) => {
      if (this.#calls.get(requestId) !== call) return;
      if (followUp.type === "call.aborted") this.#calls.delete(requestId);
      this.#tellWorker(call, followUp);
    };
  }

  take(frame: ReplyFrame): void {
    if (frame.type !== "call.error") {
      const call = this.#calls.get(frame.requestId);
      if (call !== undefined) this.#directory.noteServed(call.operationId);
    }
    this.#calls.take(frame);
  }

  /** A worker says which calls it has, which also asks whether somebody still waits for them. */
  noteWorker(address: string, refs: readonly CallRef[]): void {
    const unwanted = refs.filter((ref) => !this.#noteSign(address, ref));
    const reason = "nobody waits for it";
    for (const some of sliceRefs(unwanted, this.#post)) {
      const frames = some.map((ref) => ({ ...toAbort(ref), reason }));
      this.#engine.send(address, this.#post.sign(...frames));
    }
  }

  /**
   * A worker asks for the time here, to tell how old requests are, and which of those that came late it may start.
   * The reply comes after every abort that was sent before.
   */
  tellClock(address: string, question: string, refs: readonly CallRef[]): void {
    const withdrawn = refs.filter((ref) => !this.#noteSign(address, ref));
    const frame = { type: "link.ponged", question, clock: monotonicNow(), withdrawn };
    this.#engine.send(address, this.#post.encode(frame));
  }

  /** A worker has the operation, and says that it may run more than once. */
  noteOffer(operationId: string): void {
    this.#silent.noteOffer(operationId);
  }

  onUnserved(requestId: string): void {
    const call = this.#calls.get(requestId);
    if (call === undefined) return;
    const isMoved = call.attempt > 0;
    this.#calls.fail(requestId, isMoved ? workerGone(call.operationId) : this.#directory.notServed(call.operationId));
  }

  onRefused(requestId: string, error: CallError): void {
    const call = this.#calls.get(requestId);
    if (call !== undefined) this.#calls.fail(requestId, call.attempt > 0 ? workerGone(call.operationId) : error);
  }

  onDenied(operationId: string, error: CallError): void {
    for (const [requestId, call] of this.#calls.entries()) {
      const isTaken = call.worker !== undefined;
      if (call.operationId === operationId && !isTaken) this.#calls.fail(requestId, error);
    }
  }

  onGone(address: string): void {
    this.#silent.onGone(address);
  }

  onLinkLost(error: CallError): void {
    for (const [requestId] of this.#calls.entries()) this.#calls.fail(requestId, error);
  }

  /** Looks for calls whose worker is silent. */
  tick(isHeartbeat: boolean): void {
    this.#silent.tick(isHeartbeat);
  }

  /** Gives up every call, and tells those who work on them. */
  close(error: CallError): void {
    for (const [requestId, call] of this.#calls.entries()) {
      this.#tellWorker(call, { type: "call.aborted", requestId, reason: error.message });
      this.#calls.fail(requestId, error);
    }
  }

  /** False when nobody waits for that attempt of the call. */
  #noteSign(address: string, ref: CallRef): boolean {
    const { requestId } = ref;
    const call = this.#calls.get(requestId);
    if (call === undefined || call.attempt !== attemptOf(ref)) return false;
    call.worker = address;
    call.heardAt = this.#calls.tick;
    if (call.heldCredit > 0) {
      const count = call.heldCredit;
      call.heldCredit = 0;
      this.#tellWorker(call, { type: "call.credited", requestId, count });
    }
    return true;
  }

  #tellWorker(call: AskedCall, frame: FollowUp): void {
    if (frame.type === "call.credited") {
      if (call.worker === undefined) call.heldCredit += frame.count;
      else this.#engine.send(call.worker, this.#post.sign(frame));
      return;
    }
    const { requestId, reason } = frame;
    const abort = { ...frame, ...toAbort(toCallRef(requestId, call.attempt)), reason };
    if (call.worker !== undefined) return this.#engine.send(call.worker, this.#post.sign(abort));
    const count = call.heldCredit;
    const held: FollowUp[] = count > 0 ? [{ type: "call.credited", requestId, count }] : [];
    this.#engine.withdraw?.(call.ticket);
    this.#engine.broadcast(call.operationId, this.#post.sign(...held, abort));
  }
}

function toAbort(ref: CallRef): CallRef & { type: "call.aborted" } {
  return { type: "call.aborted", ...toCallRef(ref.requestId, attemptOf(ref)) };
}
