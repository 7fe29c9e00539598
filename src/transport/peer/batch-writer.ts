import { deferTurn } from "../../internal/timers.ts";
import type { Channel } from "./connection.ts";

/** In characters. Small enough that a remote peer can start reading while further frames are written. */
const maxChannelBatch = 4 * 1024;
/**
 * Maximum number of bytes that wait for a slow peer. Above it new calls are refused. A peer that then reads nothing for a
 * second, or for which twice as much is waiting, is disconnected.
 */
export const maxBufferedBytes = 16 * 1024 * 1024;
/** Above this many buffered bytes, a sender waits. This limits data loss and memory use when the reader is slow. */
const highWaterBytes = 1024 * 1024;
/** Interval between checks of a full channel, in ms. Not every channel emits an event when its buffer has drained. */
const drainCheckMs = 4;
/** After this many characters, a sender waits for the next turn, so that other work can run in between. */
const maxShare = 256 * 1024;
/** Maximum time, in ms, without progress of a reader whose backlog is full. */
const maxStuckMs = 1_000;

/** Runs a function at the end of this turn. It runs after all promise callbacks if the runtime supports that. */
export const defer: (run: () => void) => void = typeof setImmediate === "function" ? setImmediate : queueMicrotask;

/**
 * Combines the frames that are sent to one peer in one turn into one message, because a message costs many times as
 * much as a frame. Frames are separated by line feeds, which the JSON of a frame does not contain.
 */
export abstract class BatchWriter {
  /** Maximum length of a message with several frames, in characters. */
  maxBatch: number;
  /** The frames of this turn. */
  protected batch = "";
  #isDeferred = false;

  constructor(maxBatch: number) {
    this.maxBatch = maxBatch;
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

  /** Sends the frames that are still in the batch. */
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

/** Writes to a channel in batches, and monitors the buffered bytes, so that memory stays bounded during bursts. */
export class ChannelWriter extends BatchWriter {
  readonly #channel: Channel;
  readonly #onFailure: (error: Error) => void;
  #isClosed = false;
  /** Number of characters that were sent since a sender last waited. */
  #share = 0;
  #drained: Promise<void> | undefined;
  #stuckTimer: ReturnType<typeof setTimeout> | undefined;

  /** @param onFailure called when the channel fails, or its peer reads too slowly */
  constructor(channel: Channel, onFailure: (error: Error) => void) {
    super(maxChannelBatch);
    this.#channel = channel;
    this.#onFailure = onFailure;
  }

  /** Approximate number of bytes that were not sent yet. */
  get bufferedAmount(): number {
    return this.batch.length + this.#channel.bufferedAmount;
  }

  /** Returns a promise that resolves when the sender may continue, or `undefined` when it may continue immediately. */
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

  /** Sends the frames that are still in the batch, and ignores later frames. */
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
    if (this.bufferedAmount > maxBufferedBytes) this.#checkProgress();
  }

  #checkProgress(): void {
    const fail = () => this.#onFailure(new Error("The peer reads too slowly"));
    const before = this.bufferedAmount;
    if (before > 2 * maxBufferedBytes) return fail();
    this.#stuckTimer ??= setTimeout(() => {
      this.#stuckTimer = undefined;
      if (this.bufferedAmount <= maxBufferedBytes) return;
      if (this.bufferedAmount < before) this.#checkProgress();
      else fail();
    }, maxStuckMs);
  }
}

/** Splits a message into its frames. Stops when `read` returns false. `start` is the index of the first frame. */
export function readLines(message: string, start: number, read: (line: string) => boolean): void {
  let from = start;
  for (let end = message.indexOf("\n", from); end !== -1; end = message.indexOf("\n", from)) {
    if (!read(message.slice(from, end))) return;
    from = end + 1;
  }
  read(from === 0 ? message : message.slice(from));
}
