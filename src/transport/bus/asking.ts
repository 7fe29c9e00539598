import { monotonicNow } from "../../internal/deadlines.ts";
import { type CallError, operationNotFound } from "../../operation/index.ts";
import type { CallRequested, FollowUp, ReplyFrame, SendFollowUp } from "../transport.ts";
import { AskedCall, AskedCalls } from "./asked-calls.ts";
import type { Engine, LongRequest } from "./engine.ts";
import { notConnected, workerGone } from "./errors.ts";
import { stamp } from "./message.ts";
import type { Post } from "./post.ts";

const questionsPerMessage = 100;
/** In bytes, and rather too large: a question with its id. */
const questionSize = 400;

/** The asking half of a peer: requests, what their workers say, and what is said to them. */
export class Asking {
  readonly #engine: Engine;
  readonly #post: Post;
  readonly #calls: AskedCalls;
  readonly #nearestId: (operationId: string) => string | undefined;

  constructor(engine: Engine, post: Post, limit: number, nearestId: (operationId: string) => string | undefined) {
    this.#engine = engine;
    this.#post = post;
    this.#nearestId = nearestId;
    this.#calls = new AskedCalls(limit);
  }

  request(operationId: string, frame: CallRequested, onReply: (frame: ReplyFrame) => void): SendFollowUp {
    if (!this.#engine.isConnected) throw notConnected(this.#engine.name);
    const { requestId } = frame;
    const text = this.#post.encode(stamp(frame));
    const call = new AskedCall(operationId, onReply);
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
    this.#calls.take(frame);
  }

  /** The peer that runs a call says where it is, which also asks whether somebody still waits. */
  noteWorker(requestId: string, address: string): void {
    const call = this.#calls.get(requestId);
    if (call === undefined) {
      const frame: FollowUp = { type: "call.aborted", requestId, reason: "nobody waits for it" };
      return this.#engine.send(address, this.#post.sign(frame));
    }
    call.worker = address;
    if (call.heldCredit === 0) return;
    const count = call.heldCredit;
    call.heldCredit = 0;
    this.#tellWorker(call, { type: "call.credited", requestId, count });
  }

  /** A worker asks for the time here, to tell how old requests are. Comes after every abort that was sent before. */
  tellClock(address: string, question: string): void {
    const frame = { type: "link.ponged", question, clock: monotonicNow() };
    this.#engine.send(address, this.#post.encode(frame));
  }

  onUnserved(requestId: string): void {
    const call = this.#calls.get(requestId);
    if (call === undefined) return;
    this.#calls.fail(requestId, operationNotFound(call.operationId, this.#nearestId(call.operationId)));
  }

  onRefused(requestId: string, error: CallError): void {
    this.#calls.fail(requestId, error);
  }

  onDenied(operationId: string, error: CallError): void {
    for (const [requestId, call] of this.#calls.entries()) {
      const isTaken = call.worker !== undefined;
      if (call.operationId === operationId && !isTaken) this.#calls.fail(requestId, error);
    }
  }

  onGone(address: string): void {
    for (const [requestId, call] of this.#calls.entries()) {
      if (call.worker === address) void this.#loseWorker(requestId, call);
    }
  }

  onLinkLost(error: CallError): void {
    for (const [requestId] of this.#calls.entries()) this.#calls.fail(requestId, error);
  }

  /** Asks about calls that take long: who works on them may be gone without a word. */
  beat(): void {
    const unknown: LongRequest[] = [];
    const known = new Map<string, Array<{ type: string }>>();
    for (const [requestId, call] of this.#calls.entries()) {
      const { operationId, ticket, worker, isOld } = call;
      call.isOld = true;
      if (!isOld) continue;
      if (worker === undefined) {
        unknown.push({ requestId, operationId, ticket });
        continue;
      }
      const questions = known.get(worker) ?? [];
      questions.push({ type: "link.asked", requestId } as never);
      known.set(worker, questions);
    }
    if (unknown.length > 0) this.#engine.checkWorkers?.(unknown);
    for (const [worker, frames] of known) this.#askWorker(worker, frames);
  }

  /** Gives up every call, and tells those who work on them. */
  close(error: CallError): void {
    for (const [requestId, call] of this.#calls.entries()) {
      this.#tellWorker(call, { type: "call.aborted", requestId, reason: error.message });
      this.#calls.fail(requestId, error);
    }
  }

  #askWorker(worker: string, frames: Array<{ type: string }>): void {
    const most = Math.max(1, Math.min(questionsPerMessage, Math.floor(this.#post.maxMessage / questionSize)));
    for (let start = 0; start < frames.length; start += most) {
      this.#engine.send(worker, this.#post.sign(...frames.slice(start, start + most)), true);
    }
  }

  async #loseWorker(requestId: string, call: AskedCall): Promise<void> {
    call.worker = undefined;
    const isKept = (await this.#engine.isKept?.(call.ticket)) ?? false;
    if (!isKept && this.#calls.get(requestId) === call) this.#calls.fail(requestId, workerGone(call.operationId));
  }

  #tellWorker(call: AskedCall, frame: FollowUp): void {
    if (call.worker !== undefined) return this.#engine.send(call.worker, this.#post.sign(frame));
    if (frame.type === "call.credited") {
      call.heldCredit += frame.count;
      return;
    }
    const { requestId } = frame;
    const held: FollowUp[] = call.heldCredit > 0 ? [{ type: "call.credited", requestId, count: call.heldCredit }] : [];
    this.#engine.withdraw(call.operationId, call.ticket, this.#post.sign(...held, frame));
  }
}
