import { logger } from "../../internal/log.ts";
import { nextRequestId } from "../../internal/request-id.ts";
import {
  type CallError,
  defaultLimits,
  formatOperationId,
  type Limits,
  type OperationSpec,
  operationNotFound,
  timedOut,
} from "../../operation/index.ts";
import { decode, encode, type FrameLimits, type WireFrame } from "../codec/index.ts";
import {
  type CallRequested,
  type FollowUp,
  isLastReply,
  type OnRequest,
  type PeerEvent,
  type ReplyFrame,
  type SendFollowUp,
  type StopServing,
  type Transport,
  toFailedFrame,
  transportClosed,
  type Unsubscribe,
} from "../transport.ts";
import { AskedCall, AskedCalls } from "./asked-calls.ts";
import { EarlyAborts } from "./early-aborts.ts";
import type { Engine, EngineEvents, LongRequest } from "./engine.ts";
import { linkLost, notConnected, poisonous, workerGone } from "./errors.ts";
import { Mailbag } from "./mailbag.ts";
import { readMessage, withSender } from "./message.ts";
import { PeerBook } from "./peer-book.ts";
import { type ServedCall, ServedCalls } from "./served-calls.ts";

const log = logger("transport", "bus");

/** How a peer on a bus behaves. */
export interface BusOptions {
  /** Milliseconds between signs of life. A peer that was silent for three of them is gone. @default 5,000 */
  heartbeat?: number;
  limits?: Limits;
}

/** Requests that carry no time of their own are not run when they are older than this, in ms. */
const maxAge = 60_000;

/**
 * A transport over a message engine. The engine hands each request to one worker; the answers, and everything else
 * about a call, go straight between the two peers.
 */
export class BusTransport implements Transport, EngineEvents {
  readonly name: string;
  readonly #engine: Engine;
  readonly #limits: Required<Limits>;
  readonly #asked: AskedCalls;
  readonly #served: ServedCalls;
  readonly #servers = new Map<string, OnRequest>();
  readonly #early = new EarlyAborts();
  readonly #mailbag: Mailbag;
  readonly #peers: PeerBook;
  readonly #timer: NodeJS.Timeout;
  #listening: Promise<void> | undefined;
  #sendLimits: FrameLimits;
  #dropped = 0;
  #closing: Promise<void> | undefined;

