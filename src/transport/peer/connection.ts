import { clientLogger } from "../../internal/client-log.ts";
import { notify } from "../../internal/emitter.ts";
import {
  type Identity,
  type Limits,
  type OperationSpec,
  operationNotFound,
  overloaded,
} from "../../operation/inside.ts";
import { decode, encode, type FrameLimits, type OtherFrame, type WireFrame, wireVersion } from "../codec/index.ts";
import {
  type CallRequested,
  type FollowUp,
  type PeerAnnounced,
  type ReplyFrame,
  type SendFollowUp,
  toFailedFrame,
} from "../transport.ts";
import { ChannelWriter, maxBufferedBytes, readLines } from "./batch-writer.ts";
import { linkLost } from "./errors.ts";
import { type Pulse, startHeartbeat } from "./heartbeat.ts";
import type { IncomingCalls, RemotePeer } from "./incoming-calls.ts";
import { type CallRef, OutgoingCalls, readCallRefs } from "./outgoing-calls.ts";
import { PeerQuestions } from "./peer-questions.ts";
import type { ServingPeer } from "./serving-peer.ts";

const log = clientLogger("transport", "peer");

/** In bytes. A peer with a lower limit could not receive an error. */
const minMaxMessage = 1024;
/** A peer that claims to serve more operations is disconnected, because they would fill this peer's memory. */
const maxOperations = 100_000;

/** Carries whole messages, in order, between two peers, such as a socket, port or pipe. Implemented by each wire. */
export interface Channel {
  /** Throws when the channel has failed. */
  send(message: string): void;
  /** Number of bytes that were passed to `send` and not sent yet. 0 if it is unknown. */
  readonly bufferedAmount: number;
  /** Number of received bytes, if it is known. A long message counts as a heartbeat before it is complete. */
  readonly receivedBytes?: number;
  /** Releases the socket or port. `reason` is present when the connection failed. */
  close(reason?: Error): void;
}

/** The limits of a connection and the permissions of the remote peer. */
export interface ConnectionOptions {
  limits: Readonly<Required<Limits>>;
  /** Maximum size of a received message, in bytes. @default `maxMessage` of the limits, as for sent messages */
  maxReceived?: number;
  /** Milliseconds between heartbeats. 0 disables them. */
  heartbeat: number;
  /** The identity that the channel has authenticated. It is read for each call. */
  readonly identity?: Identity | undefined;
  /** Whether the remote peer may serve operations to this one. */
  acceptsOperations: boolean;
  /** Whether the `identity` field of a request is passed to the handler. Otherwise it is removed. */
  passesIdentity: boolean;
  /** Returns whether an operation is announced to the remote peer. @default all operations are announced */
  shows?: (spec: OperationSpec) => boolean;
}

/** The transport that a connection belongs to. */
export interface ConnectionOwner {
  /** Names the transport in errors. */
  readonly name: string;
  /** `undefined` when this peer only makes calls. */
  readonly serving: ServingPeer | undefined;
  onAnnounced(connection: Connection, event: PeerAnnounced): void;
  onLost(connection: Connection, error: Error | undefined): void;
}

/** One peer at the other end of a channel: the calls in both directions, and its heartbeat. */
export class Connection implements RemotePeer, Pulse {
  /** The operations that the remote peer serves. */
  readonly operationIds = new Set<string>();
  /** The ids that a restricted peer knows. */
  shownIds: ReadonlySet<string> = new Set();
  readonly options: ConnectionOptions;
  /** The calls that run here for the remote peer. `undefined` when this peer only makes calls. */
  readonly incoming: IncomingCalls | undefined;
  /** Id that the remote peer has sent. Empty until its `link.opened` has arrived. */
  peerId = "";
  readonly #owner: ConnectionOwner;
  readonly #channel: Channel;
  readonly #writer: ChannelWriter;
  readonly #outgoing = new OutgoingCalls();
  readonly #questions = new PeerQuestions();
  readonly #receiveLimits: FrameLimits;
  /** The smaller of the limits of both peers. */
  #sendLimits: FrameLimits;
  #stopHeartbeat: () => void = () => {};
  #received = 0;
  /** Number of aborts that the remote peer may not have received yet. */
  #unconfirmedAborts = 0;
  #isClosed = false;

