import type { RedisClient } from "./client.ts";
import { type Entry, readEntries } from "./entries.ts";
import { group, type Keys } from "./keys.ts";

/** A request that this many workers died with is not given to another. */
const maxDeliveries = 3;
/** How many are looked at in one go. */
const page = 100;
/** How many of those that were given up are kept to be looked at. */
const maxDead = 1_000;

/** What Redis says of a request that was taken and not settled, and of a consumer. */
type Pending = [id: string, owner: string, idle: number, deliveries: number];
type Consumer = [string, name: string, string, pending: number, string, idle: number];

/** What becomes of requests whose worker died. */
export interface ClaimEvents {
  onEntry(key: string, entry: Entry): void;
  onPoison(entry: Entry): void;
}

/** Takes over what dead workers have left, for operations that may run more than once. */
export class Claims {
  readonly #client: RedisClient;
  readonly #keys: Keys;
  readonly #consumer: string;
  /** How long a worker is silent, in ms, before it counts as dead. */
  readonly #silence: number;
  #kept: ReadonlySet<string> = new Set();

  constructor(client: RedisClient, keys: Keys, consumer: string, silence: number) {
    this.#client = client;
    this.#keys = keys;
    this.#consumer = consumer;
    this.#silence = silence;
  }

  /** Whether any stream keeps its requests until they are settled. */
  get keepsAny(): boolean {
    return this.#kept.size > 0;
  }

  setKept(keys: readonly string[]): void {
    this.#kept = new Set(keys);
  }

  isKept(key: string): boolean {
    return this.#kept.has(key);
  }

  async collect(keys: readonly string[], events: ClaimEvents): Promise<void> {
    for (const key of keys) if (this.#kept.has(key)) await this.#collectFrom(key, events);
  }

  async #collectFrom(key: string, events: ClaimEvents): Promise<void> {
    for (const owner of await this.#findDead(key)) {
      for (let start = "-"; ; ) {
        const args = ["IDLE", String(this.#silence), start, "+", String(page), owner];
        const reply = await this.#client.sendCommand(["XPENDING", key, group, ...args]);
        const deliveries = new Map((reply as Pending[]).map(([id, , , count]) => [id, count]));
        const ids = [...deliveries.keys()];
        for (const entry of await this.#claim(key, ids)) {
          if (deliveries.get(entry.id)! < maxDeliveries) events.onEntry(key, entry);
          else await this.#bury(key, entry, events);
        }
        if (ids.length < page) break;
        start = `(${ids.at(-1)}`;
      }
    }
  }

  /** Those who died with something left to do. */
  async #findDead(key: string): Promise<string[]> {
    const dead: string[] = [];
    const reply = await this.#client.sendCommand(["XINFO", "CONSUMERS", key, group]);
    for (const [, name, , pending, , idle] of reply as Consumer[]) {
      if (pending > 0 && idle >= this.#silence && !(await this.#isAlive(name))) dead.push(name);
    }
    return dead;
  }

  /** One of several workers that try gets each: claiming makes it look fresh to the others. */
  async #claim(key: string, ids: readonly string[]): Promise<Entry[]> {
    if (ids.length === 0) return [];
    const args = [group, this.#consumer, String(this.#silence), ...ids];
    return readEntries(await this.#client.sendCommand(["XCLAIM", key, ...args]));
  }

  async #bury(key: string, entry: Entry, events: ClaimEvents): Promise<void> {
    const bound = ["MAXLEN", "~", String(maxDead)];
    const fields = ["stream", key, "from", entry.from, "frame", entry.text];
    await this.#client.sendCommand(["XADD", this.#keys.dead, ...bound, "*", ...fields]);
    await this.#client.sendCommand(["XACK", key, group, entry.id]);
    await this.#client.sendCommand(["XDEL", key, entry.id]);
    events.onPoison(entry);
  }

  async #isAlive(consumer: string): Promise<boolean> {
    return (await this.#client.sendCommand(["EXISTS", this.#keys.alive + consumer])) === 1;
  }
}
