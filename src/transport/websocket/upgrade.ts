/** What a server needs of a handshake's request; Node's `IncomingMessage` is one. */
export interface UpgradeRequest {
  url?: string | undefined;
  headers: Record<string, string | string[] | undefined>;
  /** Names and values in turn, as they came: `headers` holds only the first of some that came twice. */
  rawHeaders?: readonly string[] | undefined;
  socket: { localAddress?: string | undefined; remoteAddress?: string | undefined };
}

/** What a server needs of a handshake's socket; Node's `Duplex` is one. */
export interface UpgradeSocket {
  end(text: string, onSent: () => void): unknown;
  destroy(): unknown;
  on(event: "error", listener: () => void): unknown;
  off(event: "error", listener: () => void): unknown;
}

/** A handler of `upgrade` events of Node's HTTP servers. */
export type UpgradeListener = (request: UpgradeRequest, socket: UpgradeSocket, head: Uint8Array) => void;

/** What is needed of an HTTP server; that of `node:http` and `node:https` is one. */
export interface UpgradeServer {
  on(event: "upgrade", listener: UpgradeListener): unknown;
  off(event: "upgrade", listener: UpgradeListener): unknown;
  listenerCount(event: "upgrade"): number;
}

const statusTexts = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  503: "Service Unavailable",
} as const;

/** Headers that name one thing: of two, a proxy and this server might each believe another one. */
const singleHeaders = ["host", "authorization", "origin"];

/** The name of a header that came more than once and must not, if there is one. */
export function findRepeatedHeader({ rawHeaders = [], headers }: UpgradeRequest): string | undefined {
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  return singleHeaders.find(
    (name) =>
      names.indexOf(name) !== names.lastIndexOf(name) || (Array.isArray(headers[name]) && headers[name].length > 1),
  );
}

/** Answers a handshake with an HTTP error and closes its connection. */
export function refuse(socket: UpgradeSocket, status: keyof typeof statusTexts, reason: string): void {
  const head = `HTTP/1.1 ${status} ${statusTexts[status]}`;
  const headers = "Connection: close\r\nContent-Type: text/plain; charset=utf-8\r\nCache-Control: no-store";
  const text = `${head}\r\n${headers}\r\nContent-Length: ${reason.length}\r\n\r\n${reason}`;
  // A client that keeps its half open would keep the connection, which no timeout of the HTTP server watches any more.
  socket.end(text, () => socket.destroy());
}
