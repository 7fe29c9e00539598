import { logger } from "../../internal/log.ts";
import { settlesWithin } from "../../internal/wait.ts";
import { notServedNow } from "../../operation/inside.ts";
import { type BrokerAdapter, type BrokerEvents, notConnected, type PendingRequest, workerGone } from "../peer/index.ts";
import { commandFailed, denialOf, type RedisClient } from "./client.ts";
import { Membership } from "./membership.ts";
import { StreamReader } from "./stream-reader.ts";
import {
  group,
  isAfter,
  Keys,
  readEntries,
  recallScript,
  type StreamEntry,
  StreamRemovals,
  surveyScript,
} from "./streams.ts";

const log = logger("transport", "redis");

/** Number of unacknowledged bytes above which a sender waits. */
const highWaterBytes = 1024 * 1024;
/** Maximum number of requests kept for inspection after several workers were lost while running them. */
const maxDead = 1_000;
/** Maximum time to wait for an unresponsive server, in ms. */
const maxWaitMs = 1_500;

/** Options of a {@link RedisAdapter}. */
export interface RedisAdapterOptions {
  prefix: string;
  database: number;
  heartbeat: number;
  /** Maximum number of requests in a stream; older ones are dropped. */
  maxQueued: number;
  createClient: () => RedisClient;
}

/** A request that was sent. */
interface Ticket {
  readonly key: string;
  /** Id in the stream. Absent until the server has reported it. */
  id: string | undefined;
  isWithdrawn: boolean;
}

/** The result of `surveyScript`. */
type Survey = [isServed: number, last: string, held: string[], left: unknown];

/** Carries frames over Redis, with one stream per operation and one channel for all messages to this peer. */
export class RedisAdapter implements BrokerAdapter {
  readonly name = "redis";
  readonly address: string;
  readonly maxMessage = Number.POSITIVE_INFINITY;
  readonly #options: RedisAdapterOptions;
  readonly #events: BrokerEvents;
  readonly #keys: Keys;
  readonly #commands: RedisClient;
  readonly #subscriber: RedisClient;
  readonly #operations = new Map<string, string>();
  /** Operations that are no longer served, but are not yet removed from the server. */
  readonly #left = new Set<string>();
  readonly #removals: StreamRemovals;
  readonly #membership: Membership;
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort = (message: string) => this.#events.onMessage(message);
  #readClient: RedisClient | undefined;
  #reader: StreamReader | undefined;
  #opening: Promise<StreamReader> | undefined;
  #wasConnected = true;
  #sending = 0;
  #lastSent: Promise<void> | undefined;
  #isClosed = false;

