import { setTimeout as delay } from "node:timers/promises";
import { logger } from "../../internal/log.ts";
import { settlesWithin } from "../../internal/wait.ts";
import type { RedisClient } from "./client.ts";
import { group, readEntries, type StreamEntry } from "./streams.ts";

const log = logger("transport", "redis");

/**
 * Number of requests that one read returns from each stream. It is low at first, so that workers share a short queue.
 * While the queue is longer, a read returns as many more as requests have ended since the last read. So a worker whose
 * requests take long leaves the queue to the others.
 */
const batch = { min: 2, max: 256 };
/** Delay before the next attempt, in ms. */
const retryMs = 50;
/** Maximum time to wait for an unresponsive server, in ms. */
const maxWaitMs = 1_500;

/** The part of the adapter that a reader uses. */
export interface StreamReaderHost {
  readonly consumer: string;
  /** Maximum time that one read waits, in ms: the maximum silence of its connection. */
  readonly block: number;
  /** Number of requests that this worker is running. */
  readonly runningRequests: number;
  /** Returns false if the key is known not to be a stream. One such key would make the read of all keys fail. */
  isStream(key: string): boolean;
  onEntries(key: string, entries: StreamEntry[]): void;
  /** Recreates missing streams. */
  rejoin(): Promise<void>;
}

/** Reads requests from streams. It has its own connection, because a read blocks the connection. */
export class StreamReader {
  readonly #client: RedisClient;
  readonly #commands: RedisClient;
  readonly #host: StreamReaderHost;
  readonly #keys = new Set<string>();
  /** The current read. */
  #turn: Promise<void> | undefined;
  /** The id of the connection on the server. */
  #clientId: string | undefined;
  #isClosed = false;
  #isFailing = false;
  #batch: number = batch.min;
  /** Number of running requests after the last read. */
  #runningAfterRead = 0;
  #running: Promise<void> | undefined;

  constructor(client: RedisClient, commands: RedisClient, host: StreamReaderHost) {
    this.#client = client;
    this.#commands = commands;
    this.#host = host;
  }

  async add(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#keys.add(key);
    this.#running ??= this.#run();
    await this.interrupt();
  }

  /** Resolves when no further request from these streams can arrive. */
  async remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#keys.delete(key);
    await this.interrupt();
  }

  /** Requests the id of the connection. Call after every connect. */
  async identify(): Promise<void> {
    this.#clientId = String(await this.#client.sendCommand(["CLIENT", "ID"]));
  }

  /** Stops reading. Call after all streams were removed. */
  close(): void {
    this.#isClosed = true;
  }

  /** Ends the current read, whose list of streams may be out of date. */
  async interrupt(): Promise<void> {
    if (this.#turn !== undefined) await settlesWithin(maxWaitMs, this.#unblock(this.#turn));
  }

  async #unblock(turn: Promise<void>): Promise<void> {
    let isOver = false;
    const over = turn.then(() => {
      isOver = true;
    });
    while (!isOver) {
      // If the read has not reached the server yet, nothing is interrupted, and another attempt follows.
      if (this.#clientId !== undefined && this.#commands.isReady) {
        await this.#commands.sendCommand(["CLIENT", "UNBLOCK", this.#clientId]).catch(() => {});
      }
      await Promise.race([over, delay(retryMs)]);
    }
  }

  async #run(): Promise<void> {
    while (!this.#isClosed && this.#keys.size > 0) {
      this.#turn = this.#read();
      await this.#turn;
    }
    this.#turn = undefined;
    this.#running = undefined;
  }

  async #read(): Promise<void> {
    const { consumer, block } = this.#host;
    const keys = [...this.#keys].filter((key) => this.#host.isStream(key));
    if (keys.length === 0) return void (await delay(retryMs));
    const options = ["GROUP", group, consumer, "COUNT", String(this.#batch), "BLOCK", String(block), "NOACK"];
    try {
      const reply = await this.#client.sendCommand([
        "XREADGROUP",
        ...options,
        "STREAMS",
        ...keys,
        ...keys.map(() => ">"),
      ]);
      this.#isFailing = false;
      const ended = this.#runningAfterRead - this.#host.runningRequests;
      let most = 0;
      for (const [key, items] of Array.isArray(reply) ? (reply as Array<[string, unknown]>) : []) {
        const entries = readEntries(items);
        most = Math.max(most, entries.length);
        this.#host.onEntries(key, entries);
      }
      this.#batch = most < this.#batch ? batch.min : Math.min(batch.min + Math.max(ended, 0), batch.max);
      this.#runningAfterRead = this.#host.runningRequests;
    } catch (error) {
      await this.#recover(error as Error);
    }
  }

  async #recover(error: Error): Promise<void> {
    if (this.#isClosed) return;
    // A stream is missing: the server was emptied, another worker removed this one, or a program replaced the stream.
    if (/^(NOGROUP|UNBLOCKED|WRONGTYPE)/.test(error.message)) {
      await this.#host.rejoin().catch((cause) => log.debug("Streams could not be created again: {cause}", { cause }));
    } else if (!this.#isFailing) log.warn("Requests cannot be read: {error}", { error });
    this.#isFailing = true;
    if (!this.#isClosed) await delay(retryMs);
  }
}
