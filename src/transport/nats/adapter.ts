import { randomBytes } from "node:crypto";
import type { Msg, NatsConnection, PermissionViolationError, Status, Subscription } from "@nats-io/transport-node";
import { logger } from "../../internal/log.ts";
import { settlesWithin } from "../../internal/wait.ts";
import { CallError } from "../../operation/index.ts";
import { type BrokerAdapter, type BrokerEvents, notConnected } from "../peer/index.ts";
import { RecentRequests } from "./recent-requests.ts";
import { isAddress, Subjects } from "./subjects.ts";

const log = logger("transport", "nats");

/** The workers of one operation are one queue group: each request goes to one of them. */
const queue = "operations";
/** After this many bytes a sender waits until the server has read them. */
const highWater = 1024 * 1024;
const defaultMaxPayload = 1024 * 1024;
/** The last tokens of subjects below the own address: a message, or an answer "nobody there". */
const token = { message: "m", request: "r", probe: "p" } as const;
const noResponders = 503;
/** How long, in ms, to wait for a server that does not reply. */
const maxWaitMs = 1_500;

/** What the NATS adapter is told. */
export interface NATSAdapterOptions {
  prefix: string;
  inboxPrefix: string;
  /** Ends what closing the connection leaves, when it was made for this transport and is closed with it. */
  destroy: (() => void) | undefined;
}

interface Served {
  requests: Subscription;
  aborts: Subscription;
}

/** Carries frames over NATS: a subject for each operation, and one subscription for everything that is sent here. */
export class NATSAdapter implements BrokerAdapter {
  readonly name = "nats";
  readonly address: string;
  isConnected = true;
  readonly #connection: NatsConnection;
  readonly #options: NATSAdapterOptions;
  readonly #events: BrokerEvents;
  readonly #subjects: Subjects;
  readonly #recent = new RecentRequests();
  readonly #served = new Map<string, Served>();
  /** Those that stay for as long as this peer does. */
  readonly #subscriptions: Subscription[] = [];
  readonly #statuses: AsyncIterable<Status> & { stop?(): void };
  #unflushed = 0;
  #flushing: Promise<void> | undefined;
  #isClosed = false;

  constructor(connection: NatsConnection, options: NATSAdapterOptions, events: BrokerEvents) {
    this.#connection = connection;
    this.#options = options;
    this.#events = events;
    this.#subjects = new Subjects(options.prefix);
    // Short, because it travels with every request: 128 random bits in 22 characters.
    this.address = `${options.inboxPrefix}.${randomBytes(16).toString("base64url")}`;
    this.#subscriptions.push(this.#subscribe(`${this.address}.*`, (message) => this.#onInbox(message)));
    this.#statuses = connection.status();
    void this.#watchConnection();
  }

  get maxMessage(): number {
    return this.#connection.info?.max_payload ?? defaultMaxPayload;
  }

