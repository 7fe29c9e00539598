import { monotonicNow } from "../../internal/deadlines.ts";
import { notify } from "../../internal/emitter.ts";
import { logger } from "../../internal/log.ts";
import { TurnoverMap } from "../../internal/turnover-map.ts";
import { type CallError, type Identity, limitExceeded, type OperationSpec, timedOut } from "../../operation/index.ts";
import { decode, encode, type FrameLimits, type OtherFrame, type WireFrame, wireVersion } from "../codec/index.ts";
import {
  type CallRequested,
  type FollowUp,
  isLastReply,
  type OnRequest,
  type PeerAnnounced,
  type Reply,
  type ReplyFrame,
  requestPending,
  type SendFollowUp,
  toFailedFrame,
} from "../transport.ts";
import { Backlog } from "./backlog.ts";
import type { Channel } from "./channel.ts";
import { linkLost } from "./errors.ts";
import { type Pulse, startHeartbeat } from "./heartbeat.ts";
import type { LinkOptions } from "./options.ts";
import { Outbox } from "./outbox.ts";
import { Pings, pong, stamp } from "./pings.ts";
import { type ServedCall, ServedCalls } from "./served-calls.ts";

const log = logger("transport", "link");

/** In bytes. A peer that takes less could not even be told an error. */
const leastMaxMessage = 1024;
/** More than these are nobody's operations, but an attempt to fill this side's memory. */
const maxOperations = 100_000;

/** Who holds the link. */
export interface LinkOwner {
  /** Names the transport in errors. */
  readonly name: string;
  findServer(operationId: string): OnRequest | undefined;
  /** What fails a request for an operation that is not served here. */
  notServed(operationId: string, link: Link): CallError;
  onOpened(link: Link): void;
  onServing(link: Link): void;
  onAnnounced(link: Link, event: PeerAnnounced): void;
  onLost(link: Link, error: Error | undefined): void;
}

/** One peer at the other end of a channel: calls that it was asked, calls that it asks, and whether it still lives. */
export class Link implements Pulse {
  /** What the other side says that it serves. */
  readonly operationIds = new Set<string>();
  /** What the other side calls itself; empty until it has said so. */
  peerId = "";
  readonly #owner: LinkOwner;
  readonly #channel: Channel;
  readonly #options: LinkOptions;
  readonly #outbox: Outbox;
  readonly #backlog: Backlog;
  readonly #asked = new TurnoverMap<string, (frame: ReplyFrame) => void>();
  readonly #served: ServedCalls;
  #stopHeartbeat: () => void = () => {};
  readonly #pings = new Pings((frame) => this.send(frame));
  readonly #receiveLimits: FrameLimits;
  /** The other side's limit may be the smaller one. */
  #sendLimits: FrameLimits;
  #heard = 0;
  /** Calls that were given up, and of which nobody knows whether the other side has heard it. */
  #givenUp = 0;
  #isClosed = false;

