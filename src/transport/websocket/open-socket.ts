import type * as WS from "ws";
import { toReason } from "../../internal/text.ts";
import { CallError, loadPeer } from "../../operation/index.ts";
import { toProtocols } from "./handshake.ts";
import type { ByteCounter, WebSocketLike } from "./socket-channel.ts";

/** Maximum value of `maxPayload` of `ws`, which keeps only the lowest 32 bits. */
const maxPayloadOption = 2 ** 31 - 1;
/** Minimum payload limit in bytes, which leaves room for a batch of several small frames. */
const minPayload = 256 * 1024;

/** A class such as the `WebSocket` of browsers. */
export type WebSocketConstructor = new (url: string, protocols: string[]) => WebSocketLike;

/** Options of {@link openSocket}. */
export interface OpenOptions {
  token: string | undefined;
  /** Time limit of the connection attempt, in ms. */
  timeout: number;
  /** Maximum size of a received message, in bytes. */
  maxPayload: number;
  /** Cancels the connection attempt. Has no effect after the connection is open. */
  signal: AbortSignal;
  /** Replaces the class of the runtime. */
  WebSocket?: WebSocketConstructor | undefined;
}

/** Details of a handshake that only `ws` reports. */
interface HandshakeReport {
  /** The status of an HTTP response that is not an upgrade. */
  status?: number | undefined;
  bytes?: ByteCounter;
}

/** Loads `ws` on first use. It is an optional peer dependency, which browsers do not have. */
export function loadWS(purpose: string): Promise<typeof WS> {
  // With a `catch`, esbuild only warns if it does not find the package. Without one, the build fails.
  return loadPeer("ws", purpose, () => import("ws").catch((error) => Promise.reject(error)));
}

/**
 * Returns the maximum size of a message that a socket accepts, in bytes. Several small frames may share a message,
 * which can then exceed a small limit for frames.
 */
export function toMaxPayload(maxMessage: number): number {
  return Math.min(Math.max(Math.ceil(maxMessage), minPayload), maxPayloadOption);
}

/**
 * Opens a connection. On Node, it uses `ws` if installed, which can terminate a dead connection and reports why a
 * connection was refused; otherwise the `WebSocket` of the runtime. Calls `onOpen` before any message can arrive, and
 * awaits it. Rejects with `UNAVAILABLE`, or with `UPSTREAM_DENIED` if the server requires a different token.
 */
export async function openSocket(
  url: string,
  options: OpenOptions,
  onOpen: (socket: WebSocketLike, bytes: ByteCounter | undefined) => Promise<void>,
): Promise<void> {
  const report: HandshakeReport = {};
  const createSocket = await findConstructor(url, options, report);
  const { timeout, signal } = options;
  return new Promise((resolve, reject) => {
    const socket = createSocket(); // its listeners are added in the same turn, before any event
    const timer = setTimeout(() => fail(new Error(`No connection within ${timeout} ms`)), timeout);
    const stopWaiting = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", cancel);
    };
    let hasFailed = false;
    const cancel = () => fail(undefined);
    const fail = (cause: unknown) => {
      if (hasFailed) return; // Node's class reports another error if it is closed before it is open
      hasFailed = true;
      stopWaiting();
      if (socket.terminate !== undefined) socket.terminate();
      else socket.close();
      reject(notOpened(url, report.status, cause));
    };
    signal.addEventListener("abort", cancel);
    socket.addEventListener("open", () => {
      stopWaiting();
      resolve(onOpen(socket, report.bytes));
    });
    // Never removed, because `ws` throws errors without a listener. After the open event, `close` also reports errors.
    socket.addEventListener("error", (event: { error?: unknown }) => fail(event.error));
    socket.addEventListener("close", cancel);
    if (signal.aborted) cancel();
  });
}

async function findConstructor(
  url: string,
  options: OpenOptions,
  report: HandshakeReport,
): Promise<() => WebSocketLike> {
  const own = globalThis.WebSocket as unknown as WebSocketConstructor | undefined;
  const Class = options.WebSocket ?? (globalThis.process?.versions?.node === undefined ? own : undefined);
  if (Class !== undefined) return () => new Class(url, toProtocols(options.token));
  try {
    const ws = await loadWS("WebSockets on this version of Node");
    // A bundle for browsers contains the browser entry of `ws`, which has no class. It may still run on Node.
    if (own === undefined || ws.WebSocket !== undefined) return () => createWithWS(ws, url, options, report);
  } catch (error) {
    if (own === undefined) throw error;
  }
  return () => new own(url, toProtocols(options.token));
}

function createWithWS(
  { WebSocket }: typeof WS,
  url: string,
  { token, maxPayload, timeout }: OpenOptions,
  report: HandshakeReport,
): WebSocketLike {
  const settings = { perMessageDeflate: false, handshakeTimeout: timeout, maxPayload };
  const socket = new WebSocket(url, toProtocols(token), settings);
  socket.on("upgrade", (response) => {
    report.bytes = response.socket;
  });
  socket.on("unexpected-response", (_request, response) => {
    report.status = response.statusCode;
    socket.terminate();
  });
  return socket as unknown as WebSocketLike;
}

const adviceFor = {
  401: "Pass a `token` that it accepts.",
  403: "See its `allowedHosts` and `allowedOrigins`.",
} as const;

/** Creates the error of a failed connection attempt. `status` is the status of an HTTP response, if reported. */
function notOpened(url: string, status: number | undefined, cause: unknown): CallError {
  const server = describeServer(url);
  if (status === 401 || status === 403) {
    const message = `The ${server} refused the connection: HTTP ${status}. ${adviceFor[status]}`;
    return new CallError("UPSTREAM_DENIED", message, { status }, { mayHaveRun: false });
  }
  if (status !== undefined) {
    const message = `The ${server} did not open a WebSocket but replied with HTTP ${status}. Check the path of the URL.`;
    return new CallError("UNAVAILABLE", message, { status }, { retryable: status >= 500, mayHaveRun: false });
  }
  const reason = cause === undefined || cause === null ? "" : `: ${toReason(cause)}`; // browsers do not report a reason
  const message = `Cannot connect to the ${server}${reason}. Check that it is running and that the address is correct.`;
  return new CallError("UNAVAILABLE", message, undefined, { cause, retryable: true, mayHaveRun: false });
}

/** `UNAVAILABLE`: a connection ended before the first frame, which every server of this package sends. */
export function notIntroduced(url: string, cause: Error): CallError {
  const reason = toReason(cause);
  const message = `The ${describeServer(url)} did not introduce itself: ${reason}. Does it serve operations at this path?`;
  return new CallError("UNAVAILABLE", message, undefined, { cause, retryable: true, mayHaveRun: false });
}

/** Returns the part of a URL that is safe to log. The rest may contain secrets. */
function describeServer(url: string): string {
  return `WebSocket server ${new URL(url).origin}`;
}
