import { quote } from "../../internal/text.ts";
import { isCallError } from "../../operation/index.ts";
import type { Channel } from "../peer/index.ts";

/** The common part of the `WebSocket` of browsers and that of `ws`. */
export interface WebSocketLike {
  /** Form of binary messages. */
  binaryType: string;
  /** Number of bytes that are not sent yet. */
  readonly bufferedAmount: number;
  /** 0 connecting, 1 open, 2 closing, 3 closed. */
  readonly readyState: number;
  /** Sends a message. */
  send(message: string): void;
  /** Closes the connection. */
  close(code?: number, reason?: string): void;
  /** Only `ws` can end a connection without a handshake. */
  terminate?(): void;
  /** Only browsers' sockets can dispatch events. */
  dispatchEvent?(event: Event): boolean;
  /** Adds a listener. */
  addEventListener(type: string, listener: (event: never) => void, options?: { once?: boolean }): void;
  /** Removes a listener. */
  removeEventListener(type: string, listener: (event: never) => void): void;
}

/** A class such as the `WebSocket` of browsers. */
export type WebSocketConstructor = new (url: string, protocols: string[]) => WebSocketLike;

const closedState = 3;
/** Maximum time for the remote peer to reply to a close, in ms. */
const maxCloseMs = 1_000;
/** Maximum size of a close reason, in bytes, set by the protocol. A socket throws if the reason is longer. */
const maxReasonBytes = 123;

/** Counts the bytes that a socket has received, where the runtime reports them. */
export interface ByteCounter {
  readonly bytesRead?: number;
}

/** Creates a channel that sends messages through an open socket. */
export function toChannel(socket: WebSocketLike, bytes: ByteCounter | undefined): Channel {
  return {
    get receivedBytes() {
      return bytes?.bytesRead ?? 0;
    },
    get bufferedAmount() {
      return socket.bufferedAmount;
    },
    send: (message) => socket.send(message),
    close: (reason) => closeSocket(socket, reason),
  };
}

/**
 * Closes a socket with a code for the reason, and waits a limited time for the remote peer. After that, a socket that
 * cannot be terminated counts as closed, and its listeners are notified.
 */
function closeSocket(socket: WebSocketLike, reason?: Error): void {
  if (socket.readyState === closedState) return;
  const [code, text] = toCloseCode(reason);
  socket.close(code, truncateToBytes(text, maxReasonBytes));
  const timer = setTimeout(() => {
    if (socket.terminate !== undefined) socket.terminate();
    else socket.dispatchEvent?.(Object.assign(new Event("close"), { code: 1006, reason: "no reply to the close" }));
  }, maxCloseMs);
  onClosed(socket, () => clearTimeout(timer));
}

/** Calls `listener` once, when a socket is closed or counts as closed. */
export function onClosed(socket: WebSocketLike, listener: (event: CloseEvent) => void): void {
  socket.addEventListener("close", listener, { once: true });
}

/** Resolves when a socket is closed. */
export function whenClosed(socket: WebSocketLike): Promise<void> {
  if (socket.readyState === closedState) return Promise.resolve();
  return new Promise((resolve) => onClosed(socket, () => resolve()));
}

/** Calls `onMessage` with every message that arrives, as a string or bytes. */
export function listen(socket: WebSocketLike, onMessage: (message: string | Uint8Array) => void): void {
  socket.binaryType = "arraybuffer";
  socket.addEventListener("message", ({ data }: MessageEvent<string | ArrayBuffer>) => {
    onMessage(typeof data === "string" ? data : new Uint8Array(data));
  });
}

/** Converts the code and reason of a close to an error. */
export function toCloseError({ code, reason }: { code: number; reason: string }): Error {
  const quoted = reason === "" ? "" : ` (${quote(reason)})`;
  return new Error(`The connection was closed with code ${code}${quoted}`);
}

/** See https://www.rfc-editor.org/rfc/rfc6455#section-7.4.1. Browsers can send only 1000 and 3000 to 4999. */
function toCloseCode(reason: Error | undefined): [code: number, reason: string] {
  if (reason === undefined) return [1000, ""];
  if (!isCallError(reason)) return [4000, reason.message];
  return reason.code === "PAYLOAD_TOO_LARGE" ? [4009, "message too large"] : [4007, reason.message];
}

/** Returns as many whole characters as fit into `limit` bytes of UTF-8. */
function truncateToBytes(text: string, limit: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(limit));
  return text.slice(0, read);
}
