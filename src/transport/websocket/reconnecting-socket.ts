import { BackOff, type BackOffRange } from "../../internal/back-off.ts";
import { clientLogger } from "../../internal/client-log.ts";
import { waitFor } from "../../internal/wait.ts";
import { CallError, type Limits, resolveDuration } from "../../operation/index.ts";
import type { ChannelTransport } from "../peer/index.ts";
import { notIntroduced, openSocket, toMaxPayload } from "./open-socket.ts";
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

/** The delays between attempts to reconnect. They double each time, and are reduced by up to half at random. */
export interface ReconnectOptions {
  /** Before the first attempt, in ms, above 0. @default 250 */
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
  /** `undefined` does not reconnect. */
  readonly reconnect: BackOffRange | undefined;
  readonly limits: Readonly<Required<Limits>>;
}

/** The socket of a client to one server, opened again whenever it is lost, until it is closed. */
export class ReconnectingSocket {
  readonly #transport: ChannelTransport;
  readonly #url: string;
  readonly #options: ResolvedClientOptions;
  readonly #closing = new AbortController();
  readonly #backOff: BackOff | undefined;
  #socket: WebSocketLike | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  /** Whether the server has introduced itself on the present connection. */
  #isReady = false;

  constructor(transport: ChannelTransport, url: string, options: ResolvedClientOptions) {
    this.#transport = transport;
    this.#url = url;
    this.#options = options;
    this.#backOff = options.reconnect === undefined ? undefined : new BackOff(options.reconnect);
  }

  /** Whether there is no connection, and another attempt will follow. */
  get isRestoring(): boolean {
    return !this.#isReady && this.#backOff !== undefined && !this.#closing.signal.aborted;
  }

  /** Connects. When that fails it rejects, and another attempt follows later. */
  async start(): Promise<void> {
    try {
      await this.#connect();
    } catch (error) {
      this.#startLater();
      throw error;
    }
  }

  /** Stops connecting; resolves when the socket is closed. The transport closes the connection itself. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#retry);
    if (this.#socket !== undefined) await whenClosed(this.#socket);
  }

  async #connect(): Promise<void> {
    const { connectTimeout: timeout, limits, WebSocket } = this.#options;
    const token = await this.#readToken(timeout);
    const maxPayload = toMaxPayload(limits.maxMessage);
    const { signal } = this.#closing;
    await openSocket(this.#url, { token, timeout, maxPayload, signal, WebSocket }, (socket, bytes) => {
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

  /** A connection counts from the server's first frame, which contains its limits. */
  #attach(socket: WebSocketLike, bytes: ByteCounter | undefined, timeout: number): Promise<void> {
    const { heartbeat, limits, reconnect } = this.#options;
    const connection = this.#transport.attach(toChannel(socket, bytes), {
      limits,
      heartbeat,
      acceptsOperations: true,
      passesIdentity: false,
    });
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => connection.close(new Error("The server did not introduce itself")), timeout);
      let readySince: number | undefined;
      listen(socket, (message) => {
        connection.receive(message);
        if (readySince !== undefined || connection.peerId === "") return;
        readySince = performance.now();
        this.#isReady = true;
        clearTimeout(timer);
        resolve();
      });
      onClosed(socket, (event) => {
        clearTimeout(timer);
        this.#isReady = false;
        const cause = toCloseError(event);
        connection.close(cause);
        if (readySince === undefined) return reject(notIntroduced(this.#url, cause));
        // A server that closes connections as soon as they are open must not be loaded further.
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
        if (!signal.aborted) log.warn("websocket: an attempt to reconnect failed: {error}", { error });
      });
    }, this.#backOff.next());
  }
}
