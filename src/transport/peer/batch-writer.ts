import { encode, type FrameLimits, type WireFrame } from "../codec/index.ts";
import type { BrokerAdapter } from "./broker-adapter.ts";
import type { Channel } from "./connection.ts";

/** In characters. Small enough for a remote peer to begin while more is written. */
const maxChannelBatch = 4 * 1024;
/** Above this many bytes a sender waits, so that little is lost and memory stays small when the reader is slow. */
const highWaterBytes = 1024 * 1024;
/** How often, in ms, a full channel is checked; no event common to all channels reports that it has emptied. */
const drainCheckMs = 4;
/** After this many characters a sender waits for the next turn, so that other work is done in between. */
const maxShare = 256 * 1024;
/** How long, in ms, a reader with a full backlog may make no progress. */
const maxStuckMs = 1_000;

/** What a sender line begins with. No frame begins like this. */
const senderMark = "@";
/** In characters. Addresses are short, and kept. */
const maxSenderLength = 1_024;

/** Runs a function at the end of this turn: after all promises where the runtime allows that, else between them. */
export const defer: (run: () => void) => void = typeof setImmediate === "function" ? setImmediate : queueMicrotask;

/** Runs a function in another turn, after promises and I/O. */
const deferTurn: (run: () => void) => void = typeof setImmediate === "function" ? setImmediate : setTimeout;

/**
 * Gathers the frames that go to one peer in one turn into one message, because a message costs many times what a frame
 * does. Frames are separated by line feeds; the JSON of a frame does not contain any.
 */
export abstract class BatchWriter {
  /** Maximum length of a message of several frames, in characters. */
  maxBatch: number;
  /** The frames of this turn. */
  protected batch = "";
  #isDeferred = false;

  constructor(maxBatch: number) {
    this.maxBatch = maxBatch;
  }

  /** Whether all frames have left. */
  get isEmpty(): boolean {
    return this.batch === "";
  }

  push(line: string): void {
    if (this.batch === "") this.batch = line;
    else if (this.batch.length + line.length < this.maxBatch) this.batch += `\n${line}`;
    else {
      this.flush();
      this.batch = line;
    }
    if (this.batch.length >= this.maxBatch) this.flush();
    else if (!this.#isDeferred) {
      this.#isDeferred = true;
      defer(this.#flushDeferred);
    }
  }

  /** Sends what waits. */
  flush(): void {
    if (this.batch === "") return;
    const message = this.batch;
    this.batch = "";
    this.write(message);
  }

  /** Sends one message. Does not throw. */
  protected abstract write(message: string): void;

  readonly #flushDeferred = (): void => {
    this.#isDeferred = false;
    this.flush();
  };
}

/** Writes to a channel in batches, and watches how much of it waits: memory stays bounded, and a burst breaks nothing. */
export class ChannelWriter extends BatchWriter {
  readonly #channel: Channel;
  readonly #maxBuffered: number;
  readonly #onFailure: (error: Error) => void;
  #isClosed = false;
  /** Characters that were sent since a sender last waited. */
  #share = 0;
  #drained: Promise<void> | undefined;
  #stuckTimer: ReturnType<typeof setTimeout> | undefined;

  /**
   * @param maxBuffered maximum number of bytes that wait for the reader; above twice as many it is stuck immediately
   * @param onFailure called when the channel fails, or its reader makes no progress for a second with a full backlog
   */
  constructor(channel: Channel, maxBuffered: number, onFailure: (error: Error) => void) {
    super(maxChannelBatch);
    this.#channel = channel;
    this.#maxBuffered = maxBuffered;
    this.#onFailure = onFailure;
  }

  /** How many bytes, roughly, have not left yet. */
  get bufferedAmount(): number {
    return this.batch.length + this.#channel.bufferedAmount;
  }

  /** A promise that resolves when the sender may go on, or `undefined` when it may do so now. */
  whenWritable(): Promise<void> | undefined {
    if (this.#share <= maxShare && this.#channel.bufferedAmount <= highWaterBytes) return undefined;
    if (this.#isClosed) return undefined;
    this.#drained ??= new Promise((resolve) => {
      const check = () => {
        this.#share = 0;
        if (!this.#isClosed && this.#channel.bufferedAmount > highWaterBytes) setTimeout(check, drainCheckMs);
        else {
          this.#drained = undefined;
          resolve();
        }
      };
      deferTurn(check);
    });
    return this.#drained;
  }

  /** Sends what waits, and nothing after that. */
  close(): void {
    this.flush();
    this.#isClosed = true;
    clearTimeout(this.#stuckTimer);
  }

  protected override write(message: string): void {
    if (this.#isClosed) return;
    this.#share += message.length;
    try {
      this.#channel.send(message);
    } catch (error) {
      return this.#onFailure(error as Error);
    }
    if (this.bufferedAmount > this.#maxBuffered) this.#checkProgress();
  }

  #checkProgress(): void {
    const fail = () => this.#onFailure(new Error("The peer reads too slowly"));
    const before = this.bufferedAmount;
    if (before > 2 * this.#maxBuffered) return fail();
    this.#stuckTimer ??= setTimeout(() => {
      this.#stuckTimer = undefined;
      if (this.bufferedAmount <= this.#maxBuffered) return;
      if (this.bufferedAmount < before) this.#checkProgress();
      else fail();
    }, maxStuckMs);
  }
}

/** Splits a message into its frames. Stops when `read` returns false; `start` is where the first frame begins. */
export function readLines(message: string, start: number, read: (line: string) => boolean): void {
  let from = start;
  for (let end = message.indexOf("\n", from); end !== -1; end = message.indexOf("\n", from)) {
    if (!read(message.slice(from, end))) return;
    from = end + 1;
  }
  read(from === 0 ? message : message.slice(from));
}

/**
 * Reads the sender's address from the first line of a message: a peer can only follow up on its own calls. Returns the
 * address, empty when it is missing, and where the frames begin; `undefined` when the line is too long.
 */
export function readSender(message: string): { from: string; start: number } | undefined {
  if (!message.startsWith(senderMark)) return { from: "", start: 0 };
  const end = message.indexOf("\n");
  if (end < 0 || end > maxSenderLength) return undefined;
  return { from: message.slice(senderMark.length, end), start: end + 1 };
}

/** The limits of frames on a broker: those of this peer and of the broker. */
export class FrameSender implements FrameLimits {
  readonly jsonDepth: number;
  readonly #adapter: BrokerAdapter;
  readonly #maxMessage: number;

  constructor(adapter: BrokerAdapter, { maxMessage, jsonDepth }: FrameLimits) {
    this.jsonDepth = jsonDepth;
    this.#adapter = adapter;
    this.#maxMessage = maxMessage;
  }

  /** Largest message that may be sent now, in bytes. The broker's limit is known once connected, and may change. */
  get maxMessage(): number {
    return Math.min(this.#maxMessage, this.#adapter.maxMessage);
  }

  /** A message with this peer's address as its sender. Throws a `CallError` when a frame cannot be sent. */
  sign(...frames: WireFrame[]): string {
    return `${senderMark}${this.#adapter.address}\n${frames.map((frame) => encode(frame, this)).join("\n")}`;
  }

  gossip(frame: WireFrame): void {
    if (this.#adapter.isConnected) this.#adapter.gossip(encode(frame, this));
  }
}
