import { createHash, randomBytes } from "node:crypto";
import type { Msg, NatsConnection, PermissionViolationError, Status, Subscription } from "@nats-io/transport-node";
import { BoundedMap } from "../../internal/bounded.ts";
import { logger } from "../../internal/log.ts";
import { settlesWithin } from "../../internal/wait.ts";
import { CallError } from "../../operation/index.ts";
import type { BusEngine, EngineEvents } from "../bus/index.ts";
import { notConnected } from "../peer/index.ts";

const log = logger("transport", "nats");

/** The workers of an operation form one queue group, so each request is delivered to one of them. */
const queue = "operations";
/** Number of unread bytes above which a sender waits for the server. */
const highWaterBytes = 1024 * 1024;
const defaultMaxPayload = 1024 * 1024;
/** Number of recent requests to keep. A "no responders" reply arrives immediately, so this many are enough. */
const maxRecentRequests = 16_384;
/** The last token of a subject below the own address: a message, or a "no responders" reply of the server. */
const token = { message: "m", request: "r", probe: "p" } as const;
const noResponders = 503;
/** Maximum time to wait for an unresponsive server, in ms. */
const maxWaitMs = 1_500;

/** Longer tokens are hashed: a server accepts lines of 4,096 bytes, which contain both subjects of a message. */
const maxTokenLength = 256;
const maxAddressLength = 1_024;
/** Maximum number of cached ids, because callers can send any number of different ids. */
const maxRemembered = 10_000;
const unsafe = /[^A-Za-z0-9_-]/gu;

/** Options of a {@link NATSEngine}. */
export interface NATSEngineOptions {
  readonly prefix: string;
  readonly inboxPrefix: string;
  /** Whether the connection is closed with the engine. Otherwise, the user owns it. */
  readonly ownsConnection: boolean;
}

interface Served {
  requests: Subscription;
  aborts: Subscription;
}

/** Carries frames over NATS, with one subject per operation and one subscription for all messages to this peer. */
export class NATSEngine implements BusEngine {
  readonly name = "nats";
  readonly address: string;
  isConnected = true;
  readonly #connection: NatsConnection;
  readonly #options: NATSEngineOptions;
  readonly #events: EngineEvents;
  readonly #subjects: Subjects;
  /** The latest requests by number. A number is short, because it travels with every request. */
  readonly #recentRequests: Array<{ requestId: string; operationId: string }> = new Array(maxRecentRequests);
  #requestCount = 0;
  readonly #served = new Map<string, Served>();
  /** Subscriptions that last until this peer is closed. */
  readonly #subscriptions: Subscription[] = [];
  readonly #statuses: AsyncIterable<Status> & { stop?(): void };
  #unflushed = 0;
  #flushing: Promise<void> | undefined;
  #isClosed = false;

  constructor(connection: NatsConnection, options: NATSEngineOptions, events: EngineEvents) {
    this.#connection = connection;
    this.#options = options;
    this.#events = events;
    this.#subjects = new Subjects(options.prefix);
    // The address travels with every request, so it is short: 128 random bits in 22 characters.
    this.address = `${options.inboxPrefix}.${randomBytes(16).toString("base64url")}`;
    this.#subscriptions.push(this.#subscribe(`${this.address}.*`, (message) => this.#onInbox(message)));
    this.#statuses = connection.status();
    void this.#watchConnection();
  }

  get maxMessage(): number {
    return this.#connection.info?.max_payload ?? defaultMaxPayload;
  }

