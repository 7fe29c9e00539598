import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import type * as WS from "ws";
import { FairShare } from "../../call/fair-share.ts";
import { clientLogger } from "../../internal/client-log.ts";
import { logger, reportFailure } from "../../internal/log.ts";
import {
  checkScopes,
  credentialEnded,
  type Identity,
  type Limits,
  resolveDuration,
  resolveLimits,
} from "../../operation/inside.ts";
import { RawHeaders } from "../../serve/exchange.ts";
import { Gate, type GateOptions, type GateRequest } from "../../serve/gate.ts";
import type { FetchInfo } from "../../serve/server.ts";
import { refuseUpgrade, type UpgradeHandler } from "../../serve/upgrade.ts";
import { ChannelTransport, type Connection, maxBufferedBytes, ServingPeer } from "../peer/index.ts";
import type { Transport } from "../transport.ts";
import { loadWS, readProtocolToken, subprotocol } from "./open-socket.ts";
import { type ByteCounter, listen, toChannel, toCloseError, type WebSocketLike, whenClosed } from "./socket-channel.ts";
import { toMaxPayload } from "./ws-socket.ts";

const log = clientLogger("transport", "websocket");
const serverLog = logger("transport", "websocket");

/** Maximum number of connections of one server. One caller cannot have all of them. */
const maxConnections = 10_000;

/** Maximum size of a message of a client that is not authenticated, in bytes. */
const maxAnonymousMessage = 1024 * 1024;

/** Options of {@link createWebSocketServer}: which clients may connect, and their permissions. */
export interface WebSocketServerOptions extends Partial<GateOptions> {
  /** The HTTP server whose upgrades are handled. It is not closed. Without it, pass upgrades to `handleUpgrade`. */
  server?: Pick<Server, "on" | "off" | "listenerCount"> | undefined;
  /** Handles only upgrades of this path. @default any path */
  path?: string | undefined;
  /**
   * Identifies clients before they are connected, as that of `serveHTTP`. The result is the identity of every call on the
   * connection; claims in frames are ignored. `"none"` accepts connections of this machine only. @default "none"
   */
  authenticate?: GateOptions["authenticate"] | undefined;
  /** Accepts connections without credentials. @default only with `authenticate: "none"` */
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
export interface WebSocketServerTransport extends Transport, AsyncDisposable {
  /** Handles an `upgrade` event of an HTTP server. */
  readonly handleUpgrade: UpgradeHandler["upgrade"];
  /** Number of connected clients. */
  readonly connections: number;
}

/**
 * Creates a transport from the WebSocket connections of an HTTP server. Requires the package `ws`. `close()` closes the
 * connections, not the HTTP server.
 */
export async function createWebSocketServer(options: WebSocketServerOptions = {}): Promise<WebSocketServerTransport> {
  const ws = await loadWS("a WebSocket server");
  return new WebSocketServer(Promise.resolve(ws), { ...options, authenticate: options.authenticate ?? "none" });
}

/** The server end of WebSockets. Its package may be loaded later. @internal */
export class WebSocketServer extends ChannelTransport implements WebSocketServerTransport {
  readonly #options: WebSocketServerOptions;
  readonly #gate: Gate;
  readonly #limits: Readonly<Required<Limits>>;
  readonly #heartbeat: number;
  readonly #share = new FairShare(maxConnections);
  readonly #sockets = new Map<Connection, WebSocketLike>();
  readonly #ws: Promise<typeof WS>;

  constructor(ws: Promise<typeof WS>, options: WebSocketServerOptions & GateOptions) {
    super("websocket", ServingPeer);
    this.#options = options;
    this.#gate = new Gate(options); // First: it reports that options are missing.
    this.#limits = resolveLimits(options.limits);
    this.#heartbeat = resolveDuration("heartbeat", options.heartbeat, 15_000, { zero: true });
    this.#ws = ws;
    ws.catch((error) => reportFailure(serverLog, "websocket: Every handshake will be refused: {error}", error));
    options.server?.on("upgrade", this.handleUpgrade);
  }