  constructor(commands: RedisClient, subscriber: RedisClient, options: RedisAdapterOptions, events: BrokerEvents) {
    this.#options = options;
    this.#events = events;
    this.#keys = new Keys(options.prefix, options.database);
    this.address = this.#keys.createAddress();
    this.#commands = commands;
    this.#subscriber = subscriber;
    this.#removals = new StreamRemovals(commands);
    this.#membership = new Membership(commands, this.#keys, this.address, options.heartbeat);
    for (const client of [commands, subscriber]) {
      client.on("error", (error) => this.#onLost(error));
      client.on("ready", () => this.#onReady());
    }
    this.#timer = setInterval(() => void this.#beat(), options.heartbeat);
    this.#timer.unref(); // heartbeats must not keep the process alive
  }

  get isConnected(): boolean {
    return this.#commands.isReady && this.#subscriber.isReady;
  }

  /** Resolves when other peers can reach this peer. */
  async ready(): Promise<void> {
    await this.#subscriber.subscribe(this.address, (message) => this.#events.onMessage(message));
  }

  request(operationId: string, requestId: string, message: string): Ticket {
    const key = this.#keys.call(operationId);
    const ticket: Ticket = { key, id: undefined, isWithdrawn: false };
    const bound = ["NOMKSTREAM", "MAXLEN", "~", String(this.#options.maxQueued)];
    this.#commands.sendCommand(["XADD", key, ...bound, "*", "from", this.address, "frame", message]).then(
      (id) => {
        if (id === null) return this.#events.onUnserved(requestId);
        ticket.id = id as string;
        if (ticket.isWithdrawn) this.#removals.add(key, ticket.id);
      },
      (error: Error) => {
        this.#events.onRefused(requestId, commandFailed(error));
      },
    );
    return ticket;
  }

  broadcast(operationId: string, message: string): void {
    this.#publish(this.#keys.abort(operationId), message);
  }

  withdraw(ticket: unknown): void {
    const { key, id } = ticket as Ticket;
    if (id === undefined) (ticket as Ticket).isWithdrawn = true;
    else this.#removals.add(key, id);
  }

  async recall(ticket: unknown): Promise<boolean> {
    const { key, id } = ticket as Ticket;
    this.withdraw(ticket);
    if (id === undefined) return false;
    const reply = await this.#commands.sendCommand(["EVAL", recallScript, "1", key, group, id]);
    const [wasHeld, last] = reply as [number, string];
    return wasHeld === 1 && isAfter(id, last);
  }

  bury(operationId: string, message: string): void {
    const fields = ["stream", this.#keys.call(operationId), "from", this.address, "frame", message];
    const bound = ["MAXLEN", "~", String(maxDead)];
    this.#commands
      .sendCommand(["XADD", this.#keys.dead, ...bound, "*", ...fields])
      .catch((error) => log.warn("A request that ended several workers could not be stored: {error}", { error }));
  }

  send(address: string, message: string): void {
    if (!this.#keys.isAddress(address)) return; // the address may originate from an untrusted frame
    this.#publish(address, message, () => this.#events.onGone(address));
  }

  gossip(message: string): void {
    this.#publish(this.#keys.peers, message);
  }

  async listen(): Promise<void> {
    await this.#subscriber.subscribe(this.#keys.peers, (message) => this.#events.onGossip(message));
  }

  async serve(operationIds: readonly string[]): Promise<void> {
    const fresh = operationIds.filter((id) => !this.#operations.has(this.#keys.call(id)));
    if (fresh.length === 0) return;
    for (const id of fresh) {
      this.#operations.set(this.#keys.call(id), id);
      this.#left.delete(id);
    }
    try {
      await this.#begin(fresh);
    } catch (error) {
      const begun = fresh.filter((id) => this.#operations.delete(this.#keys.call(id)));
      for (const id of begun) this.#left.add(id);
      this.#leaveAll(begun).catch(reportLeaving);
      throw denialOf(error) ?? error;
    }
  }

  async stop(operationIds: readonly string[]): Promise<void> {
    const ids = operationIds.filter((id) => this.#operations.delete(this.#keys.call(id)));
    if (ids.length === 0) return;
    for (const id of ids) this.#left.add(id);
    const keys = ids.map((id) => this.#keys.call(id));
    await this.#reader?.remove(keys);
    await settlesWithin(maxWaitMs, this.#leaveAll(ids));
  }

  checkWorkers(requests: readonly PendingRequest[]): void {
    const byOperation = new Map<string, PendingRequest[]>();
    for (const request of requests) {
      const others = byOperation.get(request.operationId);
      if (others === undefined) byOperation.set(request.operationId, [request]);
      else others.push(request);
    }
    for (const [operationId, waiting] of byOperation) {
      this.#checkOperation(operationId, waiting).catch((error) =>
        log.debug("Workers cannot be checked: {error}", { error }),
      );
    }
  }

  whenWritable(): Promise<void> | undefined {
    return this.#sending > highWaterBytes ? this.#lastSent : undefined;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.stop([...this.#operations.values()]);
    this.#reader?.close();
    if (this.#commands.isReady) {
      const removed = this.#membership.leave();
      await settlesWithin(maxWaitMs, Promise.all([removed, this.#lastSent]));
    }
    for (const client of [this.#readClient, this.#subscriber, this.#commands]) client?.destroy();
  }

  #publish(channel: string, message: string, onUnreceived?: () => void): void {
    if (!this.isConnected) return;
    this.#sending += message.length;
    this.#lastSent = this.#commands.sendCommand(["PUBLISH", channel, message]).then(
      (receivers) => {
        this.#sending -= message.length;
        if (receivers === 0) onUnreceived?.();
      },
      (error) => {
        this.#sending -= message.length;
        log.debug("A message could not be sent: {error}", { error });
      },
    );
  }

  #onEntries(key: string, entries: readonly StreamEntry[]): void {
    for (const { id, from, message } of entries) {
      this.#removals.add(key, id);
      this.#events.onRequest(message, this.#keys.isAddress(from) ? from : "");
    }
  }

  async #begin(operationIds: readonly string[]): Promise<void> {
    const aborts = operationIds.map((id) => this.#keys.abort(id));
    await this.#subscriber.subscribe(aborts, this.#onAbort);
    this.#assertOpen();
    const keys = operationIds.map((id) => this.#keys.call(id));
    await this.#join(keys);
    this.#assertOpen();
    this.#opening ??= this.#openReader();
    const reader = await this.#opening;
    this.#assertOpen();
    await reader.add(keys);
  }

  /** Throws if this adapter is closed: streams joined later would never be left, and connections never closed. */
  #assertOpen(): void {
    if (this.#isClosed) throw notConnected(this.name);
  }

  async #openReader(): Promise<StreamReader> {
    const client = this.#options.createClient();
    const events = this.#events;
    const reader = new StreamReader(client, this.#commands, {
      consumer: this.address,
      get runningRequests() {
        return events.runningRequests;
      },
      block: Math.min(1_000, this.#options.heartbeat),
      isStream: (key) => this.#membership.isStream(key),
      onEntries: (key, entries) => this.#onEntries(key, entries),
      rejoin: () => this.#join([...this.#operations.keys()]),
    });
    this.#readClient = client;
    client.on("error", (error) => log.debug("Reading failed: {error}", { error }));
    client.on("ready", () =>
      reader.identify().catch((error) => log.debug("The client id could not be read: {error}", { error })),
    );
    try {
      await client.connect();
      this.#assertOpen();
    } catch (error) {
      this.#opening = undefined;
      if (client.isOpen) client.destroy();
      throw error;
    }
    this.#reader = reader;
    return reader;
  }

  #join(keys: readonly string[]): Promise<void> {
    // Skip operations that were stopped in the meantime, because their streams would never be left.
    return this.#membership.join(keys, (key) => this.#operations.has(key));
  }

  /** Leaves the streams of operations that are no longer served, now or after reconnecting. */
  async #leaveAll(ids: readonly string[]): Promise<void> {
    if (ids.length === 0 || !this.isConnected) return;
    await this.#removals.flush();
    await Promise.all(ids.map((id) => this.#leave(id).catch(reportLeaving)));
    const aborts = ids.filter((id) => !this.#operations.has(this.#keys.call(id))).map((id) => this.#keys.abort(id));
    // Pass the listener, so that the client does not reuse this subscription for a new one.
    if (aborts.length > 0) await this.#subscriber.unsubscribe(aborts, this.#onAbort);
  }

  /** Leaves a stream. The last worker also receives the requests that no worker has read. */
  async #leave(operationId: string): Promise<void> {
    const key = this.#keys.call(operationId);
    const [, , , left] = await this.#survey(key, this.address);
    this.#left.delete(operationId);
    this.#onEntries(key, readEntries(left));
  }

  async #checkOperation(operationId: string, waiting: readonly PendingRequest[]): Promise<void> {
    const ids = waiting.flatMap(({ ticket }) => (ticket as Ticket).id ?? []);
    const [isServed, last, held] = await this.#survey(this.#keys.call(operationId), "", ids);
    if (isServed === 1) return;
    const untaken = new Set(held.filter((id) => isAfter(id, last)));
    for (const { requestId, ticket } of waiting) {
      const isTaken = !untaken.has((ticket as Ticket).id!);
      this.#events.onRefused(requestId, isTaken ? workerGone(operationId) : notServedNow(operationId));
    }
  }

  async #survey(key: string, leaving: string, ids: readonly string[] = []): Promise<Survey> {
    const args = [group, this.#keys.alive, leaving, ...ids];
    return (await this.#commands.sendCommand(["EVAL", surveyScript, "1", key, ...args])) as Survey;
  }

  async #beat(): Promise<void> {
    if (this.#operations.size === 0 || !this.isConnected) return;
    try {
      await this.#membership.beat([...this.#operations.keys()]);
    } catch (error) {
      log.debug("A heartbeat could not be sent: {error}", { error });
    }
  }

  #onLost(error: Error): void {
    if (!this.#wasConnected || this.#isClosed || this.isConnected) return;
    this.#wasConnected = false;
    this.#events.onLinkLost(error);
  }

  #onReady(): void {
    if (this.#wasConnected || this.#isClosed || !this.isConnected) return;
    this.#wasConnected = true;
    Promise.all([this.#removals.flush(), this.#leaveAll([...this.#left])]).catch(reportLeaving);
    this.#events.onLinkRestored();
  }
}

function reportLeaving(error: unknown): void {
  log.debug("The worker could not leave its streams: {error}", { error });
}