  /** Resolves when the server has registered the subscriptions of this peer. */
  async ready(): Promise<void> {
    await this.#connection.flush();
    // Without this check, every call would wait for a reply until its deadline.
    if (this.#subscriptions[0]!.isClosed()) throw notAllowed(`subscribe to ${this.address}`);
  }

  request(operationId: string, requestId: string, message: string): void {
    this.#requestCount++;
    this.#recentRequests[this.#requestCount % maxRecentRequests] = { requestId, operationId };
    const reply = `${this.address}.${token.request}${this.#requestCount.toString(36)}`;
    if (!this.#publish(this.#subjects.call(operationId), message, reply)) throw notConnected(this.name);
  }

  withdraw(operationId: string, _requestId: string, message: string): void {
    this.#publish(this.#subjects.abort(operationId), message);
  }

  send(address: string, message: string, isProbe = false): void {
    if (!isAddress(address)) return; // the address may originate from an untrusted frame
    const reply = isProbe ? `${this.address}.${token.probe}${Buffer.from(address).toString("base64url")}` : undefined;
    this.#publish(`${address}.${token.message}`, message, reply);
  }

  publish(message: string): void {
    this.#publish(this.#subjects.peers, message);
  }

  async listen(): Promise<void> {
    this.#subscriptions.push(this.#subscribe(this.#subjects.peers, ({ data }) => this.#events.onMessage(data)));
    await this.#connection.flush();
  }

  async serve(operationIds: ReadonlySet<string>): Promise<void> {
    const stopped = [...this.#served.keys()].filter((id) => !operationIds.has(id));
    const fresh = [...operationIds].filter((id) => !this.#served.has(id));
    const stopping = Promise.all(stopped.map((id) => this.#stop(id)));
    if (fresh.length > 0) await this.#subscribeTo(fresh);
    await stopping;
  }

  async #subscribeTo(operationIds: readonly string[]): Promise<void> {
    if (!this.isConnected) throw notConnected(this.name);
    for (const id of operationIds) {
      this.#served.set(id, {
        requests: this.#subscribe(this.#subjects.call(id), (message) => this.#onRequest(message), queue),
        aborts: this.#subscribe(this.#subjects.abort(id), ({ data }) => this.#events.onMessage(data)),
      });
    }
    await this.#connection.flush();
    const refused = operationIds.filter((id) => this.#served.get(id)?.requests.isClosed());
    if (refused.length > 0 && !this.#isClosed) throw notAllowed(`serve ${refused.join(", ")}`);
  }

  whenWritable(): Promise<void> | undefined {
    if (this.#unflushed < highWaterBytes || !this.isConnected) return undefined;
    this.#flushing ??= this.#connection.flush().then(this.#onFlushed, this.#onFlushed);
    return this.#flushing;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#statuses.stop?.(); // a user's connection may outlive many transports
    const served = [...this.#served.values()].flatMap(({ requests, aborts }) => [requests, aborts]);
    for (const subscription of [...this.#subscriptions, ...served]) {
      if (!subscription.isClosed()) subscription.unsubscribe();
    }
    // Send the last messages before closing.
    if (this.isConnected) await settlesWithin(maxWaitMs, this.#connection.flush());
    if (this.#options.ownsConnection) await settlesWithin(maxWaitMs, this.#connection.close());
  }

  /** Returns whether the message was sent. Does not throw, because a user may drain the connection at any time. */
  #publish(subject: string, message: string, reply?: string): boolean {
    // A disconnected client would drop the message, or keep it until it is out of date.
    if (!this.isConnected || this.#connection.isClosed()) return false;
    try {
      this.#connection.publish(subject, message, reply === undefined ? undefined : { reply });
    } catch (error) {
      log.warn("A message could not be sent: {error}", { error });
      return false;
    }
    this.#unflushed += message.length;
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
    // Strip the last token: it is the number of the request, for a "no responders" reply of the server.
    const from = reply.slice(0, reply.lastIndexOf("."));
    this.#events.onRequest(data, isAddress(from) ? from : "");
  }

  #onInbox(message: Msg): void {
    const last = message.subject.slice(this.address.length + 1);
    switch (last[0]) {
      case token.message:
        return this.#events.onMessage(message.data);
      case token.request:
        if (message.headers?.code === noResponders) this.#onNoResponders(Number.parseInt(last.slice(1), 36));
        return;
      case token.probe:
        if (message.headers?.code === noResponders) {
          this.#events.onGone(Buffer.from(last.slice(1), "base64url").toString());
        }
    }
  }

  #onNoResponders(number: number): void {
    const isRecent = number > 0 && number <= this.#requestCount && number > this.#requestCount - maxRecentRequests;
    if (isRecent) this.#events.onUnserved(this.#recentRequests[number % maxRecentRequests]!.requestId);
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
    log.warn("The NATS server reported an error: {error}", { error });
    const { operation, subject = "" } = error as Partial<PermissionViolationError>;
    const operationId = operation === "publish" ? this.#subjects.calledAt(subject) : undefined;
    if (operationId === undefined) return;
    for (const request of this.#recentRequests) {
      if (request?.operationId !== operationId) continue;
      // Requests that were sent before the permission was revoked may have arrived.
      this.#events.onUnserved(request.requestId, notAllowed(`call ${operationId}`, true));
    }
  }

  #onLost(error: Error): void {
    if (!this.isConnected || this.#isClosed) return;
    this.isConnected = false;
    this.#events.onLink(error);
  }

  #onRestored(): void {
    if (this.#isClosed) return;
    this.isConnected = true;
    this.#events.onLink(undefined);
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

/** The subjects below one prefix. */
class Subjects {
  /** The subject on which peers announce their operations. */
  readonly peers: string;
  readonly #prefix: string;
  /** Cache of subjects by operation, because encoding a subject takes longer than a lookup. */
  readonly #calls = new BoundedMap<string, string>(maxRemembered);

  constructor(prefix: string) {
    this.#prefix = prefix;
    this.peers = `${prefix}.peers`;
  }

  /** Returns the subject of requests for an operation. Each request goes to one worker of the queue group. */
  call(operationId: string): string {
    let subject = this.#calls.get(operationId);
    if (subject !== undefined) return subject;
    subject = `${this.#prefix}.call.${encodeOperationId(operationId)}`;
    this.#calls.set(operationId, subject);
    return subject;
  }

  /** Returns the operation of a subject if it was called recently. */
  calledAt(subject: string): string | undefined {
    for (const [operationId, called] of this.#calls) if (called === subject) return operationId;
    return undefined;
  }

  /** Returns the subject that all workers of an operation subscribe to. */
  abort(operationId: string): string {
    return `${this.#prefix}.abort.${encodeOperationId(operationId)}`;
  }
}

/**
 * Returns whether a subject can be the address of a peer. Addresses in messages are not trusted: nothing is sent to a
 * subject that is not an inbox, or that has a special meaning for the server.
 */
function isAddress(subject: string): boolean {
  return subject.length <= maxAddressLength && /^(?:[A-Za-z0-9_-]+\.)+[A-Za-z0-9_-]{22}$/.test(subject);
}

/**
 * Encodes an id as two tokens, namespace and name, so that permissions can be set by namespace. Keeps letters, digits,
 * `_` and `-`. Every other character becomes `=`, its code in hexadecimal, and `=`.
 */
function encodeOperationId(operationId: string): string {
  const dot = operationId.indexOf(".");
  if (dot < 0) return encodeToken(operationId);
  return `${encodeToken(operationId.slice(0, dot))}.${encodeToken(operationId.slice(dot + 1))}`;
}

function encodeToken(name: string): string {
  const token = name.replace(unsafe, (character) => `=${character.codePointAt(0)!.toString(16)}=`);
  if (token === "") return "=";
  if (token.length <= maxTokenLength) return token;
  return `==${createHash("sha256").update(name).digest("hex")}`;
}
