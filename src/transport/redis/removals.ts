import { logger } from "../../internal/log.ts";
import type { RedisClient } from "./client.ts";
import { group } from "./keys.ts";

const log = logger("transport", "redis");

/** Removes requests from their streams, many at a time: they were taken, or nobody waits for them. */
export class Removals {
  readonly #client: RedisClient;
  readonly #gone = new Map<string, string[]>();
  readonly #acknowledged = new Map<string, string[]>();
  #isDeferred = false;

  constructor(client: RedisClient) {
    this.#client = client;
  }

  /** `isPending`: it also stands in the list of those that a worker has taken and not settled. */
  add(key: string, id: string, isPending: boolean): void {
    push(this.#gone, key, id);
    if (isPending) push(this.#acknowledged, key, id);
    if (this.#isDeferred) return;
    this.#isDeferred = true;
    setImmediate(() => {
      this.#isDeferred = false;
      void this.flush();
    });
  }

  async flush(): Promise<void> {
    if (!this.#client.isReady) return; // they stay until the server is back: no more can be taken meanwhile
    const commands: string[][] = [];
    for (const [key, ids] of this.#acknowledged) commands.push(["XACK", key, group, ...ids]);
    for (const [key, ids] of this.#gone) commands.push(["XDEL", key, ...ids]);
    this.#acknowledged.clear();
    this.#gone.clear();
    await Promise.all(commands.map((command) => this.#client.sendCommand(command))).catch((error) =>
      log.debug("Requests could not be removed: {error}", { error }),
    );
  }
}

function push(map: Map<string, string[]>, key: string, id: string): void {
  const ids = map.get(key);
  if (ids === undefined) map.set(key, [id]);
  else ids.push(id);
}
