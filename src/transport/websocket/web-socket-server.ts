import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { WebSocketServer as WSServer } from "ws";
import { logger } from "../../internal/log.ts";
import { startTimer } from "../../internal/timers.ts";
import {
  type AuthenticatedIdentity,
  checkScopes,
  credentialExpired,
  expiryOf,
  type Identity,
  type Limits,
  resolveDuration,
  resolveLimits,
  toIdentity,
} from "../../operation/index.ts";
import { ChannelTransport, type Connection, toConnectionLimits } from "../peer/index.ts";
import type { Transport } from "../transport.ts";
import { loadWS, type WSModule } from "./load-ws.ts";
import { toMaxPayload } from "./max-payload.ts";
import { findRefusal, isLoopback, type Welcome } from "./origin.ts";
import { readToken, subprotocol } from "./protocol.ts";
import { listen, type Socket, toChannel, toCloseError, type Wire, whenClosed } from "./socket-channel.ts";
import {
  findRepeatedHeader,
  refuse,
  type UpgradeListener,
  type UpgradeRequest,
  type UpgradeServer,
  type UpgradeSocket,
} from "./upgrade.ts";
import { within } from "./within.ts";

const log = logger("transport", "websocket");

/** How long, in ms, `authenticate` may take. */
const authenticateTimeout = 10_000;

/** Whom a server lets in, and what it lets them do. */
export interface WebSocketServerOptions extends Welcome {
  /** The HTTP server whose upgrades are taken. Without it pass them to `handleUpgrade`. Closing it stays yours. */
  server?: UpgradeServer | undefined;
  /** Takes only upgrades of this path. @default any */
  path?: string | undefined;
  /**
   * Maps the token of a handshake to who is calling, before the connection is made. `undefined`, or an error, refuses
   * with 401. The result is the identity of every call on the connection; what frames claim is ignored. With `expiresAt`
   * the connection is closed then, and its subscriptions end with `ACCESS_DENIED`.
   */
  authenticate?(
    token: string,
    request: UpgradeRequest,
  ): AuthenticatedIdentity | undefined | Promise<AuthenticatedIdentity | undefined>;
  /** Lets connections without a token in. @default only without `authenticate`, and only from this machine */
  allowAnonymous?: boolean | undefined;
  /** Whether clients may serve operations to this side. They then see the input of such calls. @default false */
  acceptOperations?: boolean | undefined;
  /**
   * Which operations a client is told of: those whose scopes it has, or all. It may try to call others all the same, by
   * name, with a token for the one call. @default "callable"
   */
  announces?: "callable" | "all" | undefined;
  /** A silent client is found out within twice this, in ms. 0 never asks. @default 15,000 */
  heartbeat?: number | undefined;
  limits?: Limits | undefined;
}

/** The serving end of WebSockets: one transport for all connections. */
export interface WebSocketServerTransport extends Transport {
  /** Takes an `upgrade` event of an HTTP server. */
  readonly handleUpgrade: UpgradeListener;
  /** How many clients are connected. */
  readonly connections: number;
}

/**
 * Makes a transport out of the WebSocket connections of an HTTP server. Needs the package `ws`. `close()` closes the
 * connections, not the HTTP server.
 */
export async function createWebSocketServer(options: WebSocketServerOptions = {}): Promise<WebSocketServerTransport> {
  return new WebSocketHub(await loadWS("A WebSocket server needs"), options);
}

/** Who has connected, and when its credential expires, in ms since the epoch. */
interface Known {
  readonly identity: Identity;
  readonly expiresAt: number;
}

/** Who is let in, or what the refusal says. */
type Admission = { known?: Known } | { status: 401 | 403; reason: string };

class WebSocketHub extends ChannelTransport implements WebSocketServerTransport {
  readonly #options: WebSocketServerOptions;
  readonly #limits: Readonly<Required<Limits>>;
  readonly #heartbeat: number;
  readonly #sockets = new Map<Connection, Socket>();
  readonly #forKnown: WSServer;
  readonly #forAnonymous: WSServer;

  constructor(ws: WSModule, options: WebSocketServerOptions) {
    super("websocket");
    this.#options = options;
    this.#limits = resolveLimits(options.limits);
    this.#heartbeat = resolveDuration("heartbeat", options.heartbeat, 15_000, { zero: true });
    const { maxMessage, maxAnonymousMessage } = this.#limits;
    this.#forKnown = createEndpoint(ws, maxMessage);
    this.#forAnonymous = createEndpoint(ws, Math.min(maxMessage, maxAnonymousMessage));
    options.server?.on("upgrade", this.handleUpgrade);
  }

  get connections(): number {
    return this.peers.size;
  }

