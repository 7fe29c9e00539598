import { logger } from "../../internal/log.ts";
import type { RedisClient } from "./client.ts";
import { group, joinScript, type Keys } from "./streams.ts";

const log = logger("transport", "redis");

/** Number of streams that one heartbeat checks for consumers that are no longer alive. */
const checkedPerBeat = 100;

/** The membership of one worker in the consumer groups of its streams. */
export class Membership {
  readonly #client: RedisClient;
  readonly #keys: Keys;
  readonly #consumer: string;
  readonly #heartbeat: number;
  /** Keys whose value is not a stream. */
  readonly #refused = new Set<string>();
  #checked = 0;

  constructor(client: RedisClient, keys: Keys, consumer: string, heartbeat: number) {
    this.#client = client;
    this.#keys = keys;
    this.#consumer = consumer;
    this.#heartbeat = heartbeat;
  }

  /** Returns false if the key is known not to be a stream. */
  isStream(key: string): boolean {
    return !this.#refused.has(key);
  }

  /** Joins the groups of streams, and creates missing ones. Calls `isWanted` after marking this worker as alive. */
  async join(keys: readonly string[], isWanted: (key: string) => boolean): Promise<void> {
    await this.#setAlive();
    await this.#enter(keys.filter(isWanted));
  }

  /** Sends a heartbeat and restores missing streams, a few at a time. */
  async beat(keys: readonly string[]): Promise<void> {
    if (!(await this.#setAlive())) return this.#enter(keys); // other workers have removed this one
    const start = this.#checked < keys.length ? this.#checked : 0;
    this.#checked = start + checkedPerBeat;
    const due = new Set(keys.slice(start, this.#checked));
    for (const key of keys) if (this.#refused.has(key)) due.add(key);
    await this.#enter([...due]);
  }

  async leave(): Promise<void> {
    await this.#client.sendCommand(["DEL", this.#keys.alive + this.#consumer]);
  }

  async #enter(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    const args = [group, this.#consumer, this.#keys.alive];
    const reply = await this.#client.sendCommand(["EVAL", joinScript, String(keys.length), ...keys, ...args]);
    const refused = new Set(reply as string[]);
    for (const key of keys) {
      if (!refused.has(key)) this.#refused.delete(key);
      else if (!this.#refused.has(key)) {
        this.#refused.add(key);
        log.error("The key {key} is not a stream. Remove it, and its operation will be served.", { key });
      }
    }
  }

  /** Returns whether this worker counted as alive before. */
  async #setAlive(): Promise<boolean> {
    const args = ["1", "PX", String(3 * this.#heartbeat), "GET"];
    return (await this.#client.sendCommand(["SET", this.#keys.alive + this.#consumer, ...args])) !== null;
  }
}
