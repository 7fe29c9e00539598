import type { CallError } from "../../operation/index.ts";
import { encode, type OtherFrame } from "../codec/index.ts";
import type { CallRequested, FollowUp, ReplyFrame, SendFollowUp } from "../transport.ts";
import type { FrameSender } from "./batch-writer.ts";
import type { BrokerAdapter } from "./broker-adapter.ts";
import { notConnected, workerGone } from "./errors.ts";
import type { GossipPeerDirectory } from "./gossip-peer-directory.ts";
import { type CallRef, OutgoingCalls, type SentCall, splitRefs, toCallRef } from "./outgoing-calls.ts";
import { WorkerMonitor } from "./worker-monitor.ts";

/** A call that a broker delivers to one of several workers. */
export class BrokerCall implements SentCall {
  readonly operationId: string;
  readonly onReply: (frame: ReplyFrame) => void;
  attempt = 0;
  /** The request as it was sent. It can be sent to another worker. */
  readonly message: string;
  readonly isSubscription: boolean;
  /** Identifies the request to the adapter. */
  ticket: unknown = undefined;
  /** The address of the worker that runs the call, once it is known. */
  worker: string | undefined = undefined;
  /** Credit that is held back until the worker is known. */
  heldCredit = 0;
  /** The tick at which the call was sent, or at which its worker last reported it as running. */
  lastSignAt: number;
  /** Number of lost workers that may have started the call. */
  lostWorkers = 0;
  /** Whether another worker has reported that the operation may run more than once. */
  isMovable = false;
  /** Whether a withdrawal of the request was sent to the broker. */
  isRecalled = false;

  constructor(frame: CallRequested, onReply: (frame: ReplyFrame) => void, message: string, sentAt: number) {
    this.operationId = frame.operationId;
    this.onReply = onReply;
    this.message = message;
    this.isSubscription = frame.credit !== undefined;
    this.lastSignAt = sentAt;
  }
}

/** The calling half of a peer on a broker: sends requests, and exchanges frames with the workers that run them. */
export class BrokerCaller {
  readonly #adapter: BrokerAdapter;
  readonly #sender: FrameSender;
  readonly #calls = new OutgoingCalls<BrokerCall>();
  readonly #monitor: WorkerMonitor;
  readonly #directory: GossipPeerDirectory;
  /** Operations that have replied and were not reported to the directory yet. */
  readonly #served = new Set<string>();

  constructor(adapter: BrokerAdapter, sender: FrameSender, directory: GossipPeerDirectory) {
    this.#adapter = adapter;
    this.#sender = sender;
    this.#directory = directory;
    this.#monitor = new WorkerMonitor(adapter, sender, this.#calls);
  }

  request(operationId: string, frame: CallRequested, onReply: (frame: ReplyFrame) => void): SendFollowUp {
    if (!this.#adapter.isConnected) throw notConnected(this.#adapter.name);
    const { requestId } = frame;
    frame.sentAt = Math.floor(performance.now());
    const message = encode(frame, this.#sender);
    const call = new BrokerCall(frame, onReply, message, this.#monitor.tickCount);
    this.#calls.add(requestId, call);
    try {
      call.ticket = this.#adapter.request(operationId, requestId, message);
    } catch (error) {
      this.#calls.delete(requestId);
      throw error;
    }
    return (followUp) => {
      if (this.#calls.get(requestId) !== call) return;
      if (followUp.type === "call.aborted") this.#calls.delete(requestId);
      this.#sendToWorker(call, followUp);
    };
  }

  /** Accepts a reply. */
  take(frame: ReplyFrame): void {
    const call = this.#calls.get(frame.requestId);
    if (call === undefined) return;
    if (frame.type !== "call.error") this.#served.add(call.operationId);
    else if (call.attempt > 0) {
      // The worker of an earlier attempt may fail while another one runs the call.
      if (frame.attempt !== call.attempt) return;
      frame.mayHaveRun = true;
    }
    call.lastSignAt = this.#monitor.tickCount;
    this.#calls.deliver(frame, call);
  }

  /** Handles a worker's report of the calls that it runs. Calls that this peer does not wait for are aborted. */
  noteWorker(address: string, refs: readonly CallRef[]): void {
    const unwanted = refs.filter((ref) => !this.#noteSign(address, ref));
    const reason = "the caller does not wait for it";
    for (const part of splitRefs(unwanted, this.#sender.maxMessage)) {
      const frames = part.map((ref) => ({ type: "call.aborted" as const, ...ref, reason }));
      this.#adapter.send(address, this.#sender.sign(...frames));
    }
  }

  /**
   * Replies to a worker that requests this peer's clock, and lists the delayed requests that were withdrawn. The reply
   * is sent after every earlier abort.
   */
  reportClock(address: string, question: string, refs: readonly CallRef[]): void {
    const withdrawn = refs.filter((ref) => !this.#noteSign(address, ref));
    const frame: OtherFrame = { type: "link.ponged", question, clock: performance.now(), withdrawn };
    this.#adapter.send(address, encode(frame, this.#sender));
  }

  /** Handles the report of a worker that the operation may run more than once. */
  noteOffer(operationId: string): void {
    this.#monitor.noteOffer(operationId);
  }

  onUnserved(requestId: string): void {
    const call = this.#calls.get(requestId);
    if (call === undefined) return;
    const { attempt, operationId } = call;
    this.#noteServed();
    this.#calls.fail(requestId, attempt > 0 ? workerGone(operationId) : this.#directory.notServed(operationId));
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
    this.#monitor.onGone(address);
  }

  onLinkLost(error: CallError): void {
    for (const [requestId] of this.#calls.entries()) this.#calls.fail(requestId, error);
  }

  /** Checks for calls whose worker is silent. */
  tick(isHeartbeat: boolean): void {
    this.#noteServed();
    this.#monitor.tick(isHeartbeat);
  }

  /** Fails every call, and sends an abort to its worker. */
  close(error: CallError): void {
    for (const [requestId, call] of this.#calls.entries()) {
      this.#sendToWorker(call, { type: "call.aborted", requestId, reason: error.message });
      this.#calls.fail(requestId, error);
    }
  }

  #noteServed(): void {
    for (const operationId of this.#served) this.#directory.noteServed(operationId);
    this.#served.clear();
  }

  /** Records that the worker runs the call. Returns false when this peer does not wait for that attempt of the call. */
  #noteSign(address: string, ref: CallRef): boolean {
    const { requestId, attempt = 0 } = ref;
    const call = this.#calls.get(requestId);
    if (call === undefined || call.attempt !== attempt) return false;
    call.worker = address;
    call.lastSignAt = this.#monitor.tickCount;
    if (call.heldCredit > 0) {
      const count = call.heldCredit;
      call.heldCredit = 0;
      this.#sendToWorker(call, { type: "call.credited", requestId, count });
    }
    return true;
  }

  #sendToWorker(call: BrokerCall, frame: FollowUp): void {
    if (frame.type === "call.credited") {
      if (call.worker === undefined) call.heldCredit += frame.count;
      else this.#adapter.send(call.worker, this.#sender.sign(frame));
      return;
    }
    const { requestId } = frame;
    const abort = { ...frame, ...toCallRef(requestId, call.attempt) };
    if (call.worker !== undefined) return this.#adapter.send(call.worker, this.#sender.sign(abort));
    const count = call.heldCredit;
    const held: FollowUp[] = count > 0 ? [{ type: "call.credited", requestId, count }] : [];
    this.#adapter.withdraw?.(call.ticket);
    this.#adapter.broadcast(call.operationId, this.#sender.sign(...held, abort));
  }
}
