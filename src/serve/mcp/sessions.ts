import type {
  WebStandardStreamableHTTPServerTransport as HTTPTransport,
  JSONRPCMessage,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/server";
import { getOwn } from "../../internal/objects.ts";
import { createId } from "../../internal/request-id.ts";
import { startTimer, type Timer } from "../../internal/timers.ts";
import { resolveCount, resolveDuration } from "../../operation/inside.ts";
import { eventStreamType } from "../../transport/http-form.ts";
import type { Caller } from "../authentication.ts";
import { onceAborted } from "../calls.ts";
import type { Gate } from "../gate.ts";
import type { MCPHost, ServerSDK } from "./mcp-host.ts";
import { toRPCError } from "./responses.ts";

/** Limits of the sessions that clients of versions before 2026-07-28 open. Later versions have no sessions. */
export interface MCPSessionOptions {
  /**
   * Maximum number of sessions. A further one ends the least recently used session of the identity that has the most.
   * @default 1,000
   */
  max?: number | undefined;
  /** Time in ms after which a session without a request, a running call or an open stream ends. @default one hour */
  idleTimeout?: number | undefined;
}

/** Responds to requests. */
interface Reply {
  /** Sends the response of a request, or its progress. */
  send(message: JSONRPCMessage, options?: TransportSendOptions): unknown;
  /** Ends the response of a request that was cancelled: the SDK would let the client wait. */
  cancel(id: string | number): unknown;
}

/**
 * A session of a client, and the transport of its server. It belongs to the identity that opened it. Every request over HTTP
 * has a transport of the SDK, which checks it and can write an event stream. Streams cost as much as a call, so most
 * results are returned without one.
 */
class Session implements Transport {
  onclose?: () => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  readonly sessionId = createId();
  /** The sender of its last request. A client replaces its token before it expires. */
  caller: Caller;
  /** Time of its last request or response, by the clock of `performance`. */
  usedAt = performance.now();
  /** Fires when the session may be idle. One timer for all requests, because most end soon. */
  idle: Timer | undefined = undefined;
  /** Stops watching the credentials of the caller. */
  unwatch = (): void => {};
  /** How to respond to the running requests, by their ids. */
  readonly #replies = new Map<unknown, Reply>();
  /** The transport of the stream on which the client waits for notifications. */
  #notifications: HTTPTransport | undefined = undefined;
  #isEnded = false;
  /** Whether every response is a stream. */
  readonly #usesStreams: boolean;

  constructor(caller: Caller, usesStreams: boolean) {
    this.caller = caller;
    this.#usesStreams = usesStreams;
  }

  /** Whether a request is running, or the client waits for notifications. */
  get isBusy(): boolean {
    return this.#replies.size > 0 || this.#notifications !== undefined;
  }

  /** Handles a POST. Resolves with a message if it is the whole response. */
  async post(sdk: ServerSDK, request: Request, body: unknown): Promise<Response | JSONRPCMessage> {
    const ids = new Set<unknown>();
    for (const message of toMessages(body)) {
      const id = getOwn(message, "method") === undefined ? undefined : getOwn(message, "id");
      if (id === undefined) continue;
      if (ids.has(id) || this.#replies.has(id)) {
        return toRPCError(400, -32_600, `A request with the id ${JSON.stringify(id)} is running. Use another id.`);
      }
      ids.add(id);
    }
    const enableJsonResponse = !this.#usesStreams && !needsStream(body);
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({ enableJsonResponse });
    transport.onmessage = (message, extra) => {
      this.onmessage?.(message, extra);
      const isCancelling = getOwn(message, "method") === "notifications/cancelled";
      if (isCancelling) this.#cancel(getOwn(getOwn(message, "params"), "requestId"));
    };
    return new Promise((resolve, reject) => {
      const reply = enableJsonResponse ? toSingleReply(resolve) : toStreamReply(transport, Array.isArray(body));
      for (const id of ids) this.#replies.set(id, reply);
      const onHandled = (response: Response) => {
        if (!response.ok) for (const id of ids) this.#settle(id);
        resolve(response);
      };
      transport.handleRequest(request, { parsedBody: body }).then(onHandled, reject);
    });
  }

  /** Opens the stream of notifications, until the client disconnects. It replaces an older one, which may be dead. */
  async listen(sdk: ServerSDK, request: Request): Promise<Response> {
    const transport = new sdk.WebStandardStreamableHTTPServerTransport();
    const response = await transport.handleRequest(request);
    if (!response.ok) return response;
    void this.#notifications?.close();
    this.#notifications = transport;
    transport.onclose = () => {
      this.#notifications = undefined;
      this.usedAt = performance.now();
    };
    onceAborted(request.signal, () => void transport.close());
    if (this.#isEnded) void transport.close();
    return response;
  }

  /** Ends notifications immediately, and the session when its running calls have finished. */
  end(): void {
    this.#isEnded = true;
    void this.#notifications?.close();
    if (!this.isBusy) void this.close();
  }

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const isResponse = !("method" in message);
    const id = isResponse ? message.id : options?.relatedRequestId;
    const sent = id === undefined ? this.#notifications?.send(message) : this.#replies.get(id)?.send(message, options);
    if (isResponse) this.#settle(id);
    await sent;
  }

  async close(): Promise<void> {
    const { onclose } = this;
    delete this.onclose; // What follows may close it again.
    for (const id of this.#replies.keys()) this.#cancel(id);
    void this.#notifications?.close();
    onclose?.();
  }

  #cancel(id: unknown): void {
    const reply = this.#replies.get(id);
    this.#settle(id);
    reply?.cancel(id as string | number);
  }

  /** A request has a response, or will not have one. */
  #settle(id: unknown): void {
    this.#replies.delete(id);
    this.usedAt = performance.now();
    if (this.#isEnded) this.end();
  }
}

/** The sessions of clients that start with a handshake. */
export class Sessions {
  readonly #host: MCPHost;
  readonly #gate: Gate;
  readonly #max: number;
  readonly #idleTimeout: number;
  /** The least recently used session comes first. */
  readonly #sessions = new Map<string, Session>();

  constructor(host: MCPHost, gate: Gate, { max, idleTimeout }: MCPSessionOptions = {}) {
    this.#host = host;
    this.#gate = gate;
    this.#max = resolveCount("sessions.max", max, 1_000, { min: 1, infinite: true });
    this.#idleTimeout = resolveDuration("sessions.idleTimeout", idleTimeout, 3_600_000, { infinite: true });
  }

  /** Handles a request of a session, or opens one. `body` is the parsed body of a POST. */
  async handle(sdk: ServerSDK, request: Request, body: unknown, caller: Caller): Promise<Response | JSONRPCMessage> {
    const id = request.headers.get("mcp-session-id");
    if (id === null && request.method !== "POST") {
      return toRPCError(405, -32_000, "Method not allowed.", { headers: { allow: "POST" } });
    }
    if (id === null && !sdk.isInitializeRequest(body)) {
      return getOwn(body, "method") === "initialize"
        ? toRPCError(400, -32_602, "Invalid initialize. Send protocolVersion, capabilities and clientInfo.")
        : toRPCError(400, -32_000, "The Mcp-Session-Id header is missing. Start a session with initialize.");
    }
    if (id === null) return this.#open(sdk, request, body, caller);
    const session = this.#sessions.get(id);
    // A session of another identity does not exist for this one.
    if (session === undefined || session.caller.identity?.id !== caller.identity?.id) {
      return toRPCError(404, -32_001, "Session not found. Start a new session.");
    }
    if (request.method === "DELETE") {
      this.#end(session);
      return new Response(null);
    }
    if (toMessages(body).some((message) => getOwn(message, "method") === "initialize")) {
      return toRPCError(400, -32_600, "The session is initialized already.");
    }
    this.#use(session, caller);
    if (request.method === "GET") return session.listen(sdk, request);
    return session.post(sdk, request, body);
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#sessions.values(), (session) => session.close()));
  }

  async #open(sdk: ServerSDK, request: Request, body: unknown, caller: Caller): Promise<Response> {
    const session = new Session(caller, this.#host.usesStreams);
    const server = this.#host.createServer(sdk, "legacy");
    // A client without an open stream is not notified.
    const notify = () => server.sendToolListChanged().catch(() => {});
    const unfollow = this.#host.followTools(() => session.caller.identity, notify);
    server.onclose = () => {
      unfollow();
      this.#end(session);
    };
    await server.connect(session);
    const response = (await session.post(sdk, request, body)) as Response;
    if (!response.ok) await session.close();
    else {
      response.headers.set("mcp-session-id", session.sessionId);
      this.#endWhenIdle(session);
      this.#use(session, caller);
      if (this.#sessions.size > this.#max) this.#end(findExcess([...this.#sessions.values()]));
    }
    return response;
  }

  /** Ends a session: its notifications immediately, and the rest when its running calls have finished. */
  #end(session: Session): void {
    this.#sessions.delete(session.sessionId);
    session.unwatch();
    session.idle?.stop();
    session.end();
  }

  /** Makes it the most recently used session, which ends with the credentials of this caller. */
  #use(session: Session, caller: Caller): void {
    session.caller = caller;
    session.usedAt = performance.now();
    this.#sessions.delete(session.sessionId);
    this.#sessions.set(session.sessionId, session);
    session.unwatch();
    session.unwatch = this.#gate.watch(caller, () => this.#end(session));
  }

  #endWhenIdle(session: Session): void {
    const now = performance.now();
    if (session.isBusy) session.usedAt = now;
    const remaining = session.usedAt + this.#idleTimeout - now;
    if (remaining <= 0) this.#end(session);
    else session.idle = startTimer(() => this.#endWhenIdle(session), remaining, { keepsAlive: false });
  }
}

