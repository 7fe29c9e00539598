import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import { FairShare } from "../../call/fair-share.ts";
import { getOwn } from "../../internal/objects.ts";
import { startTimer, type Timer } from "../../internal/timers.ts";
import { resolveCount, resolveDuration } from "../../operation/inside.ts";
import { eventStreamType } from "../../transport/http-form.ts";
import type { Exchange } from "../exchange.ts";
import type { Gate } from "../gate.ts";
import { createOutbox } from "./pace.ts";
import { heartbeat, type MCPRequest, RPCError, streamHeaders, toEvent, tooMany } from "./responses.ts";
import { emptyAuthInfo, type ServerSDK, type ToolServer } from "./tool-server.ts";

/** Limits of the sessions that clients of versions before 2026-07-28 open. Later versions have no sessions. */
export interface MCPSessionOptions {
  /** Maximum number of sessions. Above half of it, the identity that has the most cannot open a further one. @default 1,000 */
  max?: number | undefined;
  /** Time in ms after which a session without a request, a running call or an open stream ends. @default one hour */
  idleTimeout?: number | undefined;
}

/** A session of a client. It belongs to the identity that opened it. */
interface Session {
  readonly id: string;
  readonly identityId: string | undefined;
  /** Whose share of the sessions it uses. */
  readonly owner: string;
  /** The connection of its server, which receives the messages of requests and sends the responses. */
  readonly connection: Transport;
  /** How to respond to the running requests, by their ids. */
  readonly replies: Map<unknown, Reply>;
  /** Ends the stream on which the client waits for notifications. */
  endStream?: (() => void) | undefined;
  /** Fires when the session may be idle. One timer for all requests, because most end soon. */
  idle?: Timer;
  /** Time of its last request or response, by the clock of `performance`. */
  usedAt: number;
}

/** Responds to a request. */
interface Reply {
  /** Sends the response, or progress. Resolves when the client has room for more. */
  send(message: JSONRPCMessage): Promise<void>;
  /** Ends the response of a request that was cancelled, without a message. */
  cancel(): void;
}

const toolsChanged = { jsonrpc: "2.0", method: "notifications/tools/list_changed" } as const;

/** The sessions of clients that start with a handshake. */
export class Sessions {
  readonly #tools: ToolServer;
  readonly #gate: Gate;
  readonly #share: FairShare;
  readonly #idleTimeout: number;
  readonly #sessions = new Map<string, Session>();

  constructor(tools: ToolServer, gate: Gate, { max, idleTimeout }: MCPSessionOptions = {}) {
    this.#tools = tools;
    this.#gate = gate;
    this.#share = new FairShare(resolveCount("sessions.max", max, 1_000, { min: 1, infinite: true }));
    this.#idleTimeout = resolveDuration("sessions.idleTimeout", idleTimeout, 3_600_000, { infinite: true });
  }

  /** Handles a request of a session, or opens one. Throws if it is refused. */
  async handle(sdk: ServerSDK, request: MCPRequest): Promise<void> {
    const { exchange, caller, headers } = request;
    const id = exchange.headers.get("mcp-session-id");
    if (id === null) return this.#open(sdk, request);
    const session = this.#sessions.get(id);
    // A session of another identity does not exist for this one.
    if (session === undefined || session.identityId !== caller.identity?.id) {
      throw new RPCError(404, -32_001, "Session not found. Start a new session.");
    }
    const version = exchange.headers.get("mcp-protocol-version");
    if (version !== null && !sdk.SUPPORTED_PROTOCOL_VERSIONS.includes(version)) {
      const supported = sdk.SUPPORTED_PROTOCOL_VERSIONS.join(", ");
      throw new RPCError(400, -32_000, `The protocol version is not supported. Use one of ${supported}.`);
    }
    session.usedAt = performance.now();
    if (exchange.method === "POST") return this.#post(session, request);
    if (exchange.method === "GET") return this.#listen(session, request);
    if (exchange.method !== "DELETE") throw wrongMethod("GET, POST, DELETE");
    this.#end(session);
    exchange.reply(200, headers);
  }

  /** Ends all sessions, and their running requests without a response. */
  close(): void {
    for (const session of this.#sessions.values()) {
      this.#end(session);
      for (const id of session.replies.keys()) this.#cancel(session, id);
    }
  }

  async #open(sdk: ServerSDK, request: MCPRequest): Promise<void> {
    const { exchange, body, caller } = request;
    if (exchange.method !== "POST") throw wrongMethod("POST");
    if (!sdk.isInitializeRequest(body)) {
      throw getOwn(body, "method") === "initialize"
        ? new RPCError(400, -32_602, "Invalid initialize. Send protocolVersion, capabilities and clientInfo.")
        : new RPCError(400, -32_000, "The Mcp-Session-Id header is missing. Start a session with initialize.");
    }
    assertAccepts(exchange, "application/json", eventStreamType);
    const owner = caller.owner;
    if (!this.#share.take(owner)) throw tooMany("sessions", this.#share.limit);
    const connection: Transport = {
      start: async () => {},
      send: (message, options) => this.#send(session, message, options?.relatedRequestId),
      close: async () => connection.onclose?.(),
    };
    const common = { id: crypto.randomUUID(), identityId: caller.identity?.id, owner, usedAt: performance.now() };
    const session: Session = { ...common, connection, replies: new Map() };
    await this.#tools.createServer(sdk, "legacy").connect(connection);
    this.#sessions.set(session.id, session);
    this.#endWhenIdle(session);
    this.#respond(session, request, { "mcp-session-id": session.id });
  }

