import { openClient } from "../transport/websocket/web-socket-client.ts";
import type { ConnectOptions } from "./connect.ts";
import type { Connection } from "./connection.ts";
import { TransportConnection } from "./over-transport.ts";

/** Connects to the WebSocket server at a URL and sends the token. Rejects when `signal` is aborted meanwhile. */
export async function openWebSocket(
  url: string,
  { token, webSocket, ...options }: ConnectOptions,
  signal: AbortSignal,
): Promise<Connection> {
  const transport = await openClient(url, { ...webSocket, token, signal });
  return new TransportConnection(transport, options);
}
