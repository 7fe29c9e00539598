import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import type { ConnectionOptions, NatsConnection } from "@nats-io/transport-node";
import { loadPeer } from "../../operation/inside.ts";
import { createSocketController } from "../peer/index.ts";

const packageName = "@nats-io/transport-node";

/** Undeclared exports of the client: the classes that `connect()` uses to build a connection. */
interface ClientParts {
  NatsConnectionImpl: new (options: ConnectionOptions) => Connection;
  ProtocolHandler: new (options: ConnectionOptions, connection: Connection) => Handler;
}

interface Connection extends NatsConnection {
  readonly options: ConnectionOptions;
  protocol: Handler;
}

interface Handler {
  /** Ends the attempts to connect after the current one. */
  abortReconnect: boolean;
  /** Called before every attempt, which creates its socket in the same turn. */
  prepare(): unknown;
  /** Resolves when the connection is open. */
  dialLoop(): Promise<void>;
}

/** A connection that was opened for one transport. */
export interface OwnConnection {
  readonly connection: NatsConnection;
  /** Ends every attempt to connect and destroys its socket. Call after `connection.close()`, which does neither. */
  destroy(): void;
}

/**
 * Connects like `connect()` of the client, but leaves no socket open. The client drops its reference to a socket whose
 * server does not respond. Such a socket keeps the process alive, indefinitely if the server has accepted it.
 */
export async function openConnection(options: ConnectionOptions): Promise<OwnConnection> {
  const client = await loadPeer(packageName, "the NATS transport", () => import("@nats-io/transport-node"));
  // Only this function makes the client use the sockets of Node. It rejects these options before it connects.
  client.connect({ servers: "127.0.0.1", port: 4222 }).catch(() => {});
  const dialed = new DialedSocket();
  const { NatsConnectionImpl, ProtocolHandler } = client as unknown as ClientParts;
  const connection = new NatsConnectionImpl(withSignal(options, dialed.signal));
  const handler = new ProtocolHandler(connection.options, connection);
  const prepare = handler.prepare.bind(handler);
  handler.prepare = () => {
    dialed.signal.throwIfAborted();
    if (!isTLSFirst(options)) dialed.beginAttempt();
    return prepare();
  };
  connection.protocol = handler;
  const destroy = () => {
    handler.abortReconnect = true;
    dialed.destroy();
  };
  try {
    await handler.dialLoop();
  } catch (error) {
    destroy();
    throw error;
  }
  return { connection, destroy };
}

const channel = "net.client.socket";

/** The socket of the latest attempt to connect. */
class DialedSocket {
  #socket: Socket | undefined;
  readonly #destroyed = createSocketController();

  /** Aborts when every socket must be destroyed, including sockets that the attempt creates later. */
  get signal(): AbortSignal {
    return this.#destroyed.signal;
  }

  /** Captures the next socket of this process, which the attempt creates in the same turn. Destroys the last one. */
  beginAttempt(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
    const take = (message: unknown) => {
      unsubscribe(channel, take); // the next socket belongs to another attempt
      this.#socket = (message as { socket: Socket }).socket;
    };
    subscribe(channel, take);
    queueMicrotask(() => unsubscribe(channel, take));
  }

  destroy(): void {
    this.#destroyed.abort();
    this.#socket?.destroy();
  }
}

/**
 * With `handshakeFirst`, adds the signal to the TLS options, because the client reads certificates before it creates
 * the socket with these options.
 */
function withSignal(options: ConnectionOptions, signal: AbortSignal): ConnectionOptions {
  if (!isTLSFirst(options)) return options;
  return { ...options, tls: Object.assign({}, options.tls, { signal }) };
}

function isTLSFirst({ tls }: ConnectionOptions): boolean {
  return tls?.handshakeFirst === true;
}