  constructor(owner: ConnectionOwner, channel: Channel, options: ConnectionOptions) {
    this.#owner = owner;
    this.#channel = channel;
    this.options = options;
    const { limits, maxReceived = limits.maxMessage } = options;
    this.#sendLimits = limits;
    this.#receiveLimits = { maxMessage: maxReceived, jsonDepth: limits.jsonDepth };
    this.#writer = new ChannelWriter(channel, (error) => this.close(error));
    this.incoming = owner.serving?.createCalls(this, this.#questions);
    this.watch(options.heartbeat);
  }

  /** Number of calls that the remote peer may be running for this one. A paused peer has not handled aborts yet. */
  get pending(): number {
    return this.#outgoing.size + this.#unconfirmedAborts;
  }

  get identity(): Identity | undefined {
    return this.options.identity;
  }

  /** Maximum size of a message to the remote peer, in bytes. */
  get maxMessage(): number {
    return this.#sendLimits.maxMessage;
  }

  get receivedCount(): number {
    return this.#received + (this.#channel.receivedBytes ?? 0);
  }

  get bufferedAmount(): number {
    return this.#writer.bufferedAmount;
  }

  get isOpen(): boolean {
    return !this.#isClosed;
  }

  /** Sends one request. Throws a `CallError` when it cannot be sent or a limit is reached. */
  request(frame: CallRequested, onReply: (frame: ReplyFrame) => void): SendFollowUp {
    const { requestId } = frame;
    if (this.#isClosed) throw linkLost(this.#owner.name, undefined, false);
    if (this.#writer.bufferedAmount > maxBufferedBytes) {
      throw overloaded("Too many bytes wait to be sent on this connection", maxBufferedBytes);
    }
    frame.sentAt = Math.floor(performance.now());
    const line = encode(frame, this.#sendLimits);
    const call = { onReply };
    // Add the call before sending, because sending may detect that the connection is lost.
    this.#outgoing.add(requestId, call);
    this.#writer.push(line);
    return (followUp) => {
      if (this.#outgoing.get(requestId) !== call) return;
      const isAbort = followUp.type === "call.aborted";
      if (isAbort) this.#outgoing.delete(requestId);
      this.send(followUp);
      if (isAbort) this.#noteAborted();
    };
  }

  /** Sends any frame. Throws a `CallError` when it cannot be sent. Drops it when the connection is lost. */
  send(frame: WireFrame): Promise<void> | undefined {
    if (this.#isClosed) return undefined;
    this.#writer.push(encode(frame, this.#sendLimits));
    return this.#writer.whenWritable();
  }

  /** Resolves when the remote peer has handled everything that was sent before, or is gone. */
  sync(): Promise<void> {
    return this.#isClosed ? Promise.resolve() : new Promise((resolve) => this.ping(resolve));
  }

  /** Requests a reply. `onReply` is called when it has arrived, and with it all earlier frames. */
  ping(onReply?: () => void): void {
    // A peer that serves also needs the remote clock, which determines the age of requests.
    if (this.incoming !== undefined) this.incoming.measureClock(onReply);
    else this.#questions.ask((question) => this.ask(question, []), onReply);
  }

  /** Sends a question for the remote clock, and for those of `calls` that the remote peer no longer waits for. */
  ask(question: string, calls: readonly CallRef[]): void {
    this.send({ type: "link.pinged", question, calls });
  }

  /** Ends the connection when the remote peer is silent for twice `interval`, in ms. 0 disables the check. */
  watch(interval: number): void {
    this.#stopHeartbeat();
    if (interval > 0 && !this.#isClosed) this.#stopHeartbeat = startHeartbeat(this, interval);
  }

  onSilence(): void {
    log.warn("{transport}: A peer has stopped responding. Its connection is closed.", { transport: this.#owner.name });
    this.close(new Error("The peer has stopped responding"));
  }

  /** Accepts a message from the channel. A malformed frame ends the connection, because calls may be lost with it. */
  receive(message: string | Uint8Array): void {
    if (this.#isClosed) return;
    this.#received++;
    if (typeof message === "string") readLines(message, 0, this.#read);
    else this.#read(message);
  }

  /** Ends the connection. Outgoing calls fail with `UNAVAILABLE`. Incoming calls are aborted. Does not throw. */
  close(error?: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopHeartbeat();
    if (error === undefined) this.#writer.push(encode({ type: "link.closed" }, this.#sendLimits));
    this.#writer.close();
    notify(() => this.#channel.close(error), this.#report("closing the channel"));
    this.#owner.onLost(this, error);
    const failure = linkLost(this.#owner.name, error, true);
    for (const [requestId] of this.#outgoing.entries()) {
      notify(() => this.#outgoing.fail(requestId, failure), this.#report("failing a call"));
    }
    this.incoming?.abortAll(error?.message ?? "the connection was closed");
    this.#questions.close();
  }

  #noteAborted(): void {
    this.#unconfirmedAborts += 1;
    if (this.#unconfirmedAborts > 1) return;
    this.ping(() => {
      this.#unconfirmedAborts = 0;
    });
  }

  /** Returns whether the rest of the message may be read. */
  readonly #read = (line: string | Uint8Array): boolean => {
    if (this.#isClosed) return false;
    let frame: WireFrame;
    try {
      frame = decode(line, this.#receiveLimits);
    } catch (error) {
      this.close(error as Error);
      return false;
    }
    try {
      this.#take(frame);
    } catch (error) {
      this.#report(`handling ${frame.type}`)(error);
    }
    return true;
  };

  #report(what: string): (error: unknown) => void {
    return (error) => log.error("{transport}: {what} failed: {error}", { transport: this.#owner.name, what, error });
  }

  #take(frame: WireFrame): void {
    switch (frame.type) {
      case "call.requested":
        return this.#serve(frame as CallRequested);
      case "call.credited":
      case "call.aborted":
        return this.incoming?.follow(frame as FollowUp);
      case "call.responded":
      case "call.progressed":
      case "call.completed":
      case "call.error":
        return this.#outgoing.deliver(frame as ReplyFrame);
      case "peer.announced":
        if (this.options.acceptsOperations) this.#owner.onAnnounced(this, frame as PeerAnnounced);
        return;
      case "link.opened":
        return this.#open(frame as OtherFrame);
      case "link.serves":
      case "link.stopped":
        return this.#noteOperations(frame as OtherFrame);
      case "link.pinged":
        return this.#reportClock(frame as OtherFrame);
      case "link.ponged":
        return void this.#questions.takeReply(frame as OtherFrame);
      case "link.closed":
        return this.close(new Error("The peer closed the connection"));
    }
  }

  #open({ version, peerId, maxMessage }: OtherFrame): void {
    if (version !== wireVersion) {
      return this.close(new Error(`The peer uses another version of the wire format than ${wireVersion}`));
    }
    if (typeof maxMessage === "number" && maxMessage < this.#sendLimits.maxMessage) {
      if (maxMessage < minMaxMessage) {
        return this.close(new Error(`The peer's maxMessage is below ${minMaxMessage} bytes`));
      }
      this.#sendLimits = { maxMessage, jsonDepth: this.#sendLimits.jsonDepth };
    }
    this.peerId = typeof peerId === "string" ? peerId.slice(0, 256) : "";
  }

  #noteOperations({ type, operationIds }: OtherFrame): void {
    if (!this.options.acceptsOperations || !Array.isArray(operationIds)) return;
    for (const id of operationIds) {
      if (type === "link.stopped") this.operationIds.delete(id);
      else if (typeof id === "string") this.operationIds.add(id);
    }
    if (this.operationIds.size <= maxOperations) return;
    this.close(new Error(`The peer serves more than ${maxOperations} operations`));
  }

  /** Replies with this peer's clock, and with the delayed requests that this peer no longer waits for. */
  #reportClock({ question, calls }: OtherFrame): void {
    const withdrawn = (readCallRefs(calls) ?? []).filter((ref) => !this.#outgoing.isWaitingFor(ref));
    this.send({ type: "link.ponged", question, clock: performance.now(), withdrawn });
  }

  #serve(frame: CallRequested): void {
    if (this.incoming !== undefined) return this.#owner.serving?.run(this, this.incoming, frame);
    this.send(toFailedFrame(frame.requestId, operationNotFound(frame.operationId)));
  }
}
