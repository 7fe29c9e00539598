import { Emitter } from "../../internal/emitter.ts";
import { logger } from "../../internal/log.ts";
import { nextRequestId } from "../../internal/request-id.ts";
import {
  type CallError,
  formatOperationId,
  type Limits,
  type OperationSpec,
  resolveDuration,
  resolveLimits,
} from "../../operation/inside.ts";
import { decode, type OtherFrame, type WireFrame } from "../codec/index.ts";
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
import { FrameSender, readLines, readSender } from "./batch-writer.ts";
import type { BrokerAdapter, BrokerEvents } from "./broker-adapter.ts";
import { BrokerCaller } from "./broker-caller.ts";
import { BrokerServer, maxBrokerBatch } from "./broker-server.ts";
import { linkLost, toAdapterError } from "./errors.ts";
import { GossipPeerDirectory } from "./gossip-peer-directory.ts";
import { startTicks } from "./heartbeat.ts";
import { readCallRefs } from "./outgoing-calls.ts";

const log = logger("transport", "peer");
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Options of every transport over a broker. */
export interface BrokerOptions {
  /**
   * Milliseconds, above 0, between heartbeats. A peer that was silent for three intervals is lost, and the calls
   * that it had accepted fail with `UNAVAILABLE`. @default 5,000
   */
  heartbeat?: number | undefined;
  /** Bounds on messages and pending calls. @default the defaults of `Limits` */
  limits?: Limits | undefined;
}

/** The options of a peer with their defaults. */
export interface ResolvedBrokerOptions {
  readonly heartbeat: number;
  readonly limits: Readonly<Required<Limits>>;
}

/** Applies the defaults. Call it before connecting. Throws `VALIDATION_ERROR` on an invalid option. */
export function resolveBrokerOptions({ heartbeat, limits }: BrokerOptions): ResolvedBrokerOptions {
  return { heartbeat: resolveDuration("heartbeat", heartbeat, 5_000), limits: resolveLimits(limits) };
}

/**
 * A transport over a message broker. The broker delivers each request to one worker. The two peers then exchange
 * replies and all other frames of the call by address.
 */
export class BrokerTransport implements Transport, AsyncDisposable, BrokerEvents {
  readonly name: string;
  readonly #adapter: BrokerAdapter;
  readonly #limits: Readonly<Required<Limits>>;
  readonly #caller: BrokerCaller;
  readonly #server: BrokerServer;
  readonly #directory: GossipPeerDirectory;
  readonly #links = new Emitter<Error | undefined>((error) => log.error("A link listener failed: {error}", { error }));
  readonly #stopTicks: () => void;
  #listening: Promise<void> | undefined;
  #dropped = 0;
  #closing: Promise<void> | undefined;

  /** @param connect creates the adapter, which reports to this transport */
  constructor(connect: (events: BrokerEvents) => BrokerAdapter, { heartbeat, limits }: ResolvedBrokerOptions) {
    const adapter = connect(this);
    const sender = new FrameSender(adapter, limits);
    this.#adapter = adapter;
    this.name = adapter.name;
    this.#limits = limits;
    this.#directory = new GossipPeerDirectory(nextRequestId(), sender, limits.operations);
    this.#caller = new BrokerCaller(adapter, sender, this.#directory);
    this.#server = new BrokerServer(adapter, sender, limits);
    this.#stopTicks = startTicks(heartbeat, (isHeartbeat) => this.#tick(isHeartbeat));
  }

  /** Number of malformed messages that have arrived. */
  get dropped(): number {
    return this.#dropped;
  }

  get runningRequests(): number {
    return this.#server.running;
  }

  request(operationId: string, frame: CallRequested, onReply: (frame: ReplyFrame) => void): SendFollowUp {
    if (this.#closing !== undefined) throw transportClosed(this.name, { mayHaveRun: false });
    return this.#caller.request(operationId, frame, onReply);
  }

  async serve(operationIds: readonly string[], onRequest: OnRequest): Promise<StopServing> {
    this.#assertOpen();
    try {
      return await this.#server.serve(operationIds, onRequest);
    } catch (error) {
      throw toAdapterError(this.name, error);
    }
  }

  async announce(specs: readonly OperationSpec[]): Promise<void> {
    this.#assertOpen();
    const idempotent = specs.filter((spec) => spec.idempotent === true);
    this.#server.setIdempotent(idempotent.map(({ namespace, name }) => formatOperationId(namespace, name)));
    try {
      await this.#listen();
    } catch (error) {
      throw toAdapterError(this.name, error);
    }
    this.#directory.announce(specs);
  }

  watchPeers(listener: (event: PeerEvent) => void): Unsubscribe {
    if (this.#listening === undefined) this.#directory.noteListening();
    const stop = this.#directory.watch(listener);
    this.#listen().then(
      () => this.#directory.introduce(),
      (error) => log.warn("{transport}: Announcements cannot be received: {error}", { transport: this.name, error }),
    );
    return stop;
  }

  async whenPeersKnown(): Promise<void> {
    await this.#listening?.catch(() => {}); // logged by `watchPeers`
    await this.#directory.whenQuiet();
  }

  isIncomplete(operationId: string): boolean {
    return !this.#adapter.isConnected || this.#directory.mayBeAnnounced(operationId);
  }

  onLinkChange(listener: (error: Error | undefined) => void): Unsubscribe {
    return this.#links.on(listener);
  }

  close(reason?: Error): Promise<void> {
    this.#closing ??= this.#close(reason);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  onRequest(message: string | Uint8Array, from: string): void {
    const frame = from === "" ? undefined : this.#decode(message);
    if (frame?.type === "call.requested") this.#server.take(frame as CallRequested, from);
    else this.#drop();
  }

  onMessage(message: string | Uint8Array): void {
    this.#read(message, this.#take);
  }

  onGossip(message: string | Uint8Array): void {
    this.#read(message, (frame) => {
      if (!this.#directory.take(frame, message.length)) this.#drop();
    });
  }

