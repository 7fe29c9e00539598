import { createHash } from "node:crypto";
import { BoundedMap } from "../../internal/bounded.ts";
import { logger } from "../../internal/log.ts";
import { pause, settlesWithin } from "../../internal/wait.ts";
import { type CallError, limitExceeded } from "../../operation/inside.ts";
import type { BusEngine, EngineEvents } from "../bus/index.ts";
import { notConnected } from "../peer/index.ts";
import { commandFailed, denialOf, type RedisClient } from "./client.ts";

const log = logger("transport", "redis");

/** Number of unsent bytes above which a sender waits. */
const highWaterBytes = 1024 * 1024;
/** Maximum time to wait for an unresponsive server, in ms. */
const maxWaitMs = 1_500;
/** Maximum time in which a request must be claimed, in ms. */
const maxClaimMs = 30_000;
/** Minimum time for which lists are kept after their last use, in ms. */
const minKeptMs = 60_000;
/** Number of heartbeats for which the ids of a list are kept without a sign of its workers. */
const keptBeats = 3;
/** A worker takes no further request while it runs this many calls. */
const maxConcurrency = 256;
/** A list with more requests refuses further ones. */
const maxQueued = 100_000;
/** A request that nobody claimed for this many heartbeats is pushed again. */
const pushAgainBeats = 3;
/** Time in seconds after which a worker asks for the next request again, to notice that it stopped. */
const blockSeconds = "1";
/** Delay before a busy or disconnected worker reads again, in ms. */
const retryMs = 10;
/** A request is refused when the last worker of so many lists left before it read the request. */
const maxRoutes = 5;
/** Maximum number of operations whose lists are remembered, because callers can send any number of ids. */
const maxRemembered = 100_000;

/** Options of a {@link RedisEngine}. */
export interface RedisEngineOptions {
  readonly prefix: string;
  readonly database: number;
  /** In ms. */
  readonly heartbeat: number;
  readonly createClient: () => RedisClient;
}

/** A request that no worker has claimed, as far as is known. */
interface Waiting {
  readonly operationId: string;
  readonly key: string;
  readonly message: string;
  /** Time in which it must be claimed, in ms. */
  readonly claimMs: number;
  /** The list with its key. */
  list: string;
  /** Heartbeats since it was sent. */
  beats: number;
}

/**
 * Carries frames over Redis. Workers that serve the same set of operations share one list of request keys. Each request is a
 * key with the frame, which one worker claims with `GETDEL`. Everything else is published to channels.
 */
export class RedisEngine implements BusEngine {
  readonly name = "redis";
  readonly address: string;
  readonly maxMessage = Number.POSITIVE_INFINITY;
  readonly #options: RedisEngineOptions;
  readonly #events: EngineEvents;
  readonly #commands: RedisClient;
  readonly #subscriber: RedisClient;
  readonly #channels: string;
  readonly #keptMs: string;
  /** Requests of this peer that may wait for a worker, by request id. */
  readonly #waiting = new Map<string, Waiting>();
  /** The sets of operations that are served, by the name of their list. */
  #sets = new Map<string, ReadonlySet<string>>();
  /** The lists of each operation. */
  #lists = new BoundedMap<string, readonly string[]>(maxRemembered);
  #looking: Promise<void> | undefined = undefined;
  /** The list that this worker reads. */
  #list: string | undefined = undefined;
  #operationIds: ReadonlySet<string> = new Set();
  /** Lists that are not read any more, but whose channel the server may still connect with this peer. */
  readonly #left = new Set<string>();
  #reader: RedisClient | undefined = undefined;
  #reading: Promise<void> = Promise.resolve();
  #wasConnected = true;
  /** Requests that are being claimed. */
  readonly #claims = new Set<Promise<void>>();
  #sending = 0;
  #lastSent: Promise<unknown> | undefined = undefined;
  #isClosed = false;

