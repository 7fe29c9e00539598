import type { Channel } from "./channel.ts";

/** Frames wait for company up to this many characters. Few enough for the other side to begin while more are written. */
const fullBatch = 4 * 1024;
/** Above this many bytes a sender should wait, so that little is lost and no memory filled when the reader is slow. */
const highWater = 1024 * 1024;
/** How often, in ms, a full channel is asked whether it has emptied; no common event tells it. */
const drainCheck = 4;
/** After this many characters a sender should wait for a turn, so that others have one too. */
const fairShare = 256 * 1024;

/** Runs a function when what is going on now is done: after all promises where that can be had, else between them. */
const defer: (run: () => void) => void = typeof setImmediate === "function" ? setImmediate : queueMicrotask;

/** Runs a function after all else that is due, promises or not. */
const inNextTurn: (run: () => void) => void = typeof setImmediate === "function" ? setImmediate : setTimeout;

/**
 * Gathers the frames that are sent in one turn into one message, because a message costs many times what a frame does.
 * Line feeds stand between frames; JSON has none of its own.
 */
export class Outbox {
  readonly #channel: Channel;
  readonly #onFailure: (error: Error) => void;
  #waiting = "";
  /** What was sent since a sender last waited, in characters. */
  #share = 0;
  #isDeferred = false;
  #isClosed = false;
  #drained: Promise<void> | undefined;

  constructor(channel: Channel, onFailure: (error: Error) => void) {
    this.#channel = channel;
    this.#onFailure = onFailure;
  }

  get bufferedAmount(): number {
    return this.#waiting.length + this.#channel.bufferedAmount;
  }

  push(text: string): void {
    this.#share += text.length;
    if (this.#waiting === "") this.#waiting = text;
    else if (this.#waiting.length + text.length < fullBatch) this.#waiting += `\n${text}`;
    else {
      this.flush();
      this.#waiting = text;
    }
    if (this.#waiting.length >= fullBatch) this.flush();
    else if (!this.#isDeferred) {
      this.#isDeferred = true;
      defer(this.#flushDeferred);
    }
  }

  /** A promise that resolves when it is the sender's turn and the channel has room again, or nothing while it has. */
  whenWritable(): Promise<void> | undefined {
    const isFull = this.#channel.bufferedAmount > highWater || this.#share > fairShare;
    if (this.#isClosed || !isFull) return undefined;
    this.#drained ??= new Promise((resolve) => {
      const check = () => {
        this.#share = 0;
        if (!this.#isClosed && this.#channel.bufferedAmount > highWater) setTimeout(check, drainCheck);
        else {
          this.#drained = undefined;
          resolve();
        }
      };
      inNextTurn(check);
    });
    return this.#drained;
  }

  flush(): void {
    if (this.#waiting === "" || this.#isClosed) return;
    const text = this.#waiting;
    this.#waiting = "";
    try {
      this.#channel.send(text);
    } catch (error) {
      this.#onFailure(error as Error);
    }
  }

  /** Sends what is waiting, and nothing any more. */
  close(): void {
    this.flush();
    this.#isClosed = true;
  }

  readonly #flushDeferred = (): void => {
    this.#isDeferred = false;
    this.flush();
  };
}
