import type { Server, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { onAbort } from "../../internal/abort-listeners.ts";
import { createId } from "../../internal/request-id.ts";
import { startTimer, type Timer } from "../../internal/timers.ts";
import { resolveCount, resolveDuration } from "../../operation/index.ts";
import type { Caller, Gate } from "../gate.ts";
import { createProtocolServer, type ProtocolHost } from "./protocol-server.ts";
import { toRPCError } from "./responses.ts";

/** Limits of the sessions that clients of versions before 2026-07-28 open. Later versions have no sessions. */
export interface MCPSessionOptions {
  /** Maximum number of sessions. A further one ends the session that was not used for the longest time. @default 1,000 */
  max?: number | undefined;
  /** Maximum number of sessions of one identity. A further one ends its least recently used session. @default 100 */
  maxPerIdentity?: number | undefined;
  /** Time in ms after which a session without a request or an open stream ends. @default one hour */
  idleTimeout?: number | undefined;
}

/** Session options with their defaults. */
export type SessionLimits = Readonly<Record<keyof MCPSessionOptions, number>>;

/** Applies the defaults of session options. Throws `VALIDATION_ERROR`. */
export function resolveSessionLimits({ max, maxPerIdentity, idleTimeout }: MCPSessionOptions = {}): SessionLimits {
  const count = { min: 1, infinite: true } as const;
  return {
    max: resolveCount("sessions.max", max, 1_000, count),
    maxPerIdentity: resolveCount("sessions.maxPerIdentity", maxPerIdentity, 100, count),
    idleTimeout: resolveDuration("sessions.idleTimeout", idleTimeout, 3_600_000, { infinite: true }),
  };
}

/** A session of a client. It belongs to the identity that opened it. */
interface Session {
  readonly id: string;
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  /** Id of the identity; `undefined` for an anonymous client. */
  readonly owner: string | undefined;
  /** When it was last used, in ms of `performance.now()`. */
  usedAt: number;
  /** Number of streams on which the client waits for notifications. */
  streams: number;
  /** The last token of the client. A client replaces it before it expires. */
  token: string | undefined;
  unwatch: () => void;
}

/** The sessions of clients that start with a handshake. */
export class Sessions {
  readonly #host: ProtocolHost;
  readonly #gate: Gate;
  readonly #limits: SessionLimits;
  /** The least recently used session comes first. */
  readonly #sessions = new Map<string, Session>();
  #sweeping: Timer | undefined = undefined;

  constructor(host: ProtocolHost, gate: Gate, limits: SessionLimits) {
    this.#host = host;
    this.#gate = gate;
    this.#limits = limits;
  }

  /** Handles a request of a session, or opens one. `body` is the parsed body of a POST. */
  async handle(request: Request, body: unknown, caller: Caller): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    if (id === null) return this.#openFor(request, body, caller);
    const session = this.#sessions.get(id);
    // A session of another identity does not exist for this one.
    if (session === undefined || session.owner !== caller.identity?.id) {
      return toRPCError(404, -32_001, "Session not found. Start a new session.");
    }
    this.#use(session, caller);
    if (request.method === "GET") holdWhileOpen(session, request.signal);
    return session.transport.handleRequest(request, body === undefined ? {} : { parsedBody: body });
  }

  /** Notifies all clients that the list of tools has changed. */
  notifyToolsChanged(): void {
    // A client without an open stream is not notified.
    for (const { server } of this.#sessions.values()) server.sendToolListChanged().catch(() => {});
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    this.#sweeping?.stop();
    await Promise.all(Array.from(this.#sessions.values(), (session) => this.#end(session)));
  }

  async #openFor(request: Request, body: unknown, caller: Caller): Promise<Response> {
    if (request.method !== "POST") return toRPCError(405, -32_000, "Method not allowed.", { allow: "POST" });
    if (!this.#host.sdk.isInitializeRequest(body)) {
      return toRPCError(400, -32_000, "The Mcp-Session-Id header is missing. Start a session with initialize.");
    }
    const session = this.#create(caller);
    await session.server.connect(session.transport);
    this.#evict(caller.identity?.id);
    this.#sessions.set(session.id, session);
    this.#use(session, caller);
    this.#sweepLater();
    return session.transport.handleRequest(request, { parsedBody: body });
  }

  #create(caller: Caller): Session {
    const id = createId();
    const server = createProtocolServer(this.#host, "legacy");
    const transport = new this.#host.sdk.WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => id });
    server.onclose = () => this.#forget(id);
    const owner = caller.identity?.id;
    return { id, server, transport, owner, usedAt: 0, streams: 0, token: undefined, unwatch: () => {} };
  }

  /** Makes it the most recently used session, and watches the credentials of its last request. */
  #use(session: Session, caller: Caller): void {
    session.usedAt = performance.now();
    this.#sessions.delete(session.id);
    this.#sessions.set(session.id, session);
    const { token } = caller.credentials;
    if (session.token === token && token !== undefined) return;
    session.token = token;
    session.unwatch();
    session.unwatch = this.#gate.watch(caller, () => void this.#end(session));
  }

  /** Makes room for one more session. */
  #evict(owner: string | undefined): void {
    const { max, maxPerIdentity } = this.#limits;
    const all = [...this.#sessions.values()];
    const own = owner === undefined ? [] : all.filter((session) => session.owner === owner);
    if (own.length >= maxPerIdentity) void this.#end(own[0]!);
    else if (all.length >= max) void this.#end(all.find(({ streams }) => streams === 0) ?? all[0]!);
  }

  async #end({ id, server }: Session): Promise<void> {
    this.#forget(id);
    await server.close().catch(() => {});
  }

  #forget(id: string): void {
    this.#sessions.get(id)?.unwatch();
    this.#sessions.delete(id);
  }

  #sweepLater(): void {
    if (this.#sweeping !== undefined || this.#sessions.size === 0) return;
    const { idleTimeout } = this.#limits;
    const sweep = () => {
      this.#sweeping = undefined;
      const end = performance.now() - idleTimeout;
      for (const session of this.#sessions.values()) {
        if (session.streams === 0 && session.usedAt <= end) void this.#end(session);
      }
      this.#sweepLater();
    };
    this.#sweeping = startTimer(sweep, Math.max(idleTimeout / 4, 1), { keepsAlive: false });
  }
}

function holdWhileOpen(session: Session, signal: AbortSignal): void {
  session.streams += 1;
  onAbort(signal, () => {
    session.streams -= 1;
    session.usedAt = performance.now();
  });
}
