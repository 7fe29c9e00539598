import { logger } from "../../internal/log.ts";
import { unavailable } from "../../operation/index.ts";
import { type Link, type LinkHub, toLinkLimits } from "../link/index.ts";
import { delayOf } from "./back-off.ts";
import { toMaxPayload } from "./max-payload.ts";
import { openSocket } from "./open-socket.ts";
import { closeSocket, listen, onClosed, type Socket, toChannel, toCloseError, whenClosed } from "./socket-channel.ts";
import type { WebSocketTransportOptions } from "./web-socket-client.ts";

const log = logger("transport", "websocket");

/** The connection of a client to one server, made again whenever it is lost, until it is closed. */
export class ServerConnection {
  readonly #hub: LinkHub;
  readonly #url: string;
  readonly #options: WebSocketTransportOptions;
  #socket: Socket | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(hub: LinkHub, url: string, options: WebSocketTransportOptions) {
    this.#hub = hub;
    this.#url = url;
    this.#options = options;
  }

  /** Connects. When that fails it rejects, and tries again later. */
  async start(attempt = 0): Promise<void> {
    try {
      await this.#connect();
    } catch (error) {
      this.#startAgain(attempt);
      throw error;
    }
  }

  /** Gives up connecting; resolves when the socket is gone. The link itself is the hub's to close. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    if (this.#socket !== undefined) await whenClosed(this.#socket);
  }

  async #connect(): Promise<void> {
    const { token, connectTimeout = 10_000, limits, WebSocket } = this.#options;
    const options = {
      token: typeof token === "function" ? await token() : token,
      timeout: connectTimeout,
      maxPayload: toMaxPayload(toLinkLimits(limits).maxMessage),
      WebSocket,
    };
    await openSocket(this.#url, options, async (socket) => {
      this.#socket = socket;
      if (this.#isClosed) closeSocket(socket);
      else await this.#introduce(socket, connectTimeout);
    });
  }

  /** A connection counts from when the server has said its first words, among them how much it takes. */
  #introduce(socket: Socket, timeout: number): Promise<void> {
    const { heartbeat = 15_000, limits } = this.#options;
    const link: Link = this.#hub.attach(toChannel(socket), {
      ...toLinkLimits(limits),
      heartbeat,
      acceptsOperations: true,
      passesIdentity: false,
    });
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => link.close(new Error("The server did not introduce itself")), timeout);
      let isReady = false;
      listen(socket, (message) => {
        link.receive(message);
        if (isReady || link.peerId === "") return;
        isReady = true;
        clearTimeout(timer);
        resolve();
      });
      onClosed(socket, (event) => {
        clearTimeout(timer);
        const cause = toCloseError(event);
        link.close(cause);
        if (isReady) this.#startAgain(0);
        else reject(unavailable("The WebSocket server", { mayHaveRun: false, cause }));
      });
    });
  }

  #startAgain(attempt: number): void {
    const { reconnect = {} } = this.#options;
    if (this.#isClosed || reconnect === false) return;
    this.#retry = setTimeout(
      () => {
        this.start(attempt + 1).catch((error) => {
          log.warn("websocket: connecting again failed: {error}", { error });
        });
      },
      delayOf(attempt, reconnect),
    );
  }
}
