import { logger } from "../../internal/log.ts";
import { type Limits, unavailable } from "../../operation/index.ts";
import { type Link, LinkHub, toLinkLimits } from "../link/index.ts";
import type { Transport } from "../transport.ts";
import { type BackOff, delayOf } from "./back-off.ts";
import { openSocket, type SocketClass } from "./open-socket.ts";
import { closeSocket, listen, type Socket, toChannel, toCloseError, whenClosed } from "./socket-channel.ts";

const log = logger("transport", "websocket");

/** How a client connects and stays connected. */
export interface WebSocketTransportOptions {
  /** What the server's `authenticate` gets, or a function that is asked before every connection. */
  token?: string | (() => string | undefined | Promise<string | undefined>);
  /** A silent server is found out within twice this, in ms. 0 never asks. @default 15,000 */
  heartbeat?: number;
  /** How long a connection may take, in ms. @default 10,000 */
  connectTimeout?: number;
  /** How to connect again after the connection was lost. `false` does not. */
  reconnect?: false | BackOff;
  limits?: Limits;
  /** The class to connect with. @default the global one, else that of the package `ws` */
  WebSocket?: SocketClass;
}

/**
 * Connects to a WebSocket server and carries all calls, both ways, over the one connection. When it is lost, what is
 * pending fails with `UNAVAILABLE`; the transport connects again by itself and tells anew what it serves and announces.
 * Rejects when the first connection fails.
 */
export async function createWebSocketTransport(
  url: string | URL,
  options: WebSocketTransportOptions = {},
): Promise<Transport> {
  const client = new WebSocketClient(String(url), options);
  try {
    await client.connect();
  } catch (error) {
    await client.close();
    throw error;
  }
  return client;
}

class WebSocketClient extends LinkHub {
  readonly #url: string;
  readonly #options: WebSocketTransportOptions;
  /** Called once the server has introduced itself. */
  #onReady: (() => void) | undefined;
  /** Whether there is a connection that was made. One that is lost before is the business of who made it. */
  #isReady = false;
  #socket: Socket | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(url: string, options: WebSocketTransportOptions) {
    super("websocket", {
      onOpened: () => this.#onReady?.(),
      onLost: () => {
        if (this.#isReady) this.#reconnect(0);
        this.#isReady = false;
      },
    });
    this.#url = url;
    this.#options = options;
  }

  async connect(): Promise<void> {
    const { token, connectTimeout = 10_000, limits, WebSocket } = this.#options;
    const { maxMessage } = toLinkLimits(limits);
    const options = {
      token: typeof token === "function" ? await token() : token,
      timeout: connectTimeout,
      maxPayload: toMaxPayload(maxMessage),
      WebSocket,
    };
    await openSocket(this.#url, options, async (socket) => {
      this.#socket = socket;
      if (this.isClosed) closeSocket(socket);
      else await this.#introduce(socket, connectTimeout);
    });
  }

  override async close(reason?: Error): Promise<void> {
    clearTimeout(this.#retry);
    await super.close(reason);
    if (this.#socket !== undefined) await whenClosed(this.#socket);
  }

  /** A connection counts from when the server has said its first words, among them how much it takes. */
  #introduce(socket: Socket, timeout: number): Promise<void> {
    const { heartbeat = 15_000, limits } = this.#options;
    const link: Link = this.attach(toChannel(socket), {
      ...toLinkLimits(limits),
      heartbeat,
      acceptsOperations: true,
      passesIdentity: false,
    });
    listen(socket, (message) => link.receive(message));
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => link.close(new Error("The server did not introduce itself")), timeout);
      this.#onReady = () => {
        clearTimeout(timer);
        this.#isReady = true;
        resolve();
      };
      socket.addEventListener("close", (event: CloseEvent) => {
        clearTimeout(timer);
        link.close(toCloseError(event));
        reject(unavailable("The WebSocket server", { mayHaveRun: false, cause: toCloseError(event) }));
      });
    });
  }

  #reconnect(attempt: number): void {
    const { reconnect = {} } = this.#options;
    if (this.isClosed || reconnect === false) return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(
      () => {
        this.connect().catch((error) => {
          log.warn("websocket: connecting again failed: {error}", { error });
          this.#reconnect(attempt + 1);
        });
      },
      delayOf(attempt, reconnect),
    );
  }
}

/** Several small frames may share a message, which is then larger than the largest frame of a small limit. */
export function toMaxPayload(maxMessage: number): number {
  return Math.max(maxMessage, 256 * 1024);
}
