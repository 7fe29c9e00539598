import type { Server, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { getOwn, type JSONObject } from "../../internal/objects.ts";
import { createId } from "../../internal/request-id.ts";
import { startTimer, type Timer } from "../../internal/timers.ts";
import { resolveCount, resolveDuration } from "../../operation/index.ts";
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

/** A session of a client. It belongs to the identity that opened it. */
interface Session {
  readonly id: string;
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  /** The sender of its last request. A client replaces its token before it expires. */
  caller: Caller;
  /** Time of its last request or response, by the clock of `performance`. */
  usedAt: number;
  /** The ids of the requests that have no response yet. */
  readonly running: Set<unknown>;
  /** Number of streams on which the client waits for notifications. */
  streams: number;
  /** Whether the client sends several messages as an array, which share a stream. Only 2025-03-26 allows it. */
  hasBatches: boolean;
  /** Fires when the session may be idle. One timer for all requests, because most end soon. */
  idle: Timer | undefined;
  /** Stops watching the credentials of the caller. */
  unwatch: () => void;
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
  async handle(sdk: ServerSDK, request: Request, body: unknown, caller: Caller): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    if (id === null && request.method !== "POST") {
      return toRPCError(405, -32_000, "Method not allowed.", { headers: { allow: "POST" } });
    }
    if (id === null && !sdk.isInitializeRequest(body)) {
      return getOwn(body, "method") === "initialize"
        ? toRPCError(400, -32_602, "Invalid initialize. Send protocolVersion, capabilities and clientInfo.")
        : toRPCError(400, -32_000, "The Mcp-Session-Id header is missing. Start a session with initialize.");
    }
    const session = id === null ? await this.#open(sdk, caller) : this.#sessions.get(id);
    // A session of another identity does not exist for this one.
    if (session === undefined || session.caller.identity?.id !== caller.identity?.id) {
      return toRPCError(404, -32_001, "Session not found. Start a new session.");
    }
    if (request.method === "DELETE") {
      this.#end(session);
      return new Response(null);
    }
    const messages: unknown[] = Array.isArray(body) ? body : [body];
    const ids = messages.filter(isRequest).map((message) => message["id"]);
    const repeated = ids.find((each) => session.running.has(each));
    if (repeated !== undefined) {
      return toRPCError(400, -32_600, `A request with the id ${JSON.stringify(repeated)} is running. Use another id.`);
    }
    this.#use(session, caller);
    for (const each of ids) session.running.add(each);
    session.hasBatches ||= Array.isArray(body);
    const response = await session.transport.handleRequest(request, { parsedBody: body });
    if (!response.ok) {
      for (const each of ids) this.#finish(session, each);
      if (id === null) this.#end(session);
    } else if (id === null) {
      if (this.#sessions.size > this.#max) this.#end(findExcess([...this.#sessions.values()]));
    } else if (request.method === "GET") {
      session.streams += 1;
      onceAborted(request.signal, () => {
        session.streams -= 1;
        session.usedAt = performance.now();
      });
    }
    for (const message of messages) this.#endCancelled(session, message);
    return response;
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#sessions.values(), ({ server }) => server.close()));
  }

  async #open(sdk: ServerSDK, caller: Caller): Promise<Session> {
    const id = createId();
    const server = this.#host.createServer(sdk, "legacy");
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => id });
    const unused = { usedAt: performance.now(), streams: 0, hasBatches: false, idle: undefined, unwatch: () => {} };
    const session: Session = { id, server, transport, caller, running: new Set(), ...unused };
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      const sent = send(message, options);
      if (!("method" in message)) this.#finish(session, message.id);
      return sent;
    };
    // A client without an open stream is not notified.
    const notify = () => server.sendToolListChanged().catch(() => {});
    const unfollow = this.#host.followTools(() => session.caller.identity, notify);
    // The SDK calls it immediately when the server is closed.
    server.onclose = () => {
      unfollow();
      session.unwatch();
      session.idle?.stop();
      this.#sessions.delete(id);
    };
    this.#endWhenIdle(session);
    await server.connect(transport);
    return session;
  }

  /** Ends a session: its notifications immediately, and the rest when its running calls have finished. */
  #end(session: Session): void {
    this.#sessions.delete(session.id);
    session.unwatch();
    session.transport.closeStandaloneSSEStream();
    if (session.running.size === 0) void session.server.close();
  }

  /** A request has a response, or will not have one. */
  #finish(session: Session, id: unknown): void {
    session.running.delete(id);
    session.usedAt = performance.now();
    const isEnded = !this.#sessions.has(session.id);
    if (isEnded && session.running.size === 0) void session.server.close();
  }

  /** Makes it the most recently used session, which ends with the credentials of this caller. */
  #use(session: Session, caller: Caller): void {
    session.caller = caller;
    session.usedAt = performance.now();
    this.#sessions.delete(session.id);
    this.#sessions.set(session.id, session);
    session.unwatch();
    session.unwatch = this.#gate.watch(caller, () => this.#end(session), this.#host.compareTools);
  }

  #endWhenIdle(session: Session): void {
    const now = performance.now();
    if (session.streams + session.running.size > 0) session.usedAt = now;
    const remaining = session.usedAt + this.#idleTimeout - now;
    if (remaining <= 0) this.#end(session);
    else session.idle = startTimer(() => this.#endWhenIdle(session), remaining, { keepsAlive: false });
  }

  /** Ends the stream of a call that a message cancels. The SDK does not respond to the call, and would keep the stream open. */
  #endCancelled(session: Session, message: unknown): void {
    const id = getOwn(getOwn(message, "params"), "requestId");
    if (getOwn(message, "method") !== "notifications/cancelled" || !session.running.has(id)) return;
    this.#finish(session, id);
    if (session.hasBatches) return;
    const { transport } = session;
    transport.closeSSEStream(id as string | number);
    // The transport forgets the call when it has a response, which it cannot send anymore.
    const error = { code: -32_000, message: "Cancelled." };
    transport.send({ jsonrpc: "2.0", id: id as string | number, error }).catch(() => {});
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

function isRequest(message: unknown): message is JSONObject {
  return getOwn(message, "method") !== undefined && getOwn(message, "id") !== undefined;
}
