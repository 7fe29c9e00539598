import type * as WS from "ws";
import type { CallErrorJSON } from "../../operation/index.ts";
import type { ByteCounter, WebSocketLike } from "./socket-channel.ts";

// Loaded only where the package `ws` is used, which pages never do. Without imports at run time, so that bundlers do not
// split the code of pages because of it.

/** Maximum value of `maxPayload` of `ws`, which keeps only the lowest 32 bits. */
const maxPayloadOption = 2 ** 31 - 1;
/** Minimum payload limit in bytes, which leaves room for a batch of several small frames. */
const minPayload = 256 * 1024;

/**
 * Returns the maximum size of a message that a socket accepts, in bytes. Several small frames may share a message,
 * which can then exceed a small limit for frames.
 */
export function toMaxPayload(maxMessage: number): number {
  return Math.min(Math.max(Math.ceil(maxMessage), minPayload), maxPayloadOption);
}

/** Details of a handshake that only `ws` reports. */
export interface HandshakeReport {
  /** The error for an HTTP response that is not an upgrade. */
  refusal?: CallErrorJSON;
  bytes?: ByteCounter;
}

/** A handshake. */
interface Handshake {
  url: string;
  protocols: string[];
  /** Time limit, in ms. */
  timeout: number;
  /** Maximum size of a received frame, in bytes. */
  maxMessage: number;
}

/** Starts to connect, and completes the report during the handshake. */
export function createWithWS(
  { WebSocket }: typeof WS,
  { url, protocols, timeout, maxMessage }: Handshake,
  report: HandshakeReport,
): WebSocketLike {
  const maxPayload = toMaxPayload(maxMessage);
  const socket = new WebSocket(url, protocols, { perMessageDeflate: false, handshakeTimeout: timeout, maxPayload });
  socket.on("upgrade", (response) => {
    report.bytes = response.socket;
  });
  socket.on("unexpected-response", (_request, { statusCode = 0 }) => {
    report.refusal = toRefusal(new URL(url).origin, statusCode);
    socket.terminate();
  });
  return socket as unknown as WebSocketLike;
}

const adviceFor: Readonly<Record<number, string>> = {
  401: "Pass a `token` that it accepts.",
  403: "Without `authenticate` it accepts only its own machine. Pages of other origins need its option `cors`.",
};

/** Returns the error for a server that replied with an HTTP response. */
function toRefusal(origin: string, status: number): CallErrorJSON {
  const advice = adviceFor[status];
  return advice === undefined
    ? {
        code: "UNAVAILABLE",
        message: `The WebSocket server ${origin} did not open a WebSocket but replied with HTTP ${status}. Check the path of the URL.`,
        details: { status },
        retryable: status >= 500,
        mayHaveRun: false,
      }
    : {
        code: "UPSTREAM_DENIED",
        message: `The WebSocket server ${origin} refused the connection: HTTP ${status}. ${advice}`,
        details: { status },
        retryable: false,
        mayHaveRun: false,
      };
}
