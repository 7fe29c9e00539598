import { onAbort } from "../../internal/wait.ts";
import { CallError, type Limits, resolveDuration, resolveLimits, validationError } from "../../operation/inside.ts";
import { ChannelTransport, ServingPeer } from "../peer/index.ts";
import type { Transport, TransportCapabilities, Unsubscribe } from "../transport.ts";
import {
  ReconnectingSocket,
  type ReconnectOptions,
  type ResolvedClientOptions,
  resolveReconnect,
} from "./reconnecting-socket.ts";
import type { WebSocketConstructor } from "./socket-channel.ts";

/** Options of {@link createWebSocketTransport}. */
export interface WebSocketTransportOptions {
  /** The token for the server's `authenticate`, or a function that returns it before every connection. */
  token?: string | (() => string | undefined | Promise<string | undefined>) | undefined;
  /**
   * Interval of heartbeats, in ms. A silent server is detected within twice this time. 0 disables it. @default 15,000
   */
  heartbeat?: number | undefined;
  /** Time limit of a connection attempt, in ms, above 0. @default 10,000 */
  connectTimeout?: number | undefined;
  /** Delays before reconnecting; `false` disables reconnecting. @default see {@link ReconnectOptions} */
  reconnect?: false | ReconnectOptions | undefined;
  /** Limits for messages and pending calls. @default those of `Limits` */
  limits?: Limits | undefined;
  /** Cancels the first connection attempt. Has no effect on a connected transport. */
  signal?: AbortSignal | undefined;
  /** The class to connect with. @default on Node that of the package `ws` if installed, otherwise the global one */
  WebSocket?: WebSocketConstructor | undefined;
}

/**
 * Connects to a WebSocket server and carries all calls, in both directions, over one connection. If the connection is
 * lost, pending calls fail with `UNAVAILABLE`. The transport then reconnects automatically, and serves and announces
 * its operations again. With several servers, a call goes to the one with the fewest pending calls among those that
 * serve it. Rejects if the first connection fails.
 */
export async function createWebSocketTransport(
  url: string | URL | ReadonlyArray<string | URL>,
  options: WebSocketTransportOptions = {},
): Promise<Transport & AsyncDisposable> {
  const urls: string[] = (Array.isArray(url) ? url : [url]).map(String);
  if (urls.length === 0)
    throw validationError("URLs of WebSocket servers", [{ path: "", message: "at least one is required" }]);
  return openClient(urls, options, ServingPeer);
}

/** Connects as {@link createWebSocketTransport} does. Without `Serving`, the transport only makes calls. */
export async function openClient(
  urls: readonly string[],
  options: WebSocketTransportOptions,
  Serving?: typeof ServingPeer,
): Promise<Transport & AsyncDisposable> {
  for (const url of urls) assertURL(url);
  const { signal } = options;
  if (signal?.aborted) throw connectingAborted(signal.reason);
  const client = new WebSocketClient(options, Serving);
  const stopListening = onAbort(signal, () => void client.close());
  const attempts = await Promise.allSettled(urls.map((url) => client.connect(url)));
  stopListening();
  if (attempts.some(({ status }) => status === "fulfilled") && !signal?.aborted) return client;
  await client.close();
  if (signal?.aborted) throw connectingAborted(signal.reason);
  const [first] = attempts as PromiseRejectedResult[];
  throw first?.reason;
}

/** `ABORTED`: the signal fired before the connection was open. */
function connectingAborted(cause: unknown): CallError {
  const message = "Connecting to the WebSocket server was aborted.";
  return new CallError("ABORTED", message, undefined, { cause, mayHaveRun: false });
}

/** Throws if the URL is invalid. The message does not contain the URL, which may contain secrets. */
function assertURL(url: string): void {
  const { protocol, hash } = URL.canParse(url) ? new URL(url) : { protocol: "", hash: "" };
  if (hash === "" && /^(ws|wss|http|https|ws\+unix|wss\+unix):$/.test(protocol)) return;
  const message = "must be absolute, begin with ws: or wss:, and not have a fragment";
  throw validationError("URL of a WebSocket server", [{ path: "", message }]);
}

/** A transport over connections to any number of servers. */
export class WebSocketClient extends ChannelTransport {
  /** The server has authenticated the connection, and checks every call on it against that identity. */
  override readonly capabilities: TransportCapabilities = { authenticatesReplies: true, carriesIdentity: true };
  readonly #options: ResolvedClientOptions;
  readonly #sockets = new Set<ReconnectingSocket>();

  constructor(options: WebSocketTransportOptions, Serving: typeof ServingPeer | undefined) {
    super("websocket", Serving);
    const { token, WebSocket, reconnect = {} } = options;
    this.#options = {
      token,
      WebSocket,
      heartbeat: resolveDuration("heartbeat", options.heartbeat, 15_000, { zero: true }),
      connectTimeout: resolveDuration("connectTimeout", options.connectTimeout, 10_000),
      reconnect: reconnect === false ? undefined : resolveReconnect(reconnect),
      limits: resolveLimits(options.limits),
    };
  }

  /** Adds a server. Rejects if the first attempt fails; further attempts follow while this transport is open. */
  async connect(url: string): Promise<void> {
    const socket = new ReconnectingSocket(this, url, this.#options, (error) => this.#onLink(error));
    this.#sockets.add(socket);
    await socket.start();
  }

  /** Returns whether a connection is being restored: its server may serve operations that no other server does. */
  protected override lacksConnections(): boolean {
    for (const socket of this.#sockets) if (socket.isRestoring) return true;
    return false;
  }

  onLinkChange(listener: (error: Error | undefined) => void): Unsubscribe {
    return this.requireServing().links.on(listener);
  }

  /** With several servers, the link is restored when all of them are connected. */
  #onLink(error: Error | undefined): void {
    if (!this.isClosed && (error !== undefined || !this.lacksConnections())) this.serving?.links.emit(error);
  }

  override async close(reason?: Error): Promise<void> {
    await super.close(reason);
    await Promise.all(Array.from(this.#sockets, (socket) => socket.close()));
  }
}