  constructor(commands: RedisClient, subscriber: RedisClient, options: RedisEngineOptions, events: EngineEvents) {
    this.#commands = commands;
    this.#subscriber = subscriber;
    this.#options = options;
    this.#events = events;
    this.#keptMs = String(Math.max(minKeptMs, Math.ceil(keptBeats * options.heartbeat)));
    // All databases of a server share its channels.
    this.#channels = `${options.prefix}:${options.database}`;
    this.address = `${this.#inbox}${crypto.randomUUID()}`;
    for (const client of [commands, subscriber]) {
      client.on("error", (error) => this.#onLost(error));
      client.on("ready", () => this.#onReady());
    }
  }

  get isConnected(): boolean {
    return this.#commands.isReady && this.#subscriber.isReady;
  }

  /** Resolves when other peers can reach this peer. */
  async ready(): Promise<void> {
    await this.#subscriber.subscribe(this.address, this.#onMessage);
  }

  request(operationId: string, requestId: string, message: string, timeout = maxClaimMs): void {
    const claimMs = Math.ceil(Math.max(1, Math.min(timeout, maxClaimMs)));
    const key = this.#key(requestId);
    const waiting: Waiting = {
      operationId,
      key,
      message: `${this.address}\n${message}`,
      claimMs,
      list: "",
      beats: 0,
    };
    this.#waiting.set(requestId, waiting);
    this.#route(requestId, waiting);
  }

  withdraw(operationId: string, requestId: string, message: string): void {
    this.#waiting.delete(requestId);
    this.#send(["DEL", this.#key(requestId)], (removed) => {
      if (removed === 1) return;
      for (const list of this.#lists.get(operationId) ?? []) this.#publish(this.#listChannel(list), message);
    });
  }

  isWaiting(requestId: string): boolean {
    return this.#waiting.has(requestId);
  }

  forget(requestId: string): void {
    this.#waiting.delete(requestId);
  }

  send(address: string, message: string): void {
    if (!address.startsWith(this.#inbox) || address.length > this.#inbox.length + 64) return; // a claim of a message
    this.#publish(address, message, () => this.#events.onGone(address));
  }

  publish(message: string): void {
    this.#publish(`${this.#channels}:peers`, message);
  }

  async listen(): Promise<void> {
    await this.#subscriber.subscribe(`${this.#channels}:peers`, this.#onMessage);
  }

  /** Moves to the list of these operations. What is left in the list before is still read. */
  async serve(operationIds: ReadonlySet<string>): Promise<void> {
    const list = operationIds.size === 0 ? undefined : this.#listOf(operationIds);
    const before = this.#list;
    if (list === before) return;
    this.#operationIds = operationIds;
    if (list !== undefined) {
      if (!this.isConnected) throw notConnected(this.name);
      await this.#open(list).catch((error) => Promise.reject(denialOf(error) ?? error));
    }
    this.#list = list;
    if (list !== undefined && before === undefined) this.#reading = this.#read();
    if (before !== undefined) {
      this.#left.add(before);
      await settlesWithin(maxWaitMs, this.#leaveAll());
    }
    if (list === undefined) await settlesWithin(maxWaitMs, this.#reading);
  }

  beat(): void {
    const list = this.#list;
    if (list !== undefined)
      this.#send(["PEXPIRE", this.#idsKey(list), this.#keptMs], (exists) => this.#restore(exists));
    for (const [requestId, waiting] of this.#waiting) {
      this.#check(requestId, waiting).catch((error) => log.debug("A request could not be checked: {error}", { error }));
    }
  }

  whenWritable(): Promise<void> | undefined {
    return this.#sending > highWaterBytes ? this.#lastSent?.then(() => {}) : undefined;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#list !== undefined) this.#left.add(this.#list);
    this.#list = undefined;
    if (this.isConnected) await settlesWithin(maxWaitMs, Promise.all([this.#leaveAll(), this.#lastSent]));
    for (const client of [this.#reader, this.#subscriber, this.#commands]) client?.destroy();
  }

  get #inbox(): string {
    return `${this.#channels}:inbox:`;
  }

  #key(requestId: string): string {
    const owner = this.address.slice(this.#inbox.length);
    return `${this.#options.prefix}:request:${owner}:${requestId}`;
  }

  #idsKey(list: string): string {
    return `${this.#options.prefix}:ids:${list}`;
  }

  #listKey(list: string): string {
    return `${this.#options.prefix}:list:${list}`;
  }

  get #setsKey(): string {
    return `${this.#options.prefix}:sets`;
  }

  #listOf(operationIds: ReadonlySet<string>): string {
    return createHash("sha256")
      .update([...operationIds].sort().join("\n"))
      .digest("base64url")
      .slice(0, 22);
  }

  #route(requestId: string, waiting: Waiting): void {
    const isWaiting = () => this.#waiting.get(requestId) === waiting;
    const refuse = (error?: CallError) => {
      if (!isWaiting()) return;
      this.#waiting.delete(requestId);
      this.#events.onUnserved(requestId, error);
    };
    const route = async () => {
      for (let attempt = 0; attempt < maxRoutes; attempt++) {
        if (attempt > 0 || this.#lists.get(waiting.operationId) === undefined) await this.#lookUp();
        const lists = this.#lists.get(waiting.operationId) ?? [];
        const list = lists[Math.floor(Math.random() * lists.length)];
        if (!isWaiting()) return; // withdrawn meanwhile
        if (list === undefined) return refuse();
        waiting.list = list;
        const { length, workers } = await this.#push(waiting);
        if (length <= maxQueued && workers > 0) return;
        // If the last worker of the list has not claimed the request, it is routed again.
        if ((await this.#command(["DEL", waiting.key])) !== 1) return;
        if (length > maxQueued) return refuse(limitExceeded("Too many requests wait for a worker", "queue", maxQueued));
      }
      refuse();
    };
    route().catch((error: Error) => refuse(commandFailed(error)));
  }

  /** Writes a request. Returns the length of the list, and the number of workers that read it. */
  async #push({ list, key, message, claimMs }: Waiting): Promise<{ length: number; workers: number }> {
    const queue = this.#listKey(list);
    this.#sending += message.length;
    const sent = Promise.all([
      this.#command(["SET", key, message, "PX", String(claimMs)]),
      this.#command(["LPUSH", queue, key]),
      this.#command(["PEXPIRE", queue, this.#keptMs]),
      this.#workersOf(list),
    ]).finally(() => {
      this.#sending -= message.length;
    });
    const [, length, , workers] = await sent;
    return { length: length as number, workers };
  }

  /** Returns the number of workers that read a list: each of them is subscribed to its channel. */
  async #workersOf(list: string): Promise<number> {
    const reply = (await this.#command(["PUBSUB", "NUMSUB", this.#listChannel(list)])) as [string, number];
    return Number(reply[1]);
  }

  /** Reads which lists there are, and which of them have a worker. */
  #lookUp(): Promise<void> {
    this.#looking ??= this.#readSets().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #readSets(): Promise<void> {
    const names = (await this.#command(["SMEMBERS", this.#setsKey])) as string[];
    const sets = new Map<string, ReadonlySet<string>>();
    for (const name of names) {
      const known = this.#sets.get(name);
      const [workers, ids] = await Promise.all([
        this.#workersOf(name),
        known === undefined ? this.#command(["GET", this.#idsKey(name)]) : undefined,
      ]);
      if (ids === null) this.#send(["SREM", this.#setsKey, name]);
      else if (workers > 0) sets.set(name, known ?? parseIds(ids as string));
    }
    this.#sets = sets;
    const lists = new BoundedMap<string, string[]>(maxRemembered);
    for (const [name, ids] of sets) {
      for (const id of ids) {
        const known = lists.get(id);
        if (known === undefined) lists.set(id, [name]);
        else known.push(name);
      }
    }
    this.#lists = lists;
  }

  /** Asks whether a request still waits. Without a worker it is routed again; one that was overlooked is pushed again. */
  async #check(requestId: string, waiting: Waiting): Promise<void> {
    const isWaiting = () => this.#waiting.get(requestId) === waiting;
    waiting.beats += 1;
    if (waiting.list === "") return; // It is not sent yet.
    const [exists, workers] = await Promise.all([
      this.#command(["EXISTS", waiting.key]),
      this.#workersOf(waiting.list),
    ]);
    if (!isWaiting()) return;
    if (exists !== 1)
      this.forget(requestId); // claimed, or its time is over
    else if (workers === 0) {
      if ((await this.#command(["DEL", waiting.key])) === 1 && isWaiting()) {
        this.#lists.delete(waiting.operationId);
        this.#route(requestId, waiting);
      }
    } else if (waiting.beats === pushAgainBeats)
      await this.#command(["LPUSH", this.#listKey(waiting.list), waiting.key]);
  }

  /** Makes the list of this worker known, and receives the aborts of its callers. */
  async #open(list: string): Promise<void> {
    const ids = JSON.stringify([...this.#operationIds]);
    await this.#subscriber.subscribe(this.#listChannel(list), this.#onMessage);
    await Promise.all([
      this.#command(["SET", this.#idsKey(list), ids, "PX", this.#keptMs]),
      this.#command(["SADD", this.#setsKey, list]),
      this.#command(["PEXPIRE", this.#setsKey, this.#keptMs]),
    ]);
    this.#reader ??= await this.#connectReader();
  }

  /** Restores what a server lost that was restarted or emptied. */
  #restore(exists: unknown): void {
    const list = this.#list;
    if (exists === 1 || list === undefined) return;
    this.#open(list).catch((error) => log.warn("The operations could not be served again: {error}", { error }));
  }

  async #connectReader(): Promise<RedisClient> {
    const client = this.#options.createClient();
    client.on("error", (error) => log.debug("Reading failed: {error}", { error }));
    try {
      await client.connect();
      if (this.#isClosed) throw notConnected(this.name);
      return client;
    } catch (error) {
      if (client.isOpen) client.destroy();
      throw error;
    }
  }

  /** Leaves the lists that are not read any more, now or after reconnecting. */
  async #leaveAll(): Promise<void> {
    for (const list of this.#left) {
      if (!this.isConnected) return;
      if (list !== this.#list) await this.#leave(list);
      this.#left.delete(list);
    }
  }

  /** Stops reading a list. The last worker also receives the requests that no worker has read. */
  async #leave(list: string): Promise<void> {
    await this.#subscriber.unsubscribe(this.#listChannel(list), this.#onMessage);
    if ((await this.#workersOf(list)) > 0) return;
    await this.#command(["LPUSH", this.#listKey(list), ""]); // ends the command that waits for a request
    await Promise.all([this.#command(["DEL", this.#idsKey(list)]), this.#command(["SREM", this.#setsKey, list])]);
    for (;;) {
      const key = (await this.#command(["RPOP", this.#listKey(list)])) as string | null;
      if (key === null) return;
      await this.#claim(key);
    }
  }

  /**
   * Reads requests one after the other, while this worker has room for them, until it serves nothing. Resolves when what it
   * has read was passed on.
   */
  async #read(): Promise<void> {
    const client = this.#reader!;
    while (this.#list !== undefined && !this.#isClosed) {
      if (this.#events.runningCalls + this.#claims.size >= maxConcurrency || !client.isReady) {
        await pause(retryMs);
        continue;
      }
      try {
        const reply = await client.sendCommand(["BRPOP", this.#listKey(this.#list), blockSeconds]);
        if (reply === null) continue;
        const claim = this.#claim((reply as [string, string])[1])
          .catch((error) => log.debug("A request could not be claimed: {error}", { error }))
          .finally(() => this.#claims.delete(claim));
        this.#claims.add(claim);
      } catch (error) {
        log.debug("Requests could not be read: {error}", { error });
        await pause(retryMs);
      }
    }
    await Promise.all(this.#claims);
  }

  async #claim(key: string): Promise<void> {
    const message = (await this.#command(["GETDEL", key])) as string | null;
    if (message === null) return; // expired or withdrawn
    const end = message.indexOf("\n");
    const from = message.slice(0, Math.max(end, 0));
    this.#events.onRequest(message.slice(end + 1), from.startsWith(this.#inbox) ? from : "");
  }

  readonly #onMessage = (message: string): void => this.#events.onMessage(message);

  #listChannel(list: string): string {
    return `${this.#channels}:list:${list}`;
  }

  #publish(channel: string, message: string, onUnreceived?: () => void): void {
    this.#sending += message.length;
    this.#send(
      ["PUBLISH", channel, message],
      (receivers) => {
        if (receivers === 0) onUnreceived?.();
      },
      message.length,
    );
  }

  #command(args: string[]): Promise<unknown> {
    return this.#commands.sendCommand(args);
  }

  #send(args: string[], onReply: (reply: unknown) => void = () => {}, length = 0): void {
    if (!this.isConnected) {
      this.#sending -= length;
      return;
    }
    this.#lastSent = this.#command(args).then(
      (reply) => {
        this.#sending -= length;
        onReply(reply);
      },
      (error) => {
        this.#sending -= length;
        log.debug("A message could not be sent: {error}", { error });
      },
    );
  }

  #onLost(error: Error): void {
    if (!this.#wasConnected || this.#isClosed || this.isConnected) return;
    this.#wasConnected = false;
    this.#waiting.clear();
    this.#events.onLink(error);
  }

  #onReady(): void {
    if (this.#wasConnected || this.#isClosed || !this.isConnected) return;
    this.#wasConnected = true;
    this.#lists.clear();
    this.#restore(0);
    this.#leaveAll().catch((error) => log.debug("A list could not be left: {error}", { error }));
    this.#events.onLink(undefined);
  }
}

function parseIds(json: string): ReadonlySet<string> {
  try {
    const ids: unknown = JSON.parse(json);
    return new Set(Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : []);
  } catch {
    return new Set(); // another program has written the key
  }
}
