import { quote } from "../../internal/text.ts";
import { isCallError } from "../../operation/index.ts";
import type { Channel } from "../peer/index.ts";

/** What browsers' `WebSocket` and that of `ws` have in common. */
export interface Socket {
  binaryType: string;
  readonly bufferedAmount: number;
  readonly readyState: number;
  send(text: string): void;
  close(code?: number, reason?: string): void;
  /** Only `ws` can end a connection without a handshake. */
  terminate?(): void;
  /** Only browsers' sockets are event targets in this respect too. */
  dispatchEvent?(event: Event): boolean;
  addEventListener(type: string, listener: (event: never) => void, options?: { once?: boolean }): void;
  removeEventListener(type: string, listener: (event: never) => void): void;
}

const closedState = 3;
/** How long, in ms, the other side may take to answer a close. */
const closeTimeout = 1_000;
/** In bytes, by the protocol. A socket that is given more throws. */
const maxReason = 123;

/** What carries the bytes of a socket, where that can be had. */
export interface Wire {
  readonly bytesRead?: number;
}

/** A channel that sends text messages through an open socket. */
export function toChannel(socket: Socket, wire: Wire | undefined): Channel {
  return {
    get receivedBytes() {
      return wire?.bytesRead ?? 0;
    },
    get bufferedAmount() {
      return socket.bufferedAmount;
    },
    send: (text) => socket.send(text),
    close: (reason) => closeSocket(socket, reason),
  };
}

/**
 * Closes a socket with the code that tells the other side why, and does not wait for it for long: a socket that cannot
 * be cut counts as closed then, and its listeners hear so.
 */
export function closeSocket(socket: Socket, reason?: Error): void {
  if (socket.readyState === closedState) return;
  const [code, text] = toCloseCode(reason);
  socket.close(code, cutToBytes(text, maxReason));
  const timer = setTimeout(() => {
    if (socket.terminate !== undefined) socket.terminate();
    else socket.dispatchEvent?.(Object.assign(new Event("close"), { code: 1006, reason: "no answer to the close" }));
  }, closeTimeout);
  onClosed(socket, () => clearTimeout(timer));
}

/** Calls `listener` once, when a socket is closed or counts as such. */
export function onClosed(socket: Socket, listener: (event: CloseEvent) => void): void {
  socket.addEventListener("close", listener, { once: true });
}

/** Resolves when a socket is closed. */
export function whenClosed(socket: Socket): Promise<void> {
  if (socket.readyState === closedState) return Promise.resolve();
  return new Promise((resolve) => onClosed(socket, () => resolve()));
}

/** Calls `onMessage` with what arrives, as text or bytes. */
export function listen(socket: Socket, onMessage: (message: string | Uint8Array) => void): void {
  socket.binaryType = "arraybuffer";
  socket.addEventListener("message", ({ data }: MessageEvent<string | ArrayBuffer>) => {
    onMessage(typeof data === "string" ? data : new Uint8Array(data));
  });
}

/** What a close says, as an error. */
export function toCloseError({ code, reason }: { code: number; reason: string }): Error {
  const told = reason === "" ? "" : ` (${quote(reason)})`;
  return new Error(`The connection was closed with code ${code}${told}`);
}

/** https://www.rfc-editor.org/rfc/rfc6455#section-7.4.1; browsers may send only 1000 and 3000 to 4999. */
function toCloseCode(reason: Error | undefined): [code: number, reason: string] {
  if (reason === undefined) return [1000, ""];
  if (!isCallError(reason)) return [4000, reason.message];
  return reason.code === "PAYLOAD_TOO_LARGE" ? [4009, "message too large"] : [4007, reason.message];
}

/** As much of a text as `limit` bytes of UTF-8 hold, in whole characters. */
function cutToBytes(text: string, limit: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(limit));
  return text.slice(0, read);
}
