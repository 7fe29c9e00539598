import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type * as WS from "ws";
import { clientLogger } from "../../internal/client-log.ts";
import { startTimer } from "../../internal/timers.ts";
import { waitFor } from "../../internal/wait.ts";
import {
  type AuthenticatedIdentity,
  type CallError,
  checkScopes,
  credentialExpired,
  expiryOf,
  type Identity,
  type Limits,
  resolveDuration,
  resolveLimits,
  toIdentity,
} from "../../operation/index.ts";
import type { FetchInfo } from "../../serve/server.ts";
import { ChannelTransport, type Connection, servingParts } from "../peer/index.ts";
import type { Transport } from "../transport.ts";
import {
  findRefusal,
  findRepeatedHeader,
  isLoopback,
  readToken,
  refuse,
  subprotocol,
  type UpgradeListener,
  type UpgradeRequest,
  type UpgradeServer,
  type UpgradeSocket,
  type WebSocketOrigins,
} from "./handshake.ts";
import { loadWS, toMaxPayload } from "./open-socket.ts";
import { type ByteCounter, listen, toChannel, toCloseError, type WebSocketLike, whenClosed } from "./socket-channel.ts";

const log = clientLogger("transport", "websocket");

/** Maximum duration of `authenticate`, in ms. */
const authenticateTimeoutMs = 10_000;

/** Options of {@link createWebSocketServer}: which clients may connect, and their permissions. */
export interface WebSocketServerOptions extends WebSocketOrigins {
  /** The HTTP server whose upgrades are handled. It is not closed. Without it, pass upgrades to `handleUpgrade`. */
  server?: UpgradeServer | undefined;
  /** Handles only upgrades of this path. @default any path */
  path?: string | undefined;
  /**
   * Maps the token of a handshake to the identity of the caller, before the connection is accepted. `undefined` or an
   * error refuses it with 401. The result is the identity of every call on the connection; claims in frames are
   * ignored. At `expiresAt`, the connection is closed and its subscriptions end with `ACCESS_DENIED`.
   */
  authenticate?(
    token: string,
    request: UpgradeRequest,
  ): AuthenticatedIdentity | undefined | Promise<AuthenticatedIdentity | undefined>;
  /** Accepts connections without a token. @default only without `authenticate`, and only from this machine */
  allowAnonymous?: boolean | undefined;
  /** Whether clients may serve operations to this server, and so receive the input of these calls. @default false */
  acceptOperations?: boolean | undefined;
  /**
   * Operations that are announced to a client: those whose scopes it has, or all. A client may also call other
   * operations by name, with a token for that call. @default "callable"
   */
  announces?: "callable" | "all" | undefined;
  /**
   * Interval of heartbeats, in ms. A silent client is detected within twice this time. 0 disables it. @default 15,000
   */
  heartbeat?: number | undefined;
  /** Limits for messages and pending calls. @default those of `Limits` */
  limits?: Limits | undefined;
}

/** The server end of WebSockets. One transport covers all connections. */
export interface WebSocketServerTransport extends Transport {
  /** Handles an `upgrade` event of an HTTP server. */
  readonly handleUpgrade: UpgradeListener;
  /** Number of connected clients. */
  readonly connections: number;
}

/**
 * Creates a transport from the WebSocket connections of an HTTP server. Requires the package `ws`. `close()` closes the
 * connections, not the HTTP server.
 */
export async function createWebSocketServer(options: WebSocketServerOptions = {}): Promise<WebSocketServerTransport> {
  const ws = await loadWS("a WebSocket server");
  return new WebSocketServer(Promise.resolve(ws), options, (request) => admitByToken(request, options));
}

