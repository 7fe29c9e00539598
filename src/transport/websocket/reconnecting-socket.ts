import { BackOff, type BackOffRange } from "../../internal/back-off.ts";
import { clientLogger } from "../../internal/client-log.ts";
import { waitFor } from "../../internal/wait.ts";
import { CallError, type Limits, resolveDuration } from "../../operation/inside.ts";
import type { ChannelTransport } from "../peer/index.ts";
import { notIntroduced, openSocket } from "./open-socket.ts";
import {
  type ByteCounter,
  listen,
  onClosed,
  toChannel,
  toCloseError,
  type WebSocketLike,
  whenClosed,
} from "./socket-channel.ts";
import type { WebSocketTransportOptions } from "./web-socket-client.ts";

const log = clientLogger("transport", "websocket");

/** Delays between attempts to reconnect. They double each time, and are randomly reduced by up to half. */
export interface ReconnectOptions {
  /** Delay before the first attempt, in ms, above 0. @default 250 */
  first?: number;
  /** Maximum delay, in ms, above 0. @default 10,000 */
  max?: number;
}

/** Fills in the defaults. Throws `VALIDATION_ERROR` on a value that is not a duration. */
export function resolveReconnect({ first, max }: ReconnectOptions): BackOffRange {
  return {
    first: resolveDuration("reconnect.first", first, 250),
    max: resolveDuration("reconnect.max", max, 10_000),
  };
}

/** The options of a client with the defaults filled in. */
export interface ResolvedClientOptions extends Pick<WebSocketTransportOptions, "token" | "WebSocket"> {
  readonly heartbeat: number;
  readonly connectTimeout: number;
  /** The delays between attempts; `undefined` disables reconnecting. */
  readonly reconnect: BackOffRange | undefined;
  readonly limits: Readonly<Required<Limits>>;
}

/** The socket of a client to one server. It is reopened whenever it is lost, until it is closed. */
export class ReconnectingSocket {
  readonly #transport: ChannelTransport;
  readonly #onLink: (error: Error | undefined) => void;
  readonly #url: string;
  readonly #options: ResolvedClientOptions;
  readonly #closing = new AbortController();
  readonly #backOff: BackOff | undefined;
  #socket: WebSocketLike | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  /** Whether the first frame of the server has arrived on the current connection. */
  #isReady = false;

  /** @param onLink - Called with the error when the connection is lost, and with `undefined` when it is ready. */
  constructor(
    transport: ChannelTransport,
    url: string,
    options: ResolvedClientOptions,
    onLink: (error: Error | undefined) => void,
  ) {
    this.#transport = transport;
    this.#onLink = onLink;
    this.#url = url;
    this.#options = options;
    this.#backOff = options.reconnect === undefined ? undefined : new BackOff(options.reconnect);
  }

  /** Whether there is no connection, and another attempt will follow. */
  get isRestoring(): boolean {
    return !this.#isReady && this.#backOff !== undefined && !this.#closing.signal.aborted;
  }

  /** Connects. Rejects if that fails; another attempt follows later. */
  async start(): Promise<void> {
    try {
      await this.#connect();
    } catch (error) {
      this.#startLater();
      throw error;
    }
  }

  /** Stops connecting. Resolves when the socket is closed. The transport itself closes the connection. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#retry);
    if (this.#socket !== undefined) await whenClosed(this.#socket);
  }

  async #connect(): Promise<void> {
    const { connectTimeout: timeout, limits, WebSocket } = this.#options;
    const token = await this.#readToken(timeout);
    const { maxMessage } = limits;
    const { signal } = this.#closing;
    await openSocket(this.#url, { token, timeout, maxMessage, signal, WebSocket }, (socket, bytes) => {
      this.#socket = socket;
      return this.#attach(socket, bytes, timeout);
    });
  }

  async #readToken(timeout: number): Promise<string | undefined> {
    const { token } = this.#options;
    if (typeof token !== "function") return token;
    const { signal } = this.#closing;
    try {
      return await waitFor(Promise.resolve(token()), { timeout, signal }, (failure) =>
        failure === "TIMEOUT" ? new Error(`It took more than ${timeout} ms`) : new Error("The transport was closed"),
      );
    } catch (cause) {
      const message = "The token for the WebSocket server is not available.";
      throw new CallError("UNAVAILABLE", message, undefined, { retryable: true, mayHaveRun: false, cause });
    }
  }

  /** Resolves when the server's first frame, which contains its limits, has arrived. */
  #attach(socket: WebSocketLike, bytes: ByteCounter | undefined, timeout: number): Promise<void> {
    const { heartbeat, limits, reconnect } = this.#options;
    const connection = this.#transport.attach(toChannel(socket, bytes), {
      limits,
      heartbeat,
      acceptsOperations: true,
      passesIdentity: false,
    });
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => connection.close(new Error("The server did not complete the handshake")), timeout);
      let readySince: number | undefined;
      listen(socket, (message) => {
        connection.receive(message);
        if (readySince !== undefined || connection.peerId === "") return;
        readySince = performance.now();
        this.#isReady = true;
        this.#onLink(undefined);
        clearTimeout(timer);
        resolve();
      });
      onClosed(socket, (event) => {
        clearTimeout(timer);
        this.#isReady = false;
        const cause = toCloseError(event);
        connection.close(cause);
        if (readySince === undefined) return reject(notIntroduced(this.#url, cause));
        this.#onLink(cause);
        // Keep backing off if the server closes connections right after they open, to limit its load.
        if (reconnect !== undefined && performance.now() - readySince >= reconnect.max) this.#backOff?.reset();
        this.#startLater();
      });
    });
  }

  #startLater(): void {
    const { signal } = this.#closing;
    if (signal.aborted || this.#backOff === undefined) return;
    this.#retry = setTimeout(() => {
      this.start().catch((error) => {
        if (!signal.aborted) log.warn("websocket: An attempt to reconnect failed: {error}", { error });
      });
    }, this.#backOff.next());
  }
}
