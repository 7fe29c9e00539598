import { logger } from "../../internal/log.ts";
import { nextRequestId } from "../../internal/request-id.ts";
import {
  type CallError,
  formatOperationId,
  type Limits,
  type OperationSpec,
  resolveDuration,
  resolveLimits,
} from "../../operation/index.ts";
import { decode, type WireFrame } from "../codec/index.ts";
import {
  type CallRequested,
  type FollowUp,
  type OnRequest,
  type PeerEvent,
  type ReplyFrame,
  type SendFollowUp,
  type StopServing,
  type Transport,
  transportClosed,
  type Unsubscribe,
} from "../transport.ts";
import { Asking } from "./asking.ts";
import { readCallRefs } from "./call-refs.ts";
import { Directory } from "./directory.ts";
import type { Engine, EngineEvents } from "./engine.ts";
import { linkLost, orNotConnected } from "./errors.ts";
import { fullLetter } from "./mailbag.ts";
import { readMessage } from "./message.ts";
import { PeerBook } from "./peer-book.ts";
import { Post } from "./post.ts";
import { Serving } from "./serving.ts";
import { startTicks } from "./ticks.ts";

const log = logger("transport", "bus");

/** In bytes, and rather too large: what a message with one spec holds besides the spec. */
const maxSpecsHeader = 8 * 1024;

/** How a peer on a bus behaves. */
export interface BusOptions {
  /**
   * Milliseconds, above 0, between signs of life. A peer that was silent for three of them is lost, and calls that it had
   * taken fail with `UNAVAILABLE`. @default 5,000
   */
  heartbeat?: number | undefined;
  limits?: Limits | undefined;
}

/** The options of a peer with the defaults filled in. */
export interface ResolvedBusOptions {
  readonly heartbeat: number;
  readonly limits: Readonly<Required<Limits>>;
}

/** Fills in the defaults. Call before connecting: throws `VALIDATION_ERROR` on what is invalid. */
export function resolveBusOptions({ heartbeat, limits }: BusOptions): ResolvedBusOptions {
  return { heartbeat: resolveDuration("heartbeat", heartbeat, 5_000), limits: resolveLimits(limits) };
}

/**
 * A transport over a message engine. The engine hands each request to one worker; the answers, and everything else
 * about a call, go straight between the two peers.
 */
export class BusTransport implements Transport, EngineEvents {
  readonly name: string;
  readonly #engine: Engine;
  readonly #limits: Readonly<Required<Limits>>;
  readonly #post: Post;
  readonly #asking: Asking;
  readonly #serving: Serving;
  readonly #peers: PeerBook;
  readonly #directory = new Directory((id) => this.#peers.nearestId(id));
  readonly #stopTicks: () => void;
  #listening: Promise<void> | undefined;
  #dropped = 0;
  #closing: Promise<void> | undefined;