  onUnserved(requestId: string): void {
    this.#caller.onUnserved(requestId);
  }

  onRefused(requestId: string, error: CallError): void {
    this.#caller.onRefused(requestId, error);
  }

  onDenied(operationId: string, error: CallError): void {
    this.#caller.onDenied(operationId, error);
  }

  onGone(address: string): void {
    this.#server.onGone(address);
    this.#caller.onGone(address);
  }

  onLinkLost(error: Error): void {
    log.warn("{transport}: The connection was lost: {error}", { transport: this.name, error });
    const lost = linkLost(this.name, error, true);
    this.#caller.onLinkLost(lost);
    this.#server.onLinkLost(lost);
    this.#links.emit(lost);
  }

  onLinkRestored(): void {
    log.info("{transport}: The connection is open again.", { transport: this.name });
    this.#directory.noteRestored();
    this.#server.onLinkRestored();
    this.#directory.introduce();
    this.#links.emit(undefined);
  }

  async #close(reason: Error | undefined): Promise<void> {
    this.#stopTicks();
    const error = transportClosed(this.name, { mayHaveRun: true, cause: reason });
    this.#caller.close(error);
    this.#server.close(error);
    this.#directory.leave();
    await this.#adapter.close();
  }

  readonly #take = (frame: WireFrame, from: string): void => {
    switch (frame.type) {
      case "call.responded":
      case "call.progressed":
      case "call.completed":
      case "call.error":
        return this.#caller.take(frame as ReplyFrame);
      case "call.credited":
      case "call.aborted":
        return this.#server.follow(frame as FollowUp, from);
      case "link.taken":
      case "link.asked":
      case "link.offered":
        return this.#takeSign(frame as OtherFrame, from);
      case "link.pinged":
        return this.#reportClock(frame as OtherFrame);
      case "link.ponged":
        return this.#server.takeClock(frame as OtherFrame) ? undefined : this.#drop();
      default:
        return this.#drop();
    }
  };

  #takeSign({ type, operationId, address, calls }: OtherFrame, from: string): void {
    const refs = readCallRefs(calls);
    const isNamed = typeof operationId === "string";
    if (type === "link.offered" && isNamed) return this.#caller.noteOffer(operationId);
    if (refs === undefined) return this.#drop();
    if (type === "link.asked" && isNamed && from !== "") return this.#server.confirm(operationId, refs, from);
    if (type === "link.taken" && typeof address === "string") return this.#caller.noteWorker(address, refs);
    this.#drop();
  }

  #reportClock({ address, question, calls }: OtherFrame): void {
    if (typeof question !== "string" || typeof address !== "string") return this.#drop();
    this.#caller.reportClock(address, question, readCallRefs(calls) ?? []);
  }

  #tick(isHeartbeat: boolean): void {
    const { isConnected } = this.#adapter;
    if (isHeartbeat) this.#directory.beat(isConnected);
    if (!isConnected) return;
    this.#server.tick(isHeartbeat);
    this.#caller.tick(isHeartbeat);
  }

  #listen(): Promise<void> {
    this.#listening ??= this.#adapter.listen().catch((error) => {
      this.#listening = undefined;
      throw error;
    });
    return this.#listening;
  }

  /** Reads the frames of a message. Ignores the rest of the message after a malformed frame. */
  #read(message: string | Uint8Array, take: (frame: WireFrame, from: string) => void): void {
    if (message.length === 0) return; // a probe that checks whether this peer is connected
    if (message.length > this.#limits.maxMessage + maxBrokerBatch) return this.#drop();
    let text: string;
    try {
      text = typeof message === "string" ? message : decoder.decode(message);
    } catch {
      return this.#drop(); // not UTF-8
    }
    const sender = readSender(text);
    if (sender === undefined) return this.#drop();
    readLines(text, sender.start, (line) => {
      const frame = this.#decode(line);
      if (frame === undefined) this.#drop();
      else take(frame, sender.from);
      return frame !== undefined;
    });
  }

  #decode(line: string | Uint8Array): WireFrame | undefined {
    try {
      return decode(line, this.#limits);
    } catch (error) {
      log.debug("{transport}: A malformed frame was received: {error}", { transport: this.name, error });
      return undefined;
    }
  }

  /** Any client can write to a broker, so a malformed message is ignored and does not end a connection or call. */
  #drop(): void {
    this.#dropped++;
    log.debug("{transport}: A message was dropped.", { transport: this.name });
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw transportClosed(this.name, { mayHaveRun: false });
  }
}