  /** Resolves when the server knows what this peer listens to. */
  async ready(): Promise<void> {
    await this.#connection.flush();
    // Every call would wait for an answer until its time is up.
    if (this.#subscriptions[0]!.isClosed()) throw notAllowed(`hear what is sent to ${this.address}`);
  }

  request(operationId: string, requestId: string, text: string): void {
    const reply = `${this.address}.${token.request}${this.#recent.add(requestId)}`;
    if (!this.#publish(this.#subjects.call(operationId), text, reply)) throw notConnected(this.name);
  }

  broadcast(operationId: string, text: string): void {
    this.#publish(this.#subjects.abort(operationId), text);
  }

  send(address: string, text: string, isProbe = false): void {
    if (!isAddress(address)) return; // it may have come in a frame
    const reply = isProbe ? `${this.address}.${token.probe}${Buffer.from(address).toString("base64url")}` : undefined;
    this.#publish(`${address}.${token.message}`, text, reply);
  }

  gossip(text: string): void {
    this.#publish(this.#subjects.peers, text);
  }

  async listen(): Promise<void> {
    this.#subscriptions.push(this.#subscribe(this.#subjects.peers, ({ data }) => this.#events.onGossip(data)));
    await this.#connection.flush();
  }

  async serve(operationIds: readonly string[]): Promise<void> {
    const fresh = operationIds.filter((id) => !this.#served.has(id));
    for (const id of fresh) {
      this.#served.set(id, {
        requests: this.#subscribe(this.#subjects.call(id), (message) => this.#onRequest(message), queue),
        aborts: this.#subscribe(this.#subjects.abort(id), ({ data }) => this.#events.onMessage(data)),
      });
    }
    try {
      await this.#connection.flush();
      const refused = fresh.filter((id) => this.#served.get(id)?.requests.isClosed());
      if (refused.length > 0 && !this.#isClosed) throw notAllowed(`serve ${refused.join(", ")}`);
    } catch (error) {
      // All or nothing: who is told that it failed has nothing to stop it by.
      await this.stop(fresh);
      throw error;
    }
  }

  async stop(operationIds: readonly string[]): Promise<void> {
    await Promise.all(operationIds.map((id) => this.#stop(id)));
  }

  whenWritable(): Promise<void> | undefined {
    if (this.#unflushed < highWater || !this.isConnected) return undefined;
    this.#flushing ??= this.#connection.flush().then(this.#onFlushed, this.#onFlushed);
    return this.#flushing;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#statuses.stop?.(); // a connection that was given may outlive many transports
    const served = [...this.#served.values()].flatMap(({ requests, aborts }) => [requests, aborts]);
    for (const subscription of [...this.#subscriptions, ...served]) {
      if (!subscription.isClosed()) subscription.unsubscribe();
    }
    // What was written last must leave first; a server that does not answer is not waited for.
    if (this.isConnected) await settlesWithin(maxWaitMs, this.#connection.flush());
    if (this.#options.destroy === undefined) return;
    await settlesWithin(maxWaitMs, this.#connection.close());
    this.#options.destroy();
  }

  /** False when it was not sent. Never throws: a connection that was given may be drained by its owner at any time. */
  #publish(subject: string, text: string, reply?: string): boolean {
    // While it is not connected, the client would drop it, or keep it for later when nobody wants it any more.
    if (!this.isConnected || this.#connection.isClosed()) return false;
    try {
      this.#connection.publish(subject, text, reply === undefined ? undefined : { reply });
    } catch (error) {
      log.warn("A message was lost: {error}", { error });
      return false;
    }
    this.#unflushed += text.length;
    return true;
  }

  #subscribe(subject: string, take: (message: Msg) => void, queue?: string): Subscription {
    const callback = (error: Error | null, message: Msg) => {
      if (error === null) take(message);
      else log.error("{subject} cannot be subscribed to: {error}", { subject, error });
    };
    return this.#connection.subscribe(subject, queue === undefined ? { callback } : { callback, queue });
  }

  #onRequest({ data, reply = "" }: Msg): void {
    // Below the asker's address stands the id of the request, for the server's own word that nobody serves it.
    const from = reply.slice(0, reply.lastIndexOf("."));
    this.#events.onRequest(data, isAddress(from) ? from : "");
  }

  #onInbox(message: Msg): void {
    const last = message.subject.slice(this.address.length + 1);
    switch (last[0]) {
      case token.message:
        return this.#events.onMessage(message.data);
      case token.request:
        if (message.headers?.code === noResponders) this.#onNobody(last.slice(1));
        return;
      case token.probe:
        if (message.headers?.code === noResponders) {
          this.#events.onGone(Buffer.from(last.slice(1), "base64url").toString());
        }
    }
  }

  #onNobody(name: string): void {
    const requestId = this.#recent.find(name);
    if (requestId !== undefined) this.#events.onUnserved(requestId);
  }

  async #stop(operationId: string): Promise<void> {
    const served = this.#served.get(operationId);
    if (served === undefined) return;
    this.#served.delete(operationId);
    if (!this.isConnected) served.requests.unsubscribe();
    else await settlesWithin(maxWaitMs, served.requests.drain());
    served.aborts.unsubscribe();
  }

  async #watchConnection(): Promise<void> {
    for await (const status of this.#statuses) {
      if (status.type === "disconnect") this.#onLost(new Error("The server has closed the connection"));
      if (status.type === "reconnect") this.#onRestored();
      if (status.type === "error") this.#onError(status.error);
    }
    this.#onLost(new Error("The connection was closed"));
  }

  #onError(error: Error): void {
    log.warn("The server says: {error}", { error });
    const { operation, subject = "" } = error as Partial<PermissionViolationError>;
    const operationId = operation === "publish" ? this.#subjects.calledAt(subject) : undefined;
    if (operationId === undefined) return;
    // Those that were sent before it was forbidden may have arrived.
    this.#events.onDenied(operationId, notAllowed(`call ${operationId}`, true));
  }

  #onLost(error: Error): void {
    if (!this.isConnected || this.#isClosed) return;
    this.isConnected = false;
    this.#events.onLinkLost(error);
  }

  #onRestored(): void {
    if (this.#isClosed) return;
    this.isConnected = true;
    this.#events.onLinkRestored();
  }

  readonly #onFlushed = (): void => {
    this.#unflushed = 0;
    this.#flushing = undefined;
  };
}

function notAllowed(what: string, mayHaveRun = false): CallError {
  const message = `The NATS server does not allow this user to ${what}.`;
  return new CallError("UPSTREAM_DENIED", message, undefined, { retryable: false, mayHaveRun });
}