/**
 * Returns the first item of the identity with the most items, so that no identity displaces the items of others.
 * @param items - at least one, the least recently used first
 */
export function findExcess<T extends { readonly caller: Caller }>(items: readonly T[]): T {
  const ownerOf = ({ caller }: T) => caller.identity?.id;
  const counts = new Map<string | undefined, number>();
  for (const item of items) counts.set(ownerOf(item), (counts.get(ownerOf(item)) ?? 0) + 1);
  const most = Math.max(...counts.values());
  return items.find((item) => counts.get(ownerOf(item)) === most)!;
}

/** Returns the messages of a body. Only 2025-03-26 allows several. */
function toMessages(body: unknown): readonly unknown[] {
  return Array.isArray(body) ? body : [body];
}

/** Returns whether several messages may be sent in response. The response to `initialize` has a header. */
function needsStream(body: unknown): boolean {
  const progressToken = getOwn(getOwn(getOwn(body, "params"), "_meta"), "progressToken");
  return Array.isArray(body) || progressToken !== undefined || getOwn(body, "method") === "initialize";
}

function toSingleReply(resolve: (response: Response | JSONRPCMessage) => void): Reply {
  return {
    send: (message) => "method" in message || resolve(message),
    cancel: () => resolve(new Response("", { headers: { "content-type": eventStreamType } })),
  };
}

function toStreamReply(transport: HTTPTransport, isShared: boolean): Reply {
  const error = { code: -32_000, message: "Cancelled." };
  return {
    send: (message, options) => transport.send(message, options),
    // A stream that others use ends only when all requests have a response.
    cancel: (id) => (isShared ? transport.send({ jsonrpc: "2.0", id, error }).catch(() => {}) : transport.close()),
  };
}
