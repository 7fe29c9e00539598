import { openClient } from "../transport/websocket/web-socket-client.ts";
import type { ConnectOptions } from "./connect.ts";
import type { Connection } from "./lazy-caller.ts";
import { TransportConnection } from "./over-transport.ts";

/** Calls over a WebSocket. The token is sent with every connection. */
export function openWebSocket(url: URL, options: ConnectOptions): Connection {
  const { webSocket, token } = options;
  return new TransportConnection(options, (signal) => openClient([url.href], { ...webSocket, token, signal }));
}