  constructor(owner: LinkOwner, channel: Channel, options: LinkOptions) {
    this.#owner = owner;
    this.#channel = channel;
    this.#options = options;
    this.#sendLimits = options;
    this.#receiveLimits = { maxMessage: options.maxReceived, jsonDepth: options.jsonDepth };
    this.#outbox = new Outbox(channel, (error) => this.fail(error));
    this.#backlog = new Backlog({
      amount: () => this.#outbox.bufferedAmount,
      limit: options.bufferedBytes,
      onStuck: () => this.fail(new Error("The other side reads too slowly")),
    });
    this.#served = new ServedCalls(options);
    this.watch(options.heartbeat);
  }

  /** How many calls the other side may be working on for us; one that stands still does so for those given up, too. */
  get pending(): number {
    return this.#asked.size + this.#givenUp;
  }

  /** Whom the channel has authenticated. */
  get identity(): Identity | undefined {
    return this.#options.identity;
  }

  /** Whether the other side may serve operations to this one. */
  get acceptsOperations(): boolean {
    return this.#options.acceptsOperations;
  }

  /** Counts what was heard of the other side. */
  get heard(): number {
    return this.#heard + (this.#channel.receivedBytes ?? 0);
  }

  get bufferedAmount(): number {
    return this.#outbox.bufferedAmount;
  }

  get isOpen(): boolean {
    return !this.#isClosed;
  }

  /** Sends one request. Throws when it cannot travel or the connection has enough to do. */
  request(frame: CallRequested, onReply: (frame: ReplyFrame) => void): SendFollowUp {
    const { requestId } = frame;
    if (this.#isClosed) throw linkLost(this.#owner.name, undefined, false);
    if (this.#asked.size >= this.#options.callsPerConnection) {
      throw limitExceeded(
        "Too many calls are pending on this connection",
        "callsPerConnection",
        this.#options.callsPerConnection,
      );
    }
    if (this.#backlog.isFull) {
      throw limitExceeded(
        "Too many bytes wait to be sent on this connection",
        "bufferedBytes",
        this.#options.bufferedBytes,
      );
    }
    if (this.#asked.has(requestId)) {
      throw requestPending(requestId);
    }
    const text = encode(stamp(frame), this.#sendLimits);
    // Before it is sent, because that may be when the link is found to be lost.
    this.#asked.set(requestId, onReply);
    this.#push(text);
    return (followUp) => {
      if (this.#asked.get(requestId) !== onReply) return;
      if (followUp.type !== "call.aborted") return this.send(followUp);
      this.#asked.delete(requestId);
      this.send(followUp);
      this.#noteGivenUp();
    };
  }

  /** Sends any frame. Throws a `CallError` when it cannot travel; a link that is lost takes it and drops it. */
  send(frame: WireFrame): void {
    if (this.#isClosed) return;
    this.#push(encode(frame, this.#sendLimits));
  }

  /** Those of some operations that the other side is told of. */
  shown(specs: readonly OperationSpec[]): readonly OperationSpec[] {
    const { shows } = this.#options;
    return shows === undefined ? specs : specs.filter(shows);
  }

  /** Resolves when the other side has handled all that was sent before, or is gone. */
  sync(): Promise<void> {
    return this.#isClosed ? Promise.resolve() : new Promise((resolve) => this.#pings.ping(resolve));
  }

  /** Asks for a sign of life, and for the clock of the other side, so that the age of its requests can be told. */
  ping(): void {
    this.#pings.ping();
  }

  /** Ends the link when the other side is silent for twice `interval`, in ms; 0 does not. */
  watch(interval: number): void {
    this.#stopHeartbeat();
    if (interval > 0 && !this.#isClosed) this.#stopHeartbeat = startHeartbeat(this, interval);
  }

  onSilence(): void {
    log.warn("{transport}: no sign of life from the other side", { transport: this.#owner.name });
    this.fail(new Error("The other side has gone silent"));
  }

  /** Takes a message from the channel. What is no frame ends the link, because nobody knows what was lost with it. */
  receive(message: string | Uint8Array): void {
    if (this.#isClosed) return;
    this.#heard++;
    if (typeof message === "string") this.#readLines(message);
    else this.#read(message);
    this.#pings.askForHeld();
  }

  /** Ends the link because something went wrong: what is pending fails. */
  fail(error: Error): void {
    this.close(error);
  }

  /** Ends the subscriptions that are served here, each with the error that its consumer gets. */
  endSubscriptions(toError: (operationId: string) => CallError): void {
    for (const { requestId, operationId } of this.#served.abortSubscriptions("the server ends it")) {
      this.send(toFailedFrame(requestId, toError(operationId)));
    }
  }

  /** Ends the link. Asked calls fail with `UNAVAILABLE`, served ones are aborted. Does not throw. */
  close(error?: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopHeartbeat();
    if (error === undefined) this.#outbox.push(encode({ type: "link.closed" }, this.#sendLimits));
    this.#outbox.close();
    this.#backlog.close();
    notify(() => this.#channel.close(error), this.#report("closing the channel"));
    this.#owner.onLost(this, error);
    const failure = linkLost(this.#owner.name, error, true);
    const asked = this.#asked.entries();
    this.#asked.clear();
    for (const [requestId, onReply] of asked) {
      notify(() => onReply(toFailedFrame(requestId, failure)), this.#report("telling of the end"));
    }
    this.#served.abortAll(error?.message ?? "the connection was closed");
    this.#pings.close();
  }

  #noteGivenUp(): void {
    this.#givenUp += 1;
    if (this.#givenUp > 1) return;
    this.#pings.ping(() => {
      this.#givenUp = 0;
    });
  }

  #push(text: string): void {
    this.#outbox.push(text);
    this.#backlog.check();
  }

  #readLines(message: string): void {
    let start = 0;
    for (let end = message.indexOf("\n"); end !== -1 && !this.#isClosed; end = message.indexOf("\n", start)) {
      this.#read(message.slice(start, end));
      start = end + 1;
    }
    this.#read(start === 0 ? message : message.slice(start));
  }

  #read(text: string | Uint8Array): void {
    if (this.#isClosed) return;
    let frame: WireFrame;
    try {
      frame = decode(text, this.#receiveLimits);
    } catch (error) {
      return this.fail(error as Error);
    }
    try {
      this.#take(frame);
    } catch (error) {
      this.#report(`handling ${frame.type}`)(error);
    }
  }

  #report(what: string): (error: unknown) => void {
    return (error) => log.error("{transport}: {what} failed: {error}", { transport: this.#owner.name, what, error });
  }

  #take(frame: WireFrame): void {
    switch (frame.type) {
      case "call.requested":
        return this.#serve(frame as CallRequested);
      case "call.credited":
      case "call.aborted":
        return this.#served.follow(frame as FollowUp);
      case "call.responded":
      case "call.progressed":
      case "call.completed":
      case "call.error":
        return this.#takeReply(frame as ReplyFrame);
      case "peer.announced":
        if (this.#options.acceptsOperations) this.#owner.onAnnounced(this, frame as PeerAnnounced);
        return;
      case "link.opened":
        return this.#open(frame as unknown as Record<string, unknown>);
      case "link.serves":
      case "link.stopped":
        return this.#noteOperations(frame.type, (frame as unknown as Record<string, unknown>)["operationIds"]);
      case "link.pinged":
        return this.send(pong());
      case "link.ponged":
        return this.#pings.take(frame as OtherFrame);
      case "link.closed":
        return this.close(new Error("The other side closed the connection"));
    }
  }

  #open({ version, peerId, maxMessage }: Record<string, unknown>): void {
    if (version !== wireVersion) {
      return this.fail(new Error(`The other side speaks another version of the wire format than ${wireVersion}`));
    }
    if (typeof maxMessage === "number" && maxMessage < this.#options.maxMessage) {
      if (maxMessage < leastMaxMessage) return this.fail(new Error("The other side takes next to nothing"));
      this.#sendLimits = { ...this.#options, maxMessage };
    }
    this.peerId = typeof peerId === "string" ? peerId.slice(0, 256) : "";
    this.#owner.onOpened(this);
  }

  #noteOperations(type: "link.serves" | "link.stopped", operationIds: unknown): void {
    if (!this.#options.acceptsOperations || !Array.isArray(operationIds)) return;
    for (const id of operationIds) {
      if (type === "link.stopped") this.operationIds.delete(id);
      else if (typeof id === "string") this.operationIds.add(id);
    }
    if (this.operationIds.size > maxOperations) return this.fail(new Error("The other side serves too much"));
    this.#owner.onServing(this);
  }

  #takeReply(frame: ReplyFrame): void {
    const onReply = this.#asked.get(frame.requestId);
    if (onReply === undefined) return; // late: the call was aborted, or is long answered
    if (isLastReply(frame)) this.#asked.delete(frame.requestId);
    onReply(frame);
  }

  #serve(frame: CallRequested): void {
    const { requestId, operationId } = frame;
    if (this.#served.has(requestId)) return;
    const onRequest = this.#owner.findServer(operationId);
    const refusal = onRequest === undefined ? this.#owner.notServed(operationId, this) : this.#served.refusal(frame);
    if (onRequest === undefined || refusal !== undefined) {
      return this.send(toFailedFrame(requestId, refusal!));
    }
    if (!this.#options.passesIdentity) delete frame.identity;
    const call = this.#served.add(frame);
    const now = monotonicNow();
    const age = this.#pings.ageOf(frame, now);
    if (age !== undefined) this.#begin(call, frame, onRequest, age, now);
    else this.#pings.hold(frame, (age, now) => this.#begin(call, frame, onRequest, age, now));
  }

  /** @param age how long it had been on its way, `now` */
  #begin(call: ServedCall, frame: CallRequested, onRequest: OnRequest, age: number, now: number): void {
    if (call.hasEnded) return;
    const { requestId, operationId, timeout } = frame;
    if (timeout !== undefined && age >= timeout) {
      this.#served.end(call);
      return this.send(toFailedFrame(requestId, timedOut(operationId, false)));
    }
    if (timeout !== undefined) {
      frame.timeout = Math.floor(timeout - age);
      frame.expiresAt = now + frame.timeout;
    }
    const reply: Reply = (answer) => {
      if (call.hasEnded || this.#isClosed) return;
      this.send(answer);
      if (isLastReply(answer)) this.#served.end(call);
      return this.#outbox.whenWritable();
    };
    call.follow(onRequest(frame, reply, this.#options.identity));
  }
}