/** Decides by host, origin and token whether a client may connect. */
async function admitByToken(request: UpgradeRequest, options: WebSocketServerOptions): Promise<Admitted | Refused> {
  const refusal = findRefusal(request, options);
  if (refusal !== undefined) return { status: 403, reason: `Refused: ${refusal}.` };
  const { authenticate } = options;
  const { allowAnonymous = authenticate === undefined && isLoopback(request.socket.localAddress) } = options;
  const token = readToken(request.headers);
  if (authenticate === undefined || token === undefined) {
    return allowAnonymous ? {} : { status: 401, reason: "A token is required." };
  }
  const result = token === "" ? undefined : await identify(authenticate, token, request);
  const [identity, expiresAt] = [toIdentity(result), expiryOf(result)];
  if (identity === undefined || expiresAt <= Date.now()) return { status: 401, reason: "The token was refused." };
  return { identity, watch: (end) => endAt(expiresAt, end) };
}

async function identify(
  authenticate: NonNullable<WebSocketServerOptions["authenticate"]>,
  token: string,
  request: UpgradeRequest,
): Promise<AuthenticatedIdentity | undefined> {
  try {
    const toError = () => new Error(`It took more than ${authenticateTimeoutMs} ms`);
    return await waitFor(Promise.resolve(authenticate(token, request)), { timeout: authenticateTimeoutMs }, toError);
  } catch (error) {
    log.warn("websocket: authenticate failed: {error}", { error });
    return undefined;
  }
}

function endAt(expiresAt: number, end: EndConnection): () => void {
  const expire = () => end((operationId) => credentialExpired(operationId, true));
  const timer = startTimer(expire, Math.max(expiresAt - Date.now(), 0), { keepsAlive: false });
  return () => timer.stop();
}

interface Endpoints {
  readonly authenticated: WS.WebSocketServer;
  readonly anonymous: WS.WebSocketServer;
}

/** A client that may connect. */
interface Admitted {
  readonly identity?: Identity | undefined;
  /** Calls `end` when the credential of the client ends, until the returned function is called. */
  watch?(end: EndConnection): () => void;
}

/** Ends a connection. Its subscriptions fail with the error from `toError`. */
type EndConnection = (toError: (operationId: string) => CallError) => void;

/** A client that may not connect. */
interface Refused {
  readonly status: 400 | 401 | 403 | 503;
  readonly reason: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Decides whether a client may connect. */
export type Admit = (request: UpgradeRequest, info?: FetchInfo) => Promise<Admitted | Refused>;

/** The server end of WebSockets, for servers that decide themselves who may connect. */
export class WebSocketServer extends ChannelTransport implements WebSocketServerTransport {
  readonly #options: Omit<WebSocketServerOptions, "authenticate">;
  readonly #admit: Admit;
  readonly #limits: Readonly<Required<Limits>>;
  readonly #heartbeat: number;
  readonly #sockets = new Map<Connection, WebSocketLike>();
  readonly #endpoints: Promise<Endpoints>;

  constructor(ws: Promise<typeof WS>, options: Omit<WebSocketServerOptions, "authenticate">, admit: Admit) {
    super("websocket", servingParts);
    this.#options = options;
    this.#admit = admit;
    this.#limits = resolveLimits(options.limits);
    this.#heartbeat = resolveDuration("heartbeat", options.heartbeat, 15_000, { zero: true });
    this.#endpoints = this.#createEndpoints(ws);
    this.#endpoints.catch((error) => log.error("websocket: every handshake will be refused: {error}", { error }));
    options.server?.on("upgrade", this.handleUpgrade);
  }

  get connections(): number {
    return this.peers.size;
  }

