import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { statusTexts } from "../transport/http-form.ts";
import type { FetchInfo, RegistryServer } from "./server.ts";

/** A server of connections such as WebSockets, which start with an `upgrade` event of Node's HTTP servers. */
export interface UpgradeHandler extends RegistryServer {
  /** Handles an `upgrade` event: accepts or refuses the connection. A bound function, so that it can be passed on. */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer, info?: FetchInfo) => void;
}

/** Replies to the handshake of a WebSocket with an error, and closes its connection. */
export function refuseUpgrade(
  socket: Duplex,
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
  socket.on("error", () => {}); // The client may disconnect before the reply.
  // A client that keeps its half open would keep the connection open: HTTP timeouts do not apply after an upgrade.
  socket.end(`${lines.join("\r\n")}\r\n\r\n${reason}`, () => socket.destroy());
}
