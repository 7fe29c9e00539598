import { fromLooseBase64, toBase64URL } from "../../internal/base64.ts";
import { parseBearer, parseHost, parseOrigin, statusTexts } from "../../internal/http.ts";
import { isLoopbackHost } from "../../internal/urls.ts";

/** The WebSocket sub-protocol of call frames. */
export const subprotocol = "alkdev.operations.v1";

/** Browsers cannot set headers, so the token is a second sub-protocol, which the server never echoes. */
const tokenPrefix = "alkdev.operations.bearer.";

/** The part of a handshake's request that a server needs, such as Node's `IncomingMessage`. */
export interface UpgradeRequest {
  /** Path and query. */
  url?: string | undefined;
  /** Headers by lower-case name. */
  headers: Record<string, string | string[] | undefined>;
  /** Alternating names and values, as received. `headers` contains only the first of some repeated headers. */
  rawHeaders?: readonly string[] | undefined;
  /** Addresses of both ends. */
  socket: { localAddress?: string | undefined; remoteAddress?: string | undefined };
}

/** The part of a handshake's socket that a server needs, such as Node's `Duplex`. */
export interface UpgradeSocket {
  /** Sends a string and closes the socket. */
  end(text: string, onSent: () => void): unknown;
  /** Closes the socket immediately. */
  destroy(): unknown;
  /** Adds a listener. */
  on(event: "error", listener: () => void): unknown;
  /** Removes a listener. */
  off(event: "error", listener: () => void): unknown;
}

/** A handler of `upgrade` events of Node's HTTP servers. */
export type UpgradeListener = (request: UpgradeRequest, socket: UpgradeSocket, head: Uint8Array) => void;

/** The part of an HTTP server that is needed, such as that of `node:http` and `node:https`. */
export interface UpgradeServer {
  /** Adds a listener. */
  on(event: "upgrade", listener: UpgradeListener): unknown;
  /** Removes a listener. */
  off(event: "upgrade", listener: UpgradeListener): unknown;
  /** Number of listeners. */
  listenerCount(event: "upgrade"): number;
}

/** Hosts and origins that are allowed besides the server's own. */
export interface WebSocketOrigins {
  /** Host names, as in the `Host` header without its port. */
  allowedHosts?: readonly string[] | undefined;
  /** Origins as browsers send them, such as `https://app.example.com`. */
  allowedOrigins?: readonly string[] | undefined;
}

/** Headers that must not be repeated, because a proxy and this server might use different values. */
const singleHeaders = ["host", "authorization", "origin"];

/** Returns the sub-protocols that a client offers. */
export function toProtocols(token: string | undefined): string[] {
  return token === undefined
    ? [subprotocol]
    : [subprotocol, tokenPrefix + toBase64URL(new TextEncoder().encode(token))];
}

/**
 * Returns the token of a handshake, from `Authorization: Bearer` or from the offered sub-protocols; an empty string if it
 * is malformed.
 */
export function readToken({ authorization, ...headers }: UpgradeRequest["headers"]): string | undefined {
  const bearer = typeof authorization === "string" ? parseBearer(authorization) : undefined;
  return bearer === undefined ? readProtocolToken(headers) : (bearer ?? "");
}

/** Returns the token among the sub-protocols that a client offers; an empty string if it is malformed. */
export function readProtocolToken(headers: UpgradeRequest["headers"]): string | undefined {
  for (const offered of String(headers["sec-websocket-protocol"] ?? "").split(",")) {
    const name = offered.trim();
    if (name.startsWith(tokenPrefix)) return decodeToken(name.slice(tokenPrefix.length));
  }
  return undefined;
}

function decodeToken(encoded: string): string {
  const bytes = fromLooseBase64(encoded);
  if (bytes === undefined) return "";
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return ""; // not UTF-8
  }
}

/** Returns the name of a header that is repeated but must not be, or `undefined`. */
export function findRepeatedHeader({ rawHeaders = [], headers }: UpgradeRequest): string | undefined {
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  return singleHeaders.find(
    (name) =>
      names.indexOf(name) !== names.lastIndexOf(name) || (Array.isArray(headers[name]) && headers[name].length > 1),
  );
}

/**
 * Returns the reason to refuse a handshake, or `undefined`. A server on loopback serves this machine only, so a foreign
 * `Host` indicates that a web page made its name resolve to this machine (DNS rebinding). A foreign `Origin` indicates
 * that a web page opens connections on behalf of its visitor, which browsers do not prevent for WebSockets.
 */
export function findRefusal({ headers, socket }: UpgradeRequest, allowed: WebSocketOrigins): string | undefined {
  const [host, origin] = [join(headers["host"]), join(headers["origin"])];
  const own = host === undefined ? undefined : parseHost(host);
  if (own === undefined) return "the Host header is missing or malformed";
  const isAllowedHost = allowed.allowedHosts?.includes(own.hostname) === true;
  if (isLoopback(socket.localAddress) && !isLoopbackHost(own.hostname) && !isAllowedHost) {
    return "the Host header is foreign";
  }
  if (origin === undefined || allowed.allowedOrigins?.includes(origin) === true) return undefined;
  const page = parseOrigin(origin);
  const isLocalPage = page !== undefined && isLoopbackHost(own.hostname) && isLoopbackHost(page.hostname);
  return page?.host === own.host || isLocalPage ? undefined : "the Origin is foreign";
}

/** Returns whether the address of a socket belongs to this machine. */
export function isLoopback(address: string | undefined): boolean {
  return address !== undefined && isLoopbackHost(address);
}

/** Replies to a handshake with an HTTP error and closes its connection. */
export function refuse(
  socket: UpgradeSocket,
  status: number,
  reason: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const lines = [
    `HTTP/1.1 ${status} ${statusTexts[status]}`,
    "Connection: close",
    "Content-Type: text/plain; charset=utf-8",
    "Cache-Control: no-store",
    `Content-Length: ${new TextEncoder().encode(reason).length}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  // A client that keeps its half open would keep the connection open: HTTP timeouts do not apply after an upgrade.
  socket.end(`${lines.join("\r\n")}\r\n\r\n${reason}`, () => socket.destroy());
}

function join(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(",") : header;
}