  /** @param connect makes the engine, which tells this transport what happens */
  constructor(connect: (events: EngineEvents) => Engine, { heartbeat = 5_000, limits }: BusOptions) {
    const engine = connect(this);
    this.#engine = engine;
    this.name = engine.name;
    this.#limits = { ...defaultLimits, ...limits };
    this.#sendLimits = this.#limits;
    this.#asked = new AskedCalls(this.#limits.callsPerConnection);
    this.#served = new ServedCalls(this.#limits);
    this.#mailbag = new Mailbag((address, text) => engine.send(address, text));
    this.#peers = new PeerBook({
      peerId: nextRequestId(),
      maxOperations: this.#limits.operations,
      get maxPart() {
        return engine.maxMessage / 4;
      },
      gossip: (frame) => this.#gossip(frame),
    });
    this.#timer = setInterval(() => this.#beat(), heartbeat);
    this.#timer.unref(); // signs of life are no reason to stay alive
  }

  /** How many messages came that made no sense. */
  get dropped(): number {
    return this.#dropped;
  }

  request(operationId: string, frame: CallRequested, onReply: (frame: ReplyFrame) => void): SendFollowUp {
    this.#assertOpen();
    if (!this.#engine.isConnected) throw notConnected(this.name);
    const { requestId } = frame;
    const text = encode(frame, this.#frameLimits());
    const call = new AskedCall(operationId, onReply);
    this.#asked.add(requestId, call);
    try {
      call.ticket = this.#engine.ask(operationId, requestId, text);
    } catch (error) {
      this.#asked.delete(requestId);
      throw error;
    }
    return (followUp) => {
      if (this.#asked.get(requestId) !== call) return;
      if (followUp.type === "call.aborted") this.#asked.delete(requestId);
      this.#tellWorker(call, followUp);
    };
  }

  async serve(operationIds: readonly string[], onRequest: OnRequest): Promise<StopServing> {
    this.#assertOpen();
    for (const id of operationIds) this.#servers.set(id, onRequest);
    await this.#engine.serve(operationIds);
    return async (ids = operationIds) => {
      const stopped = ids.filter((id) => this.#servers.get(id) === onRequest);
      if (stopped.length === 0) return;
      await this.#engine.stop(stopped);
      for (const id of stopped) if (this.#servers.get(id) === onRequest) this.#servers.delete(id);
    };
  }

  async announce(specs: readonly OperationSpec[]): Promise<void> {
    this.#assertOpen();
    const idempotent = specs.filter((spec) => spec.idempotent === true);
    await this.#engine.setIdempotent?.(idempotent.map(({ namespace, name }) => formatOperationId(namespace, name)));
    await this.#listen();
    this.#peers.announce(specs);
  }

  watchPeers(listener: (event: PeerEvent) => void): Unsubscribe {
    const stop = this.#peers.watch(listener);
    this.#listen().then(
      () => this.#peers.introduce(),
      (error) => log.warn("{transport}: peers cannot be heard: {error}", { transport: this.name, error }),
    );
    return stop;
  }

  close(reason?: Error): Promise<void> {
    this.#closing ??= this.#close(reason);
    return this.#closing;
  }

  onRequest(message: string | Uint8Array, from: string, age: number, receipt?: unknown): void {
    const frame = this.#decode(message);
    if (frame?.type !== "call.requested") {
      if (frame !== undefined) this.#drop();
      this.#engine.settle?.(receipt);
      return;
    }
    const refusal = this.#serve(frame as CallRequested, from, age, receipt);
    if (refusal === undefined) return;
    this.#post(from, toFailedFrame((frame as CallRequested).requestId, refusal));
    this.#engine.settle?.(receipt);
  }

  onMessage(message: string | Uint8Array): void {
    const { from, frames } = this.#read(message);
    for (const text of frames) {
      const frame = this.#decode(text);
      if (frame !== undefined) this.#take(frame, from);
    }
  }

  onGossip(message: string | Uint8Array): void {
    for (const text of this.#read(message).frames) {
      const frame = this.#decode(text);
      if (frame !== undefined && !this.#peers.take(frame)) this.#drop();
    }
  }

  onUnserved(requestId: string): void {
    const call = this.#asked.get(requestId);
    if (call !== undefined) this.#asked.fail(requestId, operationNotFound(call.operationId));
  }

  onRefused(requestId: string, error: CallError): void {
    this.#asked.fail(requestId, error);
  }

  onPoison(message: string | Uint8Array, from: string): void {
    const frame = this.#decode(message);
    if (frame?.type !== "call.requested") return;
    const { requestId, operationId } = frame as CallRequested;
    log.error("{operationId} was given up: several workers died with one request.", { operationId });
    this.#post(from, toFailedFrame(requestId, poisonous(operationId)));
  }

  onGone(address: string): void {
    for (const call of this.#served.list(address)) this.#abort(call, "the asker is gone");
    for (const [requestId, call] of this.#asked.entries()) {
      if (call.worker === address) void this.#loseWorker(requestId, call);
    }
  }

  onLinkLost(error: Error): void {
    log.warn("{transport}: the connection was lost: {error}", { transport: this.name, error });
    for (const [requestId] of this.#asked.entries()) this.#asked.fail(requestId, linkLost(this.name, error));
  }

  onLinkRestored(): void {
    log.info("{transport}: the connection is back.", { transport: this.name });
    this.#peers.introduce();
  }

  async #close(reason: Error | undefined): Promise<void> {
    clearInterval(this.#timer);
    const error = transportClosed(this.name, { mayHaveRun: true, cause: reason });
    for (const [requestId, call] of this.#asked.entries()) {
      this.#tellWorker(call, { type: "call.aborted", requestId, reason: error.message });
      this.#asked.fail(requestId, error);
    }
    for (const call of this.#served.list()) {
      this.#post(call.from, toFailedFrame(call.requestId, error));
      this.#abort(call, error.message);
    }
    this.#peers.leave();
    this.#mailbag.flush();
    await this.#engine.close();
    this.#servers.clear();
  }

  /** Begins to run a request, or gives the reason why not. */
  #serve(frame: CallRequested, from: string, age: number, receipt: unknown): CallError | undefined {
    const { requestId, operationId } = frame;
    const onRequest = this.#servers.get(operationId);
    if (onRequest === undefined || this.#closing !== undefined) return operationNotFound(operationId);
    if (this.#early.delete(from, requestId) || this.#served.get(from, requestId) !== undefined) {
      this.#engine.settle?.(receipt);
      return undefined;
    }
    if (age > 0) {
      if (age >= (frame.timeout ?? maxAge)) return timedOut(operationId, false);
      if (frame.timeout !== undefined) frame.timeout -= age;
    }
    const refusal = this.#served.refusal(from, frame);
    if (refusal !== undefined) return refusal;
    const call = this.#served.add(from, frame, receipt);
    if (call.isSubscription) this.#introduceTo(call);
    call.follow(onRequest(frame, (reply) => this.#reply(call, reply)));
    return undefined;
  }

  #reply(call: ServedCall, frame: ReplyFrame): void | Promise<void> {
    if (call.hasEnded || this.#closing !== undefined) return;
    this.#mailbag.push(call.from, encode(frame, this.#frameLimits()));
    if (isLastReply(frame) && this.#served.end(call)) this.#engine.settle?.(call.receipt);
    return this.#engine.whenWritable();
  }

  #take(frame: WireFrame, from: string): void {
    switch (frame.type) {
      case "call.responded":
      case "call.progressed":
      case "call.completed":
      case "call.error":
        this.#asked.take(frame as ReplyFrame);
        return;
      case "call.credited":
      case "call.aborted":
        return this.#follow(frame as FollowUp, from);
      case "link.taken":
        return this.#noteWorker(frame as unknown as Record<string, unknown>);
      case "link.asked":
        return this.#confirm(frame as unknown as Record<string, unknown>, from);
      default:
        return this.#drop();
    }
  }

  #follow(frame: FollowUp, from: string): void {
    const call = this.#served.get(from, frame.requestId);
    if (call !== undefined) {
      if (frame.type === "call.aborted" && this.#served.end(call)) this.#engine.settle?.(call.receipt);
      call.tell(frame);
    } else if (frame.type === "call.aborted") this.#early.add(from, frame.requestId);
  }

  /** The peer that runs a call says where it is, which also asks whether somebody still waits. */
  #noteWorker({ requestId, address }: Record<string, unknown>): void {
    if (typeof requestId !== "string" || typeof address !== "string") return this.#drop();
    const call = this.#asked.get(requestId);
    if (call === undefined) {
      const frame: FollowUp = { type: "call.aborted", requestId, reason: "nobody waits for it" };
      return this.#engine.send(address, this.#signed(frame));
    }
    call.worker = address;
    if (call.heldCredit === 0) return;
    const count = call.heldCredit;
    call.heldCredit = 0;
    this.#tellWorker(call, { type: "call.credited", requestId, count });
  }

  async #loseWorker(requestId: string, call: AskedCall): Promise<void> {
    call.worker = undefined;
    const isKept = (await this.#engine.isKept?.(call.ticket)) ?? false;
    if (!isKept && this.#asked.get(requestId) === call) this.#asked.fail(requestId, workerGone(call.operationId));
  }

  /** Somebody asks whether its call still runs here. */
  #confirm({ requestId }: Record<string, unknown>, from: string): void {
    if (typeof requestId !== "string" || from === "") return this.#drop();
    if (this.#served.get(from, requestId) === undefined) this.#post(from, toFailedFrame(requestId, workerGone("call")));
  }

  #tellWorker(call: AskedCall, frame: FollowUp): void {
    if (call.worker !== undefined) return this.#engine.send(call.worker, this.#signed(frame));
    if (frame.type === "call.credited") {
      call.heldCredit += frame.count;
      return;
    }
    const { requestId } = frame;
    const held: FollowUp[] = call.heldCredit > 0 ? [{ type: "call.credited", requestId, count: call.heldCredit }] : [];
    this.#engine.withdraw(call.operationId, call.ticket, this.#signed(...held, frame));
  }

  /** A message that says who sends it: only the asker of a call can touch it. */
  #signed(...frames: Array<{ type: string }>): string {
    const texts = frames.map((frame) => encode(frame, this.#frameLimits()));
    return withSender(this.#engine.address, texts.join("\n"));
  }

  #introduceTo(call: ServedCall): void {
    this.#post(call.from, { type: "link.taken", requestId: call.requestId, address: this.#engine.address } as never);
  }

  #abort(call: ServedCall, reason: string): void {
    if (!this.#served.end(call)) return;
    call.tell({ type: "call.aborted", requestId: call.requestId, reason });
    this.#engine.settle?.(call.receipt);
  }

  /** Asks about calls that take long, both ways: who asked or who works may be gone without a word. */
  #beat(): void {
    if (!this.#engine.isConnected) return;
    this.#peers.beat();
    const probed = new Set<string>();
    for (const call of this.#served.list()) {
      if (call.isOld) this.#introduceTo(call);
      if (call.isOld) probed.add(call.from);
      call.isOld = true;
    }
    const unknown: LongRequest[] = [];
    for (const [requestId, call] of this.#asked.entries()) {
      const { operationId, ticket } = call;
      if (call.isOld && call.worker === undefined) unknown.push({ requestId, operationId, ticket });
      else if (call.isOld) {
        this.#engine.send(call.worker!, this.#signed({ type: "link.asked", requestId } as never), true);
      }
      call.isOld = true;
    }
    for (const address of probed) this.#engine.send(address, "", true);
    if (unknown.length > 0) this.#engine.checkWorkers?.(unknown);
  }

  #listen(): Promise<void> {
    this.#listening ??= this.#engine.listen().catch((error) => {
      this.#listening = undefined;
      throw error;
    });
    return this.#listening;
  }

  #gossip(frame: { type: string }): void {
    if (this.#engine.isConnected) this.#engine.gossip(encode(frame, this.#frameLimits()));
  }

  #post(address: string, frame: { type: string }): void {
    this.#mailbag.push(address, encode(frame, this.#frameLimits()));
  }

  /** What may be sent now: a server's limit is known when it is connected, and may change with it. */
  #frameLimits(): FrameLimits {
    const maxMessage = Math.min(this.#limits.maxMessage, this.#engine.maxMessage);
    if (this.#sendLimits.maxMessage !== maxMessage) {
      this.#sendLimits = { maxMessage, jsonDepth: this.#limits.jsonDepth };
    }
    return this.#sendLimits;
  }

  #read(message: string | Uint8Array): ReturnType<typeof readMessage> {
    if (message.length === 0) return { from: "", frames: [] }; // only asks whether somebody is here
    try {
      return readMessage(message);
    } catch {
      this.#drop();
      return { from: "", frames: [] };
    }
  }

  #decode(text: string | Uint8Array): WireFrame | undefined {
    try {
      return decode(text, this.#limits);
    } catch (error) {
      this.#drop(error);
      return undefined;
    }
  }

  /** Everybody may write to a bus: what makes no sense is no reason to end anything. */
  #drop(error?: unknown): void {
    this.#dropped++;
    log.debug("{transport}: a message was dropped: {error}", { transport: this.name, error });
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw transportClosed(this.name, { mayHaveRun: false });
  }
}