  readonly handleUpgrade = (
    request: UpgradeRequest,
    socket: UpgradeSocket,
    head: Uint8Array,
    info?: FetchInfo,
  ): void => {
    const { path, server } = this.#options;
    const isOurs = path === undefined || request.url?.split("?", 1)[0] === path;
    // Another listener may handle the path. Without one, this server has to reply.
    if (!isOurs && server !== undefined && server.listenerCount("upgrade") > 1) return;
    socket.on("error", () => {}); // the client may disconnect before the reply
    if (!isOurs) return refuse(socket, 404, "No such path.");
    const repeated = findRepeatedHeader(request);
    if (repeated !== undefined) return refuse(socket, 400, `The header ${repeated} is repeated.`);
    this.#handle(request, socket, head, info).catch((error) => {
      log.error("websocket: a handshake failed: {error}", { error });
      refuse(socket, 503, "The handshake failed.");
    });
  };

  override async close(reason?: Error): Promise<void> {
    this.#options.server?.off("upgrade", this.handleUpgrade);
    const sockets = [...this.#sockets.values()];
    await super.close(reason);
    await Promise.all(sockets.map(whenClosed));
  }

  override onLost(connection: Connection, error: Error | undefined): void {
    this.#sockets.delete(connection);
    super.onLost(connection, error);
  }

  async #createEndpoints(loading: Promise<typeof WS>): Promise<Endpoints> {
    const ws = await loading;
    const { maxMessage, maxAnonymousMessage } = this.#limits;
    const anonymous = createEndpoint(ws, Math.min(maxMessage, maxAnonymousMessage));
    return { authenticated: createEndpoint(ws, maxMessage), anonymous };
  }

  async #handle(
    request: UpgradeRequest,
    socket: UpgradeSocket,
    head: Uint8Array,
    info: FetchInfo | undefined,
  ): Promise<void> {
    const admission = await this.#admit(request, info);
    if ("status" in admission) return refuse(socket, admission.status, admission.reason, admission.headers);
    const { authenticated, anonymous } = await this.#endpoints;
    if (this.isClosed) return refuse(socket, 503, "The server is closing.");
    const endpoint = admission.identity === undefined ? anonymous : authenticated;
    endpoint.handleUpgrade(request as IncomingMessage, socket as unknown as Duplex, head as Buffer, (opened) => {
      const webSocket = opened as unknown as WebSocketLike;
      const connection = this.#connect(webSocket, socket as ByteCounter, admission.identity);
      const stopWatching = admission.watch?.((toError) => {
        connection.endSubscriptions(toError);
        // The client can reconnect with a new token.
        connection.close(new Error("The token of the connection has expired or was removed"));
      });
      if (stopWatching !== undefined) webSocket.addEventListener("close", stopWatching);
    });
  }

  #connect(socket: WebSocketLike, bytes: ByteCounter, identity: Identity | undefined): Connection {
    const { acceptOperations = false, announces = "callable" } = this.#options;
    const { maxMessage, maxAnonymousMessage, bufferedBytes } = this.#limits;
    const connection = this.attach(toChannel(socket, bytes), {
      limits: this.#limits,
      maxReceived: identity === undefined ? Math.min(maxMessage, maxAnonymousMessage) : maxMessage,
      heartbeat: this.#heartbeat,
      identity,
      acceptsOperations: acceptOperations,
      passesIdentity: false,
      ...(announces === "all" ? {} : { shows: ({ accessControl }) => checkScopes(accessControl, identity) === true }),
    });
    this.#sockets.set(connection, socket);
    listen(socket, (message) => connection.receive(message));
    // The client violated the protocol. A `close` event with the code follows.
    socket.addEventListener("error", (event: { message?: string }) => {
      log.warn("websocket: a connection failed: {message}", { message: event.message });
    });
    socket.addEventListener("close", (event: CloseEvent) => connection.close(toCloseError(event)));
    closeWhenFloodedWithPings(socket, connection, bufferedBytes);
    return connection;
  }
}

/** Limits pings: `ws` replies to each one, and buffers the replies if the client does not read them. */
function closeWhenFloodedWithPings(socket: WebSocketLike, connection: Connection, limit: number): void {
  (socket as unknown as { on(event: "ping", listener: () => void): void }).on("ping", () => {
    if (socket.bufferedAmount > limit) connection.close(new Error("The peer reads too slowly"));
  });
}

function createEndpoint(ws: typeof WS, maxMessage: number): WS.WebSocketServer {
  return new ws.WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: toMaxPayload(maxMessage),
    handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
  });
}