  /** Rejects if the package `ws` is missing, or if the authenticator can never accept anyone. */
  async ready(): Promise<void> {
    await Promise.all([this.#ws, this.#gate.ready()]);
  }

  get connections(): number {
    return this.peers.size;
  }

  readonly handleUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer, info?: FetchInfo): void => {
    const { server, path = info?.basePath } = this.#options;
    const requested = request.url?.split("?", 1)[0];
    const isOurs = path === undefined || requested === path || requested === `${path}/`;
    // Another listener may handle the path. Without one, this server has to reply.
    if (!isOurs && server !== undefined && server.listenerCount("upgrade") > 1) return;
    if (!isOurs) return refuseUpgrade(socket, 404, "No such path.");
    socket.on("error", () => {}); // The client may disconnect before the reply.
    this.#handle(request, socket, head, info).catch((error) => {
      reportFailure(serverLog, "websocket: A handshake failed: {error}", error);
      refuseUpgrade(socket, 503, "The handshake failed.");
    });
  };

  override async close(reason?: Error): Promise<void> {
    this.#options.server?.off("upgrade", this.handleUpgrade);
    this.#gate.close();
    const sockets = [...this.#sockets.values()];
    await super.close(reason);
    await Promise.all(sockets.map(whenClosed));
  }

  override onLost(connection: Connection, error: Error | undefined): void {
    this.#sockets.delete(connection);
    super.onLost(connection, error);
  }

  async #handle(request: IncomingMessage, socket: Duplex, head: Buffer, info: FetchInfo | undefined): Promise<void> {
    const given = toGateRequest(request);
    if (given.headers.get("host")?.includes(",")) {
      return refuseUpgrade(socket, 400, "The request has more than one Host header.");
    }
    const remoteAddress = info?.remoteAddress ?? request.socket.remoteAddress;
    const admission = await this.#gate.check({ ...given, allowPublic: info?.allowPublic, remoteAddress });
    if (admission.kind === "preflight") return refuseUpgrade(socket, 400, "A handshake must be a GET request.");
    if (admission.kind === "refusal") {
      const challenge = admission.status === 401 && { "www-authenticate": this.#gate.challenge() };
      return refuseUpgrade(socket, admission.status, admission.message, { ...challenge, ...admission.headers });
    }
    const { identity } = admission;
    const ws = await this.#ws;
    if (this.isClosed) return refuseUpgrade(socket, 503, "The server is closing.");
    const { maxMessage } = this.#limits;
    const maxReceived = identity === undefined ? Math.min(maxMessage, maxAnonymousMessage) : maxMessage;
    createEndpoint(ws, maxReceived).handleUpgrade(request, socket, head, (opened) => {
      const webSocket = opened as unknown as WebSocketLike;
      const owner = admission.owner;
      if (!this.#share.take(owner)) return opened.close(1013, "Too many connections");
      const connection = this.#connect(webSocket, socket as ByteCounter, identity, maxReceived);
      const stopWatching = this.#gate.watch(admission, (reason) => {
        connection.incoming?.endSubscriptions((operationId) => credentialEnded(operationId, reason, true));
        // The client can reconnect with a new token.
        connection.close(new Error("The token of the connection has expired or was removed"));
      });
      webSocket.addEventListener("close", () => {
        stopWatching();
        this.#share.release(owner);
      });
    });
  }

  #connect(socket: WebSocketLike, bytes: ByteCounter, identity: Identity | undefined, maxReceived: number): Connection {
    const { acceptOperations = false, announces = "callable" } = this.#options;
    const connection = this.attach(toChannel(socket, bytes), {
      limits: this.#limits,
      maxReceived,
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
      log.warn("websocket: A connection failed: {message}", { message: event.message });
    });
    socket.addEventListener("close", (event: CloseEvent) => connection.close(toCloseError(event)));
    closeWhenFloodedWithPings(socket, connection);
    return connection;
  }
}

/** The token of a browser is in the sub-protocols, because it cannot set headers. */
function toGateRequest({ method = "GET", url = "/", rawHeaders }: IncomingMessage): GateRequest {
  const headers = new RawHeaders(rawHeaders);
  return { method, url, headers, token: readProtocolToken(headers.get("sec-websocket-protocol")) };
}

/** Limits pings: `ws` replies to each one, and buffers the replies if the client does not read them. */
function closeWhenFloodedWithPings(socket: WebSocketLike, connection: Connection): void {
  (socket as unknown as { on(event: "ping", listener: () => void): void }).on("ping", () => {
    if (socket.bufferedAmount > maxBufferedBytes) connection.close(new Error("The peer reads too slowly"));
  });
}

/** Creates the part of `ws` that accepts one handshake, because the limit depends on the client. */
function createEndpoint(ws: typeof WS, maxMessage: number): WS.WebSocketServer {
  return new ws.WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: toMaxPayload(maxMessage),
    handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
  });
}
