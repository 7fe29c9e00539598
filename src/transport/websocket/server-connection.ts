import { logger } from "../../internal/log.ts";
import { type Limits, unavailable } from "../../operation/index.ts";
import { type ChannelTransport, type Connection, toConnectionLimits } from "../peer/index.ts";
import { type BackOff, delayOf } from "./back-off.ts";
import { notIntroduced } from "./errors.ts";
import { toMaxPayload } from "./max-payload.ts";
import { openSocket } from "./open-socket.ts";
import { listen, onClosed, type Socket, toChannel, toCloseError, type Wire, whenClosed } from "./socket-channel.ts";
import type { WebSocketTransportOptions } from "./web-socket-client.ts";
import { within } from "./within.ts";

const log = logger("transport", "websocket");

/** The options of a client with the defaults filled in. */
export interface ResolvedClientOptions extends Pick<WebSocketTransportOptions, "token" | "WebSocket"> {
  readonly heartbeat: number;
  readonly connectTimeout: number;
  /** `undefined` does not connect again. */
  readonly reconnect: Required<BackOff> | undefined;
  readonly limits: Limits;
}

/** The connection of a client to one server, made again whenever it is lost, until it is closed. */
export class ServerConnection {
  readonly #hub: ChannelTransport;
  readonly #url: string;
  readonly #options: ResolvedClientOptions;
  readonly #closing = new AbortController();
  #socket: Socket | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  /** How often it was tried since there was a connection that lasted. */
  #attempt = 0;
  /** Whether the server has introduced itself on the present connection. */
  #isReady = false;

  constructor(hub: ChannelTransport, url: string, options: ResolvedClientOptions) {
    this.#hub = hub;
    this.#url = url;
    this.#options = options;
  }

  /** Whether there is no connection and another attempt to make one. */
  get isRestoring(): boolean {
    return !this.#isReady && this.#options.reconnect !== undefined && !this.#closing.signal.aborted;
  }

  /** Connects. When that fails it rejects, and tries again later. */
  async start(): Promise<void> {
    try {
      await this.#connect();
    } catch (error) {
      this.#startAgain();
      throw error;
    }
  }

  /** Gives up connecting; resolves when the socket is gone. The link itself is the hub's to close. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#retry);
    if (this.#socket !== undefined) await whenClosed(this.#socket);
  }

  async #connect(): Promise<void> {
    const { connectTimeout, limits, WebSocket } = this.#options;
    const options = {
      token: await this.#askForToken(connectTimeout),
      timeout: connectTimeout,
      maxPayload: toMaxPayload(toConnectionLimits(limits).maxMessage),
      signal: this.#closing.signal,
      WebSocket,
    };
    await openSocket(this.#url, options, (socket, wire) => {
      this.#socket = socket;
      return this.#introduce(socket, wire, connectTimeout);
    });
  }

  async #askForToken(timeout: number): Promise<string | undefined> {
    const { token } = this.#options;
    if (typeof token !== "function") return token;
    try {
      return await within(token(), timeout, this.#closing.signal);
    } catch (cause) {
      throw unavailable("The token for the WebSocket server", { mayHaveRun: false, cause });
    }
  }

  /** A connection counts from when the server has said its first words, among them how much it takes. */
  #introduce(socket: Socket, wire: Wire | undefined, timeout: number): Promise<void> {
    const { heartbeat, limits, reconnect } = this.#options;
    const link: Connection = this.#hub.attach(toChannel(socket, wire), {
      ...toConnectionLimits(limits),
      heartbeat,
      acceptsOperations: true,
      passesIdentity: false,
    });
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => link.close(new Error("The server did not introduce itself")), timeout);
      let readySince: number | undefined;
      listen(socket, (message) => {
        link.receive(message);
        if (readySince !== undefined || link.peerId === "") return;
        readySince = performance.now();
        this.#isReady = true;
        clearTimeout(timer);
        resolve();
      });
      onClosed(socket, (event) => {
        clearTimeout(timer);
        this.#isReady = false;
        const cause = toCloseError(event);
        link.close(cause);
        if (readySince === undefined) return reject(notIntroduced(this.#url, cause));
        // A server that drops connections as soon as they are made is in trouble that should not be added to.
        if (reconnect !== undefined && performance.now() - readySince >= reconnect.longest) this.#attempt = 0;
        this.#startAgain();
      });
    });
  }

  #startAgain(): void {
    const { reconnect } = this.#options;
    const { signal } = this.#closing;
    if (signal.aborted || reconnect === undefined) return;
    this.#retry = setTimeout(
      () => {
        this.start().catch((error) => {
          if (!signal.aborted) log.warn("websocket: connecting again failed: {error}", { error });
        });
      },
      delayOf(this.#attempt++, reconnect),
    );
  }
}
