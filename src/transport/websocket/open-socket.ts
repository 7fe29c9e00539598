import { notOpened } from "./errors.ts";
import { loadWS, type WSModule } from "./load-ws.ts";
import { toProtocols } from "./protocol.ts";
import type { Socket, Wire } from "./socket-channel.ts";

/** A class like that of browsers. */
export type SocketClass = new (url: string, protocols: string[]) => Socket;

/** How a connection is made. */
export interface OpenOptions {
  token: string | undefined;
  /** In ms. */
  timeout: number;
  /** Largest message that is read, in bytes. */
  maxPayload: number;
  /** Gives up while there is no connection. */
  signal: AbortSignal;
  /** Instead of the class of the runtime. */
  WebSocket?: SocketClass;
}

/**
 * Opens a connection: on Node by `ws` where it is installed, which can cut a dead connection and tells why one was
 * refused, else by the runtime's own `WebSocket`. `onOpen` gets it before any message can have come, and what it returns
 * is awaited. Rejects with `UNAVAILABLE`, or with `UPSTREAM_DENIED` when the server is known to want another token.
 */
export async function openSocket(
  url: string,
  options: OpenOptions,
  onOpen: (socket: Socket, wire: Wire | undefined) => Promise<void>,
): Promise<void> {
  const seen: Seen = {};
  const createSocket = await findSocket(url, options, seen);
  const { timeout, signal } = options;
  return new Promise((resolve, reject) => {
    const socket = createSocket(); // listened to before anything can happen
    const timer = setTimeout(() => fail(new Error(`No connection within ${timeout} ms`)), timeout);
    const stopWaiting = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", giveUp);
    };
    let hasFailed = false;
    const giveUp = () => fail(undefined);
    const fail = (cause: unknown) => {
      if (hasFailed) return; // closing what was never open is another error for the class of Node, told at once
      hasFailed = true;
      stopWaiting();
      if (socket.terminate !== undefined) socket.terminate();
      else socket.close();
      reject(notOpened(url, seen.status, cause));
    };
    signal.addEventListener("abort", giveUp);
    socket.addEventListener("open", () => {
      stopWaiting();
      resolve(onOpen(socket, seen.wire));
    });
    // Stays for good: `ws` throws errors that nobody listens to. What follows an open is told by `close` as well.
    socket.addEventListener("error", (event: { error?: unknown }) => fail(event.error));
    socket.addEventListener("close", giveUp);
    if (signal.aborted) giveUp();
  });
}

/** What `ws` tells of a handshake, and others do not. */
interface Seen {
  /** Of an HTTP answer that is no upgrade. */
  status?: number | undefined;
  wire?: Wire;
}

async function findSocket(url: string, options: OpenOptions, seen: Seen): Promise<() => Socket> {
  const own = globalThis.WebSocket as unknown as SocketClass | undefined;
  const Class = options.WebSocket ?? (globalThis.process?.versions?.node === undefined ? own : undefined);
  if (Class !== undefined) return () => new Class(url, toProtocols(options.token));
  try {
    const ws = await loadWS("WebSockets on this version of Node need");
    return () => createWithWS(ws, url, options, seen);
  } catch (error) {
    if (own === undefined) throw error;
    return () => new own(url, toProtocols(options.token));
  }
}

function createWithWS(
  { WebSocket }: WSModule,
  url: string,
  { token, maxPayload, timeout }: OpenOptions,
  seen: Seen,
): Socket {
  const socket = new WebSocket(url, toProtocols(token), {
    perMessageDeflate: false,
    handshakeTimeout: timeout,
    maxPayload,
  });
  socket.on("upgrade", (response) => {
    seen.wire = response.socket;
  });
  socket.on("unexpected-response", (_request, response) => {
    seen.status = response.statusCode;
    socket.terminate();
  });
  return socket as unknown as Socket;
}
