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
import { EarlyAborts } from "./early-aborts.ts";
import type { Engine } from "./engine.ts";
import { poisonous, workerGone } from "./errors.ts";
import type { Post } from "./post.ts";
import { type ServedCall, ServedCalls, type ServedLimits } from "./served-calls.ts";

/** Requests that carry no time of their own are not run when they are older than this, in ms. */
const maxAge = 60_000;

/** The serving half of a peer: runs what others ask for and replies to them. */
export class Serving {
  readonly #engine: Engine;
  readonly #post: Post;
  readonly #calls: ServedCalls;
  readonly #servers = new Map<string, OnRequest>();
  readonly #early = new EarlyAborts();
  #isClosed = false;

  constructor(engine: Engine, post: Post, limits: ServedLimits) {
    this.#engine = engine;
    this.#post = post;
    this.#calls = new ServedCalls(limits);
  }

  async serve(operationIds: readonly string[], onRequest: OnRequest): Promise<StopServing> {
    for (const id of operationIds) this.#servers.set(id, onRequest);
    await this.#engine.serve(operationIds);
    return async (ids = operationIds) => {
      const stopped = ids.filter((id) => this.#servers.get(id) === onRequest);
      if (stopped.length === 0) return;
      await this.#engine.stop(stopped);
      for (const id of stopped) if (this.#servers.get(id) === onRequest) this.#servers.delete(id);
    };
  }

  /** Begins to run a request, or says why not. */
  take(frame: CallRequested, from: string, age: number, receipt: unknown): void {
    const refusal = this.#begin(frame, from, age, receipt);
    if (refusal === undefined) return;
    this.#post.push(from, toFailedFrame(frame.requestId, refusal));
    this.#engine.settle?.(receipt);
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
    for (const call of this.#calls.list(address)) this.#abort(call, "the asker is gone");
  }

  /** Asks about calls that take long: who waits for them may be gone without a word. */
  beat(): void {
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

  #begin(frame: CallRequested, from: string, age: number, receipt: unknown): CallError | undefined {
    const { requestId, operationId } = frame;
    const onRequest = this.#servers.get(operationId);
    if (onRequest === undefined || this.#isClosed) return operationNotFound(operationId);
    if (this.#early.delete(from, requestId) || this.#calls.get(from, requestId) !== undefined) {
      this.#engine.settle?.(receipt);
      return undefined;
    }
    if (age > 0) {
      if (age >= (frame.timeout ?? maxAge)) return timedOut(operationId, false);
      if (frame.timeout !== undefined) frame.timeout -= age;
    }
    const refusal = this.#calls.refusal(from, frame);
    if (refusal !== undefined) return refusal;
    const call = this.#calls.add(from, frame, receipt);
    if (call.isSubscription) this.#introduceTo(call);
    call.follow(onRequest(frame, (reply) => this.#reply(call, reply)));
    return undefined;
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
