import type * as WS from "ws";
import { fromLooseBase64, toBase64URL } from "../../internal/base64.ts";
import { toReason } from "../../internal/text.ts";
import { CallError, loadPeer } from "../../operation/inside.ts";
import type { ByteCounter, WebSocketConstructor, WebSocketLike } from "./socket-channel.ts";
import type { HandshakeReport } from "./ws-socket.ts";

/** The WebSocket sub-protocol of call frames. */
export const subprotocol = "alkdev.operations.v1";

/** Browsers cannot set headers, so the token is a second sub-protocol, which the server never echoes. */
const tokenPrefix = "alkdev.operations.bearer.";

/** Options of {@link openSocket}. */
export interface OpenOptions {
  token: string | undefined;
  /** Time limit of the connection attempt, in ms. */
  timeout: number;
  /** Maximum size of a received frame, in bytes. */
  maxMessage: number;
  /** Cancels the connection attempt. Has no effect after the connection is open. */
  signal: AbortSignal;
  /** Replaces the class of the runtime. */
  WebSocket?: WebSocketConstructor | undefined;
}

/** Returns the sub-protocols that a client offers. */
export function toProtocols(token: string | undefined): string[] {
  return token === undefined
    ? [subprotocol]
    : [subprotocol, tokenPrefix + toBase64URL(new TextEncoder().encode(token))];
}

/** Returns the token among the sub-protocols that a client offers; an empty string if it is malformed. */
export function readProtocolToken(offered: string | null): string | undefined {
  const protocols = (offered ?? "").split(",").map((name) => name.trim());
  const encoded = protocols.find((name) => name.startsWith(tokenPrefix))?.slice(tokenPrefix.length);
  if (encoded === undefined) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(fromLooseBase64(encoded));
  } catch {
    return ""; // not UTF-8
  }
}

/** Loads `ws` on first use. It is an optional peer dependency, which browsers do not have. @internal */
export function loadWS(purpose: string): Promise<typeof WS> {
  // With a `catch`, esbuild only warns if it does not find the package. Without one, the build fails.
  return loadPeer("ws", purpose, () => import("ws").catch((error) => Promise.reject(error)));
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
      reject(report.refusal === undefined ? notOpened(url, cause) : CallError.fromJSON(report.refusal));
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
  { token, timeout, maxMessage, WebSocket }: OpenOptions,
  report: HandshakeReport,
): Promise<() => WebSocketLike> {
  const protocols = toProtocols(token);
  const own = globalThis.WebSocket as unknown as WebSocketConstructor | undefined;
  const Class = WebSocket ?? (globalThis.process?.versions?.node === undefined ? own : undefined);
  if (Class !== undefined) return () => new Class(url, protocols);
  try {
    const [{ createWithWS }, ws] = await Promise.all([
      import("./ws-socket.ts"),
      loadWS("WebSockets on this version of Node"),
    ]);
    // A bundle for browsers contains the browser entry of `ws`, which has no class. It may still run on Node.
    if (own === undefined || ws.WebSocket !== undefined) {
      return () => createWithWS(ws, { url, protocols, timeout, maxMessage }, report);
    }
  } catch (error) {
    if (own === undefined) throw error;
  }
  return () => new own(url, protocols);
}

/** Creates the error of a failed connection attempt. */
function notOpened(url: string, cause: unknown): CallError {
  const reason = cause === undefined || cause === null ? "" : `: ${toReason(cause)}`; // browsers do not report a reason
  const message = `Cannot connect to the ${describeServer(url)}${reason}. Check that it is running and that the address is correct.`;
  return new CallError("UNAVAILABLE", message, undefined, { cause, retryable: true, mayHaveRun: false });
}

/** `UNAVAILABLE`: a connection ended before the first frame, which every server of this package sends. */
export function notIntroduced(url: string, cause: Error): CallError {
  const reason = toReason(cause);
  const message = `The ${describeServer(url)} did not complete the handshake: ${reason}. Check that it serves operations at this path.`;
  return new CallError("UNAVAILABLE", message, undefined, { cause, retryable: true, mayHaveRun: false });
}

/** Returns the part of a URL that is safe to log. The rest may contain secrets. */
function describeServer(url: string): string {
  return `WebSocket server ${new URL(url).origin}`;
}