  /** @param connect makes the engine, which tells this transport what happens */
  constructor(connect: (events: EngineEvents) => Engine, { heartbeat, limits }: ResolvedBusOptions) {
    const engine = connect(this);
    const post = new Post(engine, limits);
    this.#engine = engine;
    this.#post = post;
    this.name = engine.name;
    this.#limits = limits;
    this.#asking = new Asking(engine, post, this.#limits.callsPerConnection, this.#directory);
    this.#serving = new Serving(engine, post, this.#limits);
    this.#peers = new PeerBook({
      peerId: nextRequestId(),
      maxOperations: this.#limits.operations,
      get maxPart() {
        return post.maxMessage / 4;
      },
      get maxSpec() {
        return Math.max(post.maxMessage / 4, post.maxMessage - maxSpecsHeader);
      },
      gossip: (frame) => post.gossip(frame),
      onDeparted: (id) => this.#directory.noteServed(id),
      onWithdrawn: (id) => this.#directory.noteWithdrawn(id),
    });
    this.#stopTicks = startTicks(heartbeat, (isHeartbeat) => this.#tick(isHeartbeat));
  }

  /** How many messages came that made no sense. */
  get dropped(): number {
    return this.#dropped;
  }

  request(operationId: string, frame: CallRequested, onReply: (frame: ReplyFrame) => void): SendFollowUp {
    this.#assertOpen();
    return this.#asking.request(operationId, frame, onReply);
  }

  async serve(operationIds: readonly string[], onRequest: OnRequest): Promise<StopServing> {
    this.#assertOpen();
    try {
      return await this.#serving.serve(operationIds, onRequest);
    } catch (error) {
      throw orNotConnected(this.name, error);
    }
  }

  async announce(specs: readonly OperationSpec[]): Promise<void> {
    this.#assertOpen();
    const idempotent = specs.filter((spec) => spec.idempotent === true);
    this.#serving.setIdempotent(idempotent.map(({ namespace, name }) => formatOperationId(namespace, name)));
    try {
      await this.#listen();
    } catch (error) {
      throw orNotConnected(this.name, error);
    }
    this.#peers.announce(specs);
  }

  watchPeers(listener: (event: PeerEvent) => void): Unsubscribe {
    if (this.#listening === undefined) this.#directory.noteListening();
    const stop = this.#peers.watch(listener);
    this.#listen().then(
      () => this.#peers.introduce(),
      (error) => log.warn("{transport}: peers cannot be heard: {error}", { transport: this.name, error }),
    );
    return stop;
  }

  isIncomplete(operationId: string): boolean {
    return !this.#engine.isConnected || this.#directory.mayBeAnnounced(operationId);
  }

  close(reason?: Error): Promise<void> {
    this.#closing ??= this.#close(reason);
    return this.#closing;
  }

  onRequest(message: string | Uint8Array, from: string): void {
    const frame = from === "" ? this.#drop() : this.#decodeRequest(message);
    if (frame !== undefined) this.#serving.take(frame, from);
  }

  onMessage(message: string | Uint8Array): void {
    this.#read(message, (frame, from) => this.#take(frame, from));
  }

  onGossip(message: string | Uint8Array): void {
    this.#read(message, (frame) => {
      if (!this.#peers.take(frame, message.length)) this.#drop();
    });
  }

  onUnserved(requestId: string): void {
    this.#asking.onUnserved(requestId);
  }

  onRefused(requestId: string, error: CallError): void {
    this.#asking.onRefused(requestId, error);
  }

  onDenied(operationId: string, error: CallError): void {
    this.#asking.onDenied(operationId, error);
  }

  onGone(address: string): void {
    this.#serving.onGone(address);
    this.#asking.onGone(address);
  }

  onLinkLost(error: Error): void {
    log.warn("{transport}: the connection was lost: {error}", { transport: this.name, error });
    const lost = linkLost(this.name, error);
    this.#asking.onLinkLost(lost);
    this.#serving.onLinkLost(lost);
  }

  onLinkRestored(): void {
    log.info("{transport}: the connection is back.", { transport: this.name });
    this.#directory.noteRestored();
    this.#serving.onLinkRestored();
    this.#peers.introduce();
  }

  async #close(reason: Error | undefined): Promise<void> {
    this.#stopTicks();
    const error = transportClosed(this.name, { mayHaveRun: true, cause: reason });
    this.#asking.close(error);
    this.#serving.close(error);
    this.#peers.leave();
    this.#post.flush();
    await this.#engine.close();
  }

  #take(frame: WireFrame, from: string): void {
    switch (frame.type) {
      case "call.responded":
      case "call.progressed":
      case "call.completed":
      case "call.error":
        return this.#asking.take(frame as ReplyFrame);
      case "call.credited":
      case "call.aborted":
        return this.#serving.follow(frame as FollowUp, from);
      case "link.taken":
      case "link.asked":
      case "link.offered":
        return this.#takeSign(frame as unknown as Record<string, unknown>, from);
      case "link.pinged":
      case "link.ponged":
        return this.#takeClock(frame as unknown as Record<string, unknown>);
      default:
        return this.#drop();
    }
  }

  #takeSign({ type, operationId, address, calls }: Record<string, unknown>, from: string): void {
    const refs = readCallRefs(calls);
    const isNamed = typeof operationId === "string";
    if (type === "link.offered" && isNamed) return this.#asking.noteOffer(operationId);
    if (refs === undefined) return this.#drop();
    if (type === "link.asked" && isNamed && from !== "") return this.#serving.confirm(operationId, refs, from);
    if (type === "link.taken" && typeof address === "string") return this.#asking.noteWorker(address, refs);
    this.#drop();
  }

  #takeClock({ type, address, question, clock, calls, withdrawn }: Record<string, unknown>): void {
    if (typeof question !== "string") return this.#drop();
    if (type === "link.pinged" && typeof address === "string") {
      return this.#asking.tellClock(address, question, readCallRefs(calls) ?? []);
    }
    if (!Number.isFinite(clock)) return this.#drop();
    this.#serving.noteClock(question, clock as number, readCallRefs(withdrawn) ?? []);
  }

  #tick(isHeartbeat: boolean): void {
    if (isHeartbeat) this.#directory.beat();
    if (!this.#engine.isConnected) return;
    if (isHeartbeat) this.#peers.beat();
    this.#serving.tick(isHeartbeat);
    this.#asking.tick(isHeartbeat);
  }

  #listen(): Promise<void> {
    this.#listening ??= this.#engine.listen().catch((error) => {
      this.#listening = undefined;
      throw error;
    });
    return this.#listening;
  }

  /** Peers send nothing but frames: what follows something else is not looked at. */
  #read(message: string | Uint8Array, take: (frame: WireFrame, from: string) => void): void {
    if (message.length === 0) return; // only asks whether somebody is here
    const read = this.#open(message);
    if (read === undefined) return;
    for (const text of read.frames) {
      const frame = this.#decode(text);
      if (frame === undefined) return;
      take(frame, read.from);
    }
  }

  #open(message: string | Uint8Array): ReturnType<typeof readMessage> | undefined {
    try {
      return readMessage(message, this.#limits.maxMessage + fullLetter);
    } catch (error) {
      return this.#drop(error);
    }
  }

  #decodeRequest(message: string | Uint8Array): CallRequested | undefined {
    const frame = this.#decode(message);
    if (frame === undefined || frame.type === "call.requested") return frame as CallRequested | undefined;
    return this.#drop();
  }

  #decode(text: string | Uint8Array): WireFrame | undefined {
    try {
      return decode(text, this.#limits);
    } catch (error) {
      return this.#drop(error);
    }
  }

  /** Everybody may write to a bus: what makes no sense is no reason to end anything. */
  #drop(error?: unknown): undefined {
    this.#dropped++;
    log.debug("{transport}: a message was dropped: {error}", { transport: this.name, error });
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw transportClosed(this.name, { mayHaveRun: false });
  }
}
