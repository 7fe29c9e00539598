import { setTimeout as delay } from "node:timers/promises";
import { logger } from "../../internal/log.ts";
import { settlesWithin } from "../../internal/wait.ts";
import type { RedisClient } from "./client.ts";
import { type Entry, readEntries } from "./entries.ts";
import { group } from "./keys.ts";

const log = logger("transport", "redis");

/**
 * How many requests are taken in one read from each stream. While few wait, a worker takes few, so that others get
 * their share; as long as there are more than it asked for, it asks for twice as many.
 */
const batch = { min: 2, max: 256 };
/** How long, in ms, to wait before trying again. */
const pause = 50;
/** How long, in ms, to wait for a server that does not reply. */
const maxWaitMs = 1_500;

/** What a reader needs of its adapter. */
export interface ReaderHost {
  readonly consumer: string;
  /** How long one read waits, in ms: what its connection is silent at most. */
  readonly block: number;
  /** Whether the key holds a stream, as far as is known. One read of all fails when one of them does not. */
  isStream(key: string): boolean;
  onEntries(key: string, entries: Entry[]): void;
  /** Makes the streams again that were there. */
  rejoin(): Promise<void>;
}

/** Takes requests from streams, on a connection of its own, because reading waits. */
export class Reader {
  readonly #client: RedisClient;
  readonly #commands: RedisClient;
  readonly #host: ReaderHost;
  readonly #keys = new Set<string>();
  /** The read that is going on. */
  #turn: Promise<void> | undefined;
  /** What the server calls the connection. */
  #clientId: string | undefined;
  #isClosed = false;
  #isFailing = false;
  #batch: number = batch.min;
  #running: Promise<void> | undefined;

  constructor(client: RedisClient, commands: RedisClient, host: ReaderHost) {
    this.#client = client;
    this.#commands = commands;
    this.#host = host;
  }

  async add(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#keys.add(key);
    this.#running ??= this.#run();
    await this.interrupt();
  }

  /** Resolves when nothing more can come from these streams. */
  async remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#keys.delete(key);
    await this.interrupt();
  }

  /** Learns the number of the connection. To be called whenever it is new. */
  async identify(): Promise<void> {
    this.#clientId = String(await this.#client.sendCommand(["CLIENT", "ID"]));
  }

  /** Reads no more. To be called when all streams were removed. */
  close(): void {
    this.#isClosed = true;
  }

  /** Ends the read that is going on, which may wait for streams that changed. */
  async interrupt(): Promise<void> {
    if (this.#turn !== undefined) await settlesWithin(maxWaitMs, this.#unblock(this.#turn));
  }

  async #unblock(turn: Promise<void>): Promise<void> {
    let isOver = false;
    const over = turn.then(() => {
      isOver = true;
    });
    while (!isOver) {
      // The read may not have reached the server yet: then nothing is interrupted, and it is tried again.
      if (this.#clientId !== undefined && this.#commands.isReady) {
        await this.#commands.sendCommand(["CLIENT", "UNBLOCK", this.#clientId]).catch(() => {});
      }
      await Promise.race([over, delay(pause)]);
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
    if (keys.length === 0) return void (await delay(pause));
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
      let most = 0;
      for (const [key, items] of Array.isArray(reply) ? (reply as Array<[string, unknown]>) : []) {
        const entries = readEntries(items);
        most = Math.max(most, entries.length);
        this.#host.onEntries(key, entries);
      }
      this.#batch = most < this.#batch ? batch.min : Math.min(2 * this.#batch, batch.max);
    } catch (error) {
      await this.#recover(error as Error);
    }
  }

  async #recover(error: Error): Promise<void> {
    if (this.#isClosed) return;
    // A stream is gone: the server was emptied, a worker has taken this one for dead, or a program replaced it.
    if (/^(NOGROUP|UNBLOCKED|WRONGTYPE)/.test(error.message)) {
      await this.#host.rejoin().catch((cause) => log.debug("Streams could not be made again: {cause}", { cause }));
    } else if (!this.#isFailing) log.warn("Requests cannot be read: {error}", { error });
    this.#isFailing = true;
    if (!this.#isClosed) await delay(pause);
  }
}
