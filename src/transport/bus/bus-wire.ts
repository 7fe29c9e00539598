import { BoundedMap } from "../../internal/bounded.ts";
import { logger } from "../../internal/log.ts";
import {
  type CallError,
  type Limits,
  operationNotFound,
  resolveDuration,
  resolveLimits,
} from "../../operation/inside.ts";
import { decode, encode, type OtherFrame, type WireFrame } from "../codec/index.ts";
import { BatchWriter, linkLost, notConnected, readLines, workerGone } from "../peer/index.ts";
import { type CallRequested, toFailedFrame } from "../transport.ts";
import type { Peer, Served, Wire, WireEvents } from "../wire.ts";
import { Announcements } from "./announcements.ts";
import type { BusEngine, EngineEvents } from "./engine.ts";

const log = logger("transport", "bus");
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Maximum length of a message with several frames, in characters. */
const maxBatch = 64 * 1024;
/** Further peers replace the oldest, which are created again when they are needed. */
const maxPeers = 10_000;
/** First character of the line with the sender. No frame begins with it. */
const senderMark = "@";
const maxSenderLength = 1_024;

/** Options of every transport over a broker. */
export interface BusOptions {
  /**
   * Milliseconds, above 0, between heartbeats. A worker that was silent for three intervals is lost: its calls fail with
   * `UNAVAILABLE`. Callers and workers may have different ones. @default 5,000
   */
  heartbeat?: number | undefined;
  /** Limits of messages and pending calls. @default the defaults of `Limits` */
  limits?: Limits | undefined;
}

/** The options of a peer with their defaults. */
export interface ResolvedBusOptions {
  readonly heartbeat: number;
  readonly limits: Readonly<Required<Limits>>;
}

/** Applies the defaults. Call it before connecting. Throws `VALIDATION_ERROR` on an invalid option. */
export function resolveBusOptions({ heartbeat, limits }: BusOptions): ResolvedBusOptions {
  return { heartbeat: resolveDuration("heartbeat", heartbeat, 5_000), limits: resolveLimits(limits) };
}

/** A peer at an address. Frames of one turn share a message. */
class BusPeer extends BatchWriter implements Peer {
  readonly id: string;
  readonly #wire: BusWire;
  readonly #engine: BusEngine;

  constructor(address: string, wire: BusWire, engine: BusEngine) {
    super(Math.min(maxBatch, engine.maxMessage / 3));
    this.id = address;
    this.#wire = wire;
    this.#engine = engine;
  }

  send(frame: WireFrame): Promise<void> | undefined {
    const line = this.#wire.encode(frame);
    if (frame.type === "call.running") {
      this.flush();
      this.#engine.send(this.id, this.#wire.sign(line), true);
      return undefined;
    }
    this.push(line);
    return this.#engine.whenWritable();
  }

  protected override write(message: string): void {
    this.#engine.send(this.id, this.#wire.sign(message));
  }
}

/** A wire over a message broker. The broker delivers each request to one worker; other frames are sent to addresses. */
export class BusWire implements Wire, EngineEvents {
  readonly name: string;
  readonly heartbeat: number;
  /** Number of malformed messages that have arrived. */
  dropped = 0;
  readonly #engine: BusEngine;
  readonly #limits: Readonly<Required<Limits>>;
  readonly #announcements: Announcements;
  readonly #peers = new BoundedMap<string, BusPeer>(maxPeers);
  readonly #timer: NodeJS.Timeout;
  /** The operations of requests whose worker is not known, for errors. */
  #events: WireEvents | undefined = undefined;
  #listening: Promise<void> | undefined = undefined;

  /** @param connect creates the engine, which reports to this wire */
  constructor(connect: (events: EngineEvents) => BusEngine, { heartbeat, limits }: ResolvedBusOptions) {
    const engine = connect(this);
    this.#engine = engine;
    this.#limits = limits;
    this.name = engine.name;
    this.heartbeat = heartbeat;
    const wire = this;
    const host = {
      heartbeat,
      maxOperations: limits.operations,
      get maxMessage() {
        return wire.#maxMessage;
      },
      publish: (frame: WireFrame) => {
        if (engine.isConnected) engine.publish(this.sign(this.encode(frame)));
      },
      send: (address: string, frame: WireFrame) => this.#peerAt(address).send(frame),
    };
    this.#announcements = new Announcements(host, (event) => this.#events?.onPeer(event));
    this.#timer = setInterval(() => this.#beat(), heartbeat);
    this.#timer.unref(); // heartbeats must not keep the process alive
  }

  get runningCalls(): number {
    return this.#events?.runningCalls ?? 0;
  }

  get isConnected(): boolean {
    return this.#engine.isConnected;
  }

