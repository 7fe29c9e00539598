import { logger } from "../../internal/log.ts";
import type { RedisClient } from "./client.ts";

const log = logger("transport", "redis");

/** The workers of an operation form one consumer group, so each request is delivered to one of them. */
export const group = "operations";

/** The keys and channels below one prefix. Redis accepts any character in them. */
export class Keys {
  /** The channel on which peers announce their operations. */
  readonly peers: string;
  /** Prefix of the keys of workers that are alive. */
  readonly alive: string;
  /** The stream of requests that were abandoned after several workers were lost while running them. */
  readonly dead: string;
  readonly #calls: string;
  readonly #aborts: string;
  readonly #inbox: string;

  /** @param database part of channel names, because all databases of a server share their channels */
  constructor(prefix: string, database: number) {
    const channels = `${prefix}:${database}`;
    this.peers = `${channels}:peers`;
    this.alive = `${prefix}:alive:`;
    this.dead = `${prefix}:dead`;
    this.#calls = `${prefix}:call:`;
    this.#aborts = `${channels}:abort:`;
    this.#inbox = `${channels}:inbox:`;
  }

  /** Returns the stream of requests for an operation. */
  call(operationId: string): string {
    return this.#calls + operationId;
  }

  /** Returns the channel that all workers of an operation subscribe to. */
  abort(operationId: string): string {
    return this.#aborts + operationId;
  }

  /** Returns a random channel for messages to one peer. */
  createAddress(): string {
    return this.#inbox + crypto.randomUUID();
  }

  /** Returns whether a channel is an inbox. Addresses in requests are not trusted: replies go to inboxes only. */
  isAddress(channel: string): boolean {
    return channel.startsWith(this.#inbox) && channel.length < this.#inbox.length + 64;
  }
}

/** One request in a stream. */
export interface StreamEntry {
  /** Id of the entry: the server's time in ms, a hyphen and a number. */
  id: string;
  /** The address of the caller. */
  from: string;
  message: string;
}

/** Reads entries in RESP 2 format: the id, then alternating names and values. Deleted entries have no values. */
export function readEntries(reply: unknown): StreamEntry[] {
  if (!Array.isArray(reply)) return [];
  return reply.flatMap((item): StreamEntry[] => {
    if (!Array.isArray(item)) return [];
    const [id, fields] = item as [string, unknown];
    if (!Array.isArray(fields)) return [];
    return [{ id, from: readField(fields, "from"), message: readField(fields, "frame") }];
  });
}

function readField(fields: unknown[], name: string): string {
  const index = fields.indexOf(name);
  const value: unknown = index % 2 === 0 ? fields[index + 1] : "";
  return typeof value === "string" ? value : "";
}

/** Returns whether an entry was added after another. */
export function isAfter(id: string, other: string): boolean {
  const [time, number] = id.split("-").map(Number) as [number, number];
  const [otherTime, otherNumber] = other.split("-").map(Number) as [number, number];
  return time > otherTime || (time === otherTime && number > otherNumber);
}

/** Maximum number of entries that one command removes. */
const maxRemovals = 10_000;

/** Removes requests from their streams in batches, after they were taken or withdrawn. */
export class StreamRemovals {
  readonly #client: RedisClient;
  readonly #ids = new Map<string, string[]>();
  #isDeferred = false;

  constructor(client: RedisClient) {
    this.#client = client;
  }

  add(key: string, id: string): void {
    const ids = this.#ids.get(key);
    if (ids === undefined) this.#ids.set(key, [id]);
    else ids.push(id);
    if (this.#isDeferred) return;
    this.#isDeferred = true;
    setImmediate(() => {
      this.#isDeferred = false;
      void this.flush();
    });
  }

  /** Removes the collected requests. */
  async flush(): Promise<void> {
    if (!this.#client.isReady) return; // they are kept until the connection is restored
    const commands: string[][] = [];
    for (const [key, ids] of this.#ids) {
      // The requests collected while disconnected may be too many for one command.
      for (let start = 0; start < ids.length; start += maxRemovals) {
        commands.push(["XDEL", key, ...ids.slice(start, start + maxRemovals)]);
      }
    }
    this.#ids.clear();
    await Promise.all(commands.map((command) => this.#client.sendCommand(command))).catch((error) =>
      log.debug("Requests could not be removed: {error}", { error }),
    );
  }
}

/**
 * Adds a worker to the group of every stream in KEYS. Creates missing streams and groups, and removes consumers that
 * are not alive, with everything that is pending for them. Returns the keys that contain another type of value, which
 * stay unchanged. ARGV: group, consumer, prefix of the keys of workers that are alive.
 */
export const joinScript = `
local refused = {}
for _, key in ipairs(KEYS) do
  local kind = redis.call('TYPE', key)['ok']
  if kind ~= 'stream' and kind ~= 'none' then
    table.insert(refused, key)
  else
    redis.pcall('XGROUP', 'CREATE', key, ARGV[1], '0', 'MKSTREAM')
    redis.call('XGROUP', 'CREATECONSUMER', key, ARGV[1], ARGV[2])
    for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', key, ARGV[1])) do
      local name = consumer[2]
      if name ~= ARGV[2] and redis.call('EXISTS', ARGV[3] .. name) == 0 then
        redis.call('XGROUP', 'DELCONSUMER', key, ARGV[1], name)
      end
    end
  end
end
return refused`;

/**
 * Checks whether a worker that is alive reads the stream in KEYS. If not, removes the stream, so that the next request
 * for it fails immediately. Returns 1 or 0, the last id that a worker has received, and the ids in ARGV that the stream
 * contained. A consumer in ARGV is removed first; the entries that no worker has received are then also returned. ARGV:
 * group, prefix of the keys of workers that are alive, consumer or an empty string, ids.
 */
export const surveyScript = `
local key, group, leaving = KEYS[1], ARGV[1], ARGV[3]
local last
if redis.call('EXISTS', key) == 1 then
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', key)) do
    if info[2] == group then last = info[8] end
  end
end
if not last then return {0, '', {}, {}} end
if leaving ~= '' then redis.call('XGROUP', 'DELCONSUMER', key, group, leaving) end
for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', key, group)) do
  if redis.call('EXISTS', ARGV[2] .. consumer[2]) == 1 then return {1, last, {}, {}} end
end
local held, left = {}, {}
for index = 4, #ARGV do
  if #redis.call('XRANGE', key, ARGV[index], ARGV[index]) == 1 then table.insert(held, ARGV[index]) end
end
if leaving ~= '' then left = redis.call('XRANGE', key, '(' .. last, '+', 'COUNT', 1000) end
redis.call('DEL', key)
return {0, last, held, left}`;

/**
 * Removes a request from the stream in KEYS. Returns whether the stream contained it, and the last id that a worker has
 * received. ARGV: group, id.
 */
export const recallScript = `
local last = ''
if redis.call('EXISTS', KEYS[1]) == 1 then
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
    if info[2] == ARGV[1] then last = info[8] end
  end
end
if last == '' then return {0, ''} end
return {redis.call('XDEL', KEYS[1], ARGV[2]), last}`;
