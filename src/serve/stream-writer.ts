import { logger, reportFailure } from "../internal/log.ts";
import { deferTurn, startTimer } from "../internal/timers.ts";

const log = logger("serve");

/** Writes the body of a stream. `write` resolves when the client has room for more, and rejects when it has disconnected. */
export type RunStream = (write: (text: string) => Promise<void>) => Promise<void>;

/** What is written to a stream that is idle, so that proxies do not close it. */
export interface Heartbeat {
  /** What is written. */
  readonly text: string;
  /** Time in ms between two of them. */
  readonly everyMs: number;
}

/** The client of a stream. */
export interface TextSink {
  /** Sends the headers, if they were not sent, and the text. Resolves when the client has room, rejects when it is gone. */
  write(text: string): Promise<void>;
  end(): void;
  /** Ends the connection, so that the client sees that the body is incomplete. */
  breakOff(error: unknown): void;
}

/** Maximum number of characters that a stream may be ahead of its client. A single part may exceed it. */
const maxCharactersAhead = 64 * 1024;

/** Writes a stream to its client. Never rejects. */
export async function runStream(sink: TextSink, run: RunStream, heartbeat?: Heartbeat): Promise<void> {
  const writer = new StreamWriter(sink);
  if (heartbeat !== undefined) startBeating(heartbeat, writer);
  try {
    await run(writer.write);
    await writer.flushing;
    sink.end();
  } catch (error) {
    sink.breakOff(error);
    if (!writer.isBroken) reportFailure(log, "A stream broke off: {error}", error);
  } finally {
    if (heartbeat !== undefined) beating.get(heartbeat)?.delete(writer);
  }
}

/** Collects what is written in one turn. A class, because there may be many idle streams. */
class StreamWriter {
  isBroken = false;
  /** Settles when everything was sent; `undefined` while nothing waits. */
  flushing: Promise<void> | undefined = undefined;
  readonly #sink: TextSink;
  #text = "";

  constructor(sink: TextSink) {
    this.#sink = sink;
    this.#startFlushing(); // Sends the headers, also without a first part.
  }

  readonly write = (added: string): Promise<void> => {
    if (!this.isBroken) this.#text += added;
    const flushing = this.flushing ?? this.#startFlushing();
    return this.isBroken || this.#text.length >= maxCharactersAhead ? flushing : hasRoom;
  };

  #startFlushing(): Promise<void> {
    this.flushing = this.#flush();
    this.flushing.catch(() => {
      this.isBroken = true;
    });
    return this.flushing;
  }

  async #flush(): Promise<void> {
    await new Promise<void>(deferTurn); // What is written until then shares one write.
    do {
      const part = this.#text;
      this.#text = "";
      await this.#sink.write(part);
    } while (this.#text !== "");
    this.flushing = undefined;
  }
}

/** The streams of each heartbeat, which share a timer. */
const beating = new Map<Heartbeat, Set<StreamWriter>>();

/** Writes the heartbeat to a stream whenever it is idle, until the stream is removed from `beating`. */
function startBeating(heartbeat: Heartbeat, writer: StreamWriter): void {
  const known = beating.get(heartbeat);
  if (known !== undefined) return void known.add(writer);
  const writers = new Set([writer]);
  beating.set(heartbeat, writers);
  const beatLater = () => startTimer(beat, heartbeat.everyMs, { keepsAlive: false });
  const beat = () => {
    for (const each of writers) if (each.flushing === undefined) void each.write(heartbeat.text);
    if (writers.size > 0) beatLater();
    else beating.delete(heartbeat);
  };
  beatLater();
}

const hasRoom = Promise.resolve();
