import { type Limits, resolveDuration, resolveLimits, validationError } from "../../operation/index.ts";
import { ChannelTransport } from "../peer/index.ts";
import type { Transport, TransportCapabilities } from "../transport.ts";
import { type BackOff, resolveBackOff } from "./back-off.ts";
import type { SocketClass } from "./open-socket.ts";
import { type ResolvedClientOptions, ServerConnection } from "./server-connection.ts";

/** How a client connects and stays connected. */
export interface WebSocketTransportOptions {
  /** What the server's `authenticate` gets, or a function that is asked before every connection. */
  token?: string | (() => string | undefined | Promise<string | undefined>) | undefined;
  /** A silent server is found out within twice this, in ms. 0 never asks. @default 15,000 */
  heartbeat?: number | undefined;
  /** How long a connection may take, in ms, above 0. @default 10,000 */
  connectTimeout?: number | undefined;
  /** How to connect again after the connection was lost. `false` does not. @default the defaults of {@link BackOff} */
  reconnect?: false | BackOff | undefined;
  limits?: Limits | undefined;
  /** The class to connect with. @default on Node that of the package `ws` where it is installed, else the global one */
  WebSocket?: SocketClass | undefined;
}

/**
 * Connects to a WebSocket server and carries all calls, both ways, over the one connection. When it is lost, what is
 * pending fails with `UNAVAILABLE`; the transport connects again by itself and tells anew what it serves and announces.
 * Of several servers, a call goes to one that serves it, the one with the least to do. Rejects when no first connection
 * can be made.
 */
export async function createWebSocketTransport(
  url: string | URL | ReadonlyArray<string | URL>,
  options: WebSocketTransportOptions = {},
): Promise<Transport> {
  const urls: string[] = (Array.isArray(url) ? url : [url]).map(String);
  if (urls.length === 0)
    throw validationError("URLs of WebSocket servers", [{ path: "", message: "must be at least one" }]);
  for (const it of urls) assertURL(it);
  const client = new WebSocketClient(options);
  const attempts = await Promise.allSettled(urls.map((it) => client.connect(it)));
  if (attempts.some(({ status }) => status === "fulfilled")) return client;
  await client.close();
  const [first] = attempts as PromiseRejectedResult[];
  throw first?.reason;
}

/** Says nothing of the URL itself, which may hold secrets. */
function assertURL(url: string): void {
  const { protocol, hash } = parseURL(url) ?? { protocol: "", hash: "" };
  if (hash === "" && /^(ws|wss|http|https|ws\+unix|wss\+unix):$/.test(protocol)) return;
  const message = "must be absolute, begin with ws: or wss:, and have no fragment";
  throw validationError("URL of a WebSocket server", [{ path: "", message }]);
}

function parseURL(url: string): URL | undefined {
  try {
    return new URL(url);
  } catch {
    return undefined;
  }
}

/** A transport over connections to any number of servers. */
export class WebSocketClient extends ChannelTransport {
  /** The server has authenticated the connection, and every call on it counts for that identity. */
  override readonly capabilities: TransportCapabilities = { authenticatesReplies: true, carriesIdentity: true };
  readonly #options: ResolvedClientOptions;
  readonly #connections = new Set<ServerConnection>();

  constructor(options: WebSocketTransportOptions) {
    super("websocket");
    const { token, WebSocket, reconnect = {} } = options;
    this.#options = {
      token,
      WebSocket,
      heartbeat: resolveDuration("heartbeat", options.heartbeat, 15_000, { zero: true }),
      connectTimeout: resolveDuration("connectTimeout", options.connectTimeout, 10_000),
      reconnect: reconnect === false ? undefined : resolveBackOff(reconnect),
      limits: resolveLimits(options.limits),
    };
  }

  /** Adds a server. Rejects when it cannot be reached now; goes on trying as long as this transport is open. */
  async connect(url: string): Promise<void> {
    const connection = new ServerConnection(this, url, this.#options);
    this.#connections.add(connection);
    await connection.start();
  }

  /** A server whose connection is being restored may serve what no other does. */
  protected override lacksConnections(): boolean {
    for (const connection of this.#connections) if (connection.isRestoring) return true;
    return false;
  }

  override async close(reason?: Error): Promise<void> {
    await super.close(reason);
    await Promise.all(Array.from(this.#connections, (connection) => connection.close()));
  }
}
