import { logger } from "../../internal/log.ts";
import type { RedisClient } from "./client.ts";

const log = logger("transport", "redis");

const mostAtOnce = 10_000;

/** Removes requests from their streams, many at a time: they were taken, or nobody waits for them. */
export class Removals {
  readonly #client: RedisClient;
  readonly #gone = new Map<string, string[]>();
  #isDeferred = false;

  constructor(client: RedisClient) {
    this.#client = client;
  }

  add(key: string, id: string): void {
    push(this.#gone, key, id);
    if (this.#isDeferred) return;
    this.#isDeferred = true;
    setImmediate(() => {
      this.#isDeferred = false;
      void this.flush();
    });
  }

  async flush(): Promise<void> {
    if (!this.#client.isReady) return; // they stay until the server is back
    const commands: string[][] = [];
    for (const [key, ids] of this.#gone) for (const some of slices(ids)) commands.push(["XDEL", key, ...some]);
    this.#gone.clear();
    await Promise.all(commands.map((command) => this.#client.sendCommand(command))).catch((error) =>
      log.debug("Requests could not be removed: {error}", { error }),
    );
  }
}

/** What has gathered while the server was away may be too much for one command. */
function* slices(ids: readonly string[]): Iterable<readonly string[]> {
  for (let start = 0; start < ids.length; start += mostAtOnce) yield ids.slice(start, start + mostAtOnce);
}

function push(map: Map<string, string[]>, key: string, id: string): void {
  const ids = map.get(key);
  if (ids === undefined) map.set(key, [id]);
  else ids.push(id);
}