  start(events: WireEvents): void {
    this.#events = events;
  }

  async watch(): Promise<void> {
    await this.#listen();
    await this.#announcements.watch();
  }

  route(operationId: string): Peer {
    const engine = this.#engine;
    if (!engine.isConnected) throw notConnected(this.name);
    return {
      id: "",
      isGroup: true,
      isWaiting: (requestId) => engine.isWaiting?.(requestId) ?? false,
      send: (frame) => {
        const { requestId, timeout } = frame as CallRequested;
        if (frame.type === "call.requested") engine.request(operationId, requestId, this.encode(frame), timeout);
        else if (frame.type === "call.aborted") {
          engine.withdraw(operationId, requestId, this.sign(this.encode(frame)));
        }
      },
    };
  }

  async serve({ operationIds, specs }: Served): Promise<void> {
    if (operationIds.size > 0 || specs.length > 0) await this.#listen();
    await this.#engine.serve(operationIds);
    this.#announcements.announce(specs);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    for (const peer of this.#peers.values()) peer.flush();
    this.#announcements.leave();
    await this.#engine.close();
  }

  /** Encodes a frame within the limits of this peer and of the broker. Throws a `CallError`. */
  encode(frame: WireFrame): string {
    return encode(frame, { maxMessage: this.#maxMessage, jsonDepth: this.#limits.jsonDepth });
  }

  /** Adds the address of this peer to a message. */
  sign(message: string): string {
    return `${senderMark}${this.#engine.address}\n${message}`;
  }

  onRequest(message: string | Uint8Array, from: string): void {
    const frame = from === "" ? undefined : this.#decode(message);
    if (frame?.type === "call.requested") this.#events?.onFrame(frame, this.#peerAt(from));
    else this.#drop();
  }

  onMessage(message: string | Uint8Array): void {
    if (message.length > this.#limits.maxMessage + maxBatch) return this.#drop();
    let text: string;
    try {
      text = typeof message === "string" ? message : decoder.decode(message);
    } catch {
      return this.#drop(); // not UTF-8
    }
    const end = text.indexOf("\n");
    if (!text.startsWith(senderMark) || end < 0 || end > maxSenderLength) return this.#drop();
    const from = text.slice(senderMark.length, end);
    readLines(text, end + 1, (line) => {
      const frame = this.#decode(line);
      if (frame === undefined || frame.type === "call.requested") this.#drop();
      else if (!frame.type.startsWith("link.")) this.#onFrame(frame, from);
      else if (from !== this.#engine.address && !this.#announcements.take(frame as OtherFrame, from)) this.#drop();
      return frame !== undefined;
    });
  }

  onUnserved(requestId: string, error: CallError = operationNotFound("")): void {
    this.#events?.onFrame(toFailedFrame(requestId, error), undefined);
  }

  onGone(address: string): void {
    this.#events?.onGone(this.#peerAt(address), workerGone(""));
  }

  onLink(error: Error | undefined): void {
    if (error === undefined) {
      log.info("{transport}: The connection is open again.", { transport: this.name });
      this.#announcements.ask();
    } else log.warn("{transport}: The connection was lost: {error}", { transport: this.name, error });
    this.#events?.onLink(error && linkLost(this.name, error, true));
  }

  #onFrame(frame: WireFrame, from: string): void {
    if (frame.type !== "call.running" && frame.type !== "call.aborted") {
      this.#engine.forget?.((frame as CallRequested).requestId);
    }
    this.#events?.onFrame(frame, this.#peerAt(from));
  }

  get #maxMessage(): number {
    // A broker also counts the line with the sender.
    return Math.min(this.#limits.maxMessage, this.#engine.maxMessage - this.#engine.address.length - 2);
  }

  #peerAt(address: string): BusPeer {
    let peer = this.#peers.get(address);
    if (peer !== undefined) return peer;
    peer = new BusPeer(address, this, this.#engine);
    this.#peers.set(address, peer);
    return peer;
  }

  #beat(): void {
    if (!this.#engine.isConnected) return;
    this.#announcements.beat();
    this.#engine.beat?.();
  }

  #listen(): Promise<void> {
    this.#listening ??= this.#engine.listen().catch((error) => {
      this.#listening = undefined;
      throw error;
    });
    return this.#listening;
  }

  #decode(line: string | Uint8Array): WireFrame | undefined {
    try {
      return decode(line, this.#limits);
    } catch (error) {
      log.debug("{transport}: A malformed frame was received: {error}", { transport: this.name, error });
      return undefined;
    }
  }

  /** Any client can write to a bus, so a malformed message is ignored and does not end a connection or call. */
  #drop(): void {
    this.dropped += 1;
    log.debug("{transport}: A message was dropped.", { transport: this.name });
  }
}