  #post(session: Session, request: MCPRequest): void {
    const { exchange, body, headers } = request;
    if (Array.isArray(body)) {
      throw new RPCError(400, -32_600, "Batches of messages are not supported. Send one message in each request.");
    }
    const [id, method] = [getOwn(body, "id"), getOwn(body, "method")];
    if (method === "initialize") throw new RPCError(400, -32_600, "The session is initialized already.");
    assertAccepts(exchange, "application/json", eventStreamType);
    if (id !== undefined && method !== undefined) return this.#respond(session, request);
    session.connection.onmessage?.(body as JSONRPCMessage);
    if (method === "notifications/cancelled") this.#cancel(session, getOwn(getOwn(body, "params"), "requestId"));
    exchange.reply(202, headers);
  }

  /**
   * Passes on a request, and sends its response: as JSON, or as a stream if the client asked for progress. Streams cost as
   * much as a call.
   */
  #respond(session: Session, request: MCPRequest, added?: Record<string, string>): void {
    const { exchange, body, headers } = request;
    const { replies, connection } = session;
    const id = getOwn(body, "id");
    if (replies.has(id)) {
      throw new RPCError(400, -32_600, `A request with the id ${JSON.stringify(id)} is running. Use another id.`);
    }
    const receive = (reply: Reply) => {
      replies.set(id, reply);
      connection.onmessage?.(body as JSONRPCMessage, { authInfo: { ...emptyAuthInfo, extra: { request } } });
    };
    const json = { ...headers, ...added, "content-type": "application/json" };
    if (getOwn(getOwn(getOwn(body, "params"), "_meta"), "progressToken") === undefined) {
      receive({
        send: async (message) => {
          if (isResponse(message)) exchange.reply(200, json, JSON.stringify(message));
        },
        cancel: () => exchange.reply(200, { ...json, ...streamHeaders }),
      });
      return;
    }
    const run = (write: (text: string) => Promise<void>) =>
      new Promise<void>((resolve) => {
        const send = async (message: JSONRPCMessage) => {
          await write(toEvent(message));
          if (isResponse(message)) resolve();
        };
        receive({ send, cancel: resolve });
        exchange.onClose(resolve);
      });
    exchange.stream({ ...json, ...streamHeaders }, run, heartbeat);
  }

  /** Opens the stream of notifications. It replaces an older one, which may be dead, and ends with its credentials. */
  #listen(session: Session, { exchange, caller, headers }: MCPRequest): void {
    assertAccepts(exchange, eventStreamType);
    session.endStream?.();
    const run = (write: (text: string) => Promise<void>) =>
      new Promise<void>((resolve) => {
        const end = () => {
          unfollow();
          unwatch();
          if (session.endStream === end) session.endStream = undefined;
          session.usedAt = performance.now();
          resolve();
        };
        const notify = createOutbox(() => write(toEvent(toolsChanged)));
        const unfollow = this.#tools.follow(caller.identity, () => notify.add(undefined));
        const unwatch = this.#gate.watch(caller, end);
        session.endStream = end;
        exchange.onClose(end);
      });
    exchange.stream({ ...headers, ...streamHeaders }, run, heartbeat);
  }

  /** Sends a message of the server to the client whose request it belongs to. */
  async #send(session: Session, message: JSONRPCMessage, relatedId: unknown): Promise<void> {
    const id = isResponse(message) ? message.id : relatedId;
    const sent = session.replies.get(id)?.send(message);
    if (isResponse(message)) this.#settle(session, id);
    await sent;
  }

  /** Ends the response of a request that was cancelled: the SDK would let the client wait. */
  #cancel(session: Session, id: unknown): void {
    session.replies.get(id)?.cancel();
    this.#settle(session, id);
  }

  /** A request has a response, or will not have one. */
  #settle(session: Session, id: unknown): void {
    session.replies.delete(id);
    session.usedAt = performance.now();
    if (session.replies.size === 0 && !this.#sessions.has(session.id)) void session.connection.close();
  }

  /** Ends a session: its notifications immediately, and the rest when its running calls have finished. */
  #end(session: Session): void {
    if (!this.#sessions.delete(session.id)) return;
    this.#share.release(session.owner);
    session.idle?.stop();
    session.endStream?.();
    if (session.replies.size === 0) void session.connection.close();
  }

  #endWhenIdle(session: Session): void {
    const now = performance.now();
    if (session.replies.size > 0 || session.endStream !== undefined) session.usedAt = now;
    const remaining = session.usedAt + this.#idleTimeout - now;
    if (remaining <= 0) this.#end(session);
    else session.idle = startTimer(() => this.#endWhenIdle(session), remaining, { keepsAlive: false });
  }
}

function isResponse(message: JSONRPCMessage): message is Exclude<JSONRPCMessage, { method: string }> {
  return !("method" in message);
}

function assertAccepts({ headers }: Exchange, ...types: readonly string[]): void {
  const accepted = headers.get("accept") ?? "";
  if (types.every((type) => accepted.includes(type))) return;
  throw new RPCError(406, -32_000, `Send the header Accept: ${types.join(", ")}.`);
}

function wrongMethod(allow: string): RPCError {
  return new RPCError(405, -32_000, "Method not allowed.", { headers: { allow } });
}