  readonly handleUpgrade: UpgradeListener = (request, socket, head) => {
    const { path, server } = this.#options;
    const isOurs = path === undefined || request.url?.split("?", 1)[0] === path;
    // Another listener may know the path; where there is none, nobody else would answer.
    if (!isOurs && server !== undefined && server.listenerCount("upgrade") > 1) return;
    socket.on("error", () => {}); // a client that leaves before its answer is its own affair
    if (!isOurs) return refuse(socket, 404, "No such path.");
    const repeated = findRepeatedHeader(request);
    if (repeated !== undefined) return refuse(socket, 400, `The header ${repeated} came more than once.`);
    this.#admit(request)
      .then((admission) => {
        if ("status" in admission) refuse(socket, admission.status, admission.reason);
        else this.#accept(request, socket, head, admission.known);
      })
      .catch((error) => {
        log.error("websocket: a handshake failed: {error}", { error });
        socket.destroy();
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

  async #admit(request: UpgradeRequest): Promise<Admission> {
    const { host, origin } = request.headers;
    const { localAddress } = request.socket;
    const refusal = findRefusal({ host: one(host), origin: one(origin), localAddress }, this.#options);
    if (refusal !== undefined) return { status: 403, reason: `Refused: ${refusal}.` };
    const { authenticate, allowAnonymous = authenticate === undefined && isLoopback(localAddress) } = this.#options;
    const token = readToken(request.headers);
    if (authenticate !== undefined && token !== undefined) {
      const known = await this.#identify(token, request);
      return known === undefined ? { status: 401, reason: "The token was refused." } : { known };
    }
    return allowAnonymous ? {} : { status: 401, reason: "A token is needed." };
  }

  async #identify(token: string, request: UpgradeRequest): Promise<Known | undefined> {
    try {
      const given = await within(this.#options.authenticate?.(token, request), authenticateTimeout);
      const [identity, expiresAt] = [toIdentity(given), expiryOf(given)];
      return identity === undefined || expiresAt <= Date.now() ? undefined : { identity, expiresAt };
    } catch (error) {
      log.warn("websocket: authenticate failed: {error}", { error });
      return undefined;
    }
  }

  #accept(request: UpgradeRequest, socket: UpgradeSocket, head: Uint8Array, known: Known | undefined): void {
    if (this.isClosed) return refuse(socket, 503, "The server is closing.");
    const endpoint = known === undefined ? this.#forAnonymous : this.#forKnown;
    endpoint.handleUpgrade(request as IncomingMessage, socket as unknown as Duplex, head as Buffer, (connection) => {
      const link = this.#connect(connection as unknown as Socket, socket as Wire, known?.identity);
      if (known !== undefined) closeWhenExpired(connection as unknown as Socket, link, known.expiresAt);
    });
  }

  #connect(socket: Socket, wire: Wire, identity: Identity | undefined): Connection {
    const { acceptOperations = false, announces = "callable" } = this.#options;
    const known = toConnectionLimits(this.#limits);
    const { maxAnonymousMessage } = this.#limits;
    const link = this.attach(toChannel(socket, wire), {
      ...known,
      maxReceived: identity === undefined ? Math.min(known.maxMessage, maxAnonymousMessage) : known.maxMessage,
      heartbeat: this.#heartbeat,
      identity,
      acceptsOperations: acceptOperations,
      passesIdentity: false,
      ...(announces === "all" ? {} : { shows: ({ accessControl }) => checkScopes(accessControl, identity) === true }),
    });
    this.#sockets.set(link, socket);
    listen(socket, (message) => link.receive(message));
    // Protocol errors of the other side; `close` follows, with the code.
    socket.addEventListener("error", (event: { message?: string }) => {
      log.warn("websocket: a connection failed: {message}", { message: event.message });
    });
    socket.addEventListener("close", (event: CloseEvent) => link.close(toCloseError(event)));
    closeWhenFloodedWithPings(socket, link, known.bufferedBytes);
    return link;
  }
}

/** The client may connect again with a new token, which its `token` function provides. */
function closeWhenExpired(socket: Socket, link: Connection, expiresAt: number): void {
  const end = () => {
    link.endSubscriptions((operationId) => credentialExpired(operationId, true));
    link.close(new Error("The token of the connection has expired"));
  };
  const timer = startTimer(end, Math.max(expiresAt - Date.now(), 0), { keepsAlive: false });
  socket.addEventListener("close", () => timer.stop());
}

/** `ws` answers every ping, and keeps the answers of a client that does not read them. */
function closeWhenFloodedWithPings(socket: Socket, link: Connection, limit: number): void {
  (socket as unknown as { on(event: "ping", listener: () => void): void }).on("ping", () => {
    if (socket.bufferedAmount > limit) link.close(new Error("The other side reads too slowly"));
  });
}

function createEndpoint({ WebSocketServer }: WSModule, maxMessage: number): WSServer {
  return new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: toMaxPayload(maxMessage),
    handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
  });
}

function one(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(",") : header;
}
