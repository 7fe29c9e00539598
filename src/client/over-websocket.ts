import type { TransportCaller } from "../call/outgoing/index.ts";
import { CallError } from "../operation/index.ts";
import { openClient } from "../transport/websocket/web-socket-client.ts";
import type { ConnectOptions } from "./connect.ts";
import { openTransport } from "./over-transport.ts";

/** Connects to the WebSocket server at a URL and sends the token. Rejects when `signal` is aborted meanwhile. */
export async function openWebSocket(url: URL, options: ConnectOptions, signal: AbortSignal): Promise<TransportCaller> {
  const { webSocket, token, headers } = options;
  if (headers !== undefined) {
    const message = "A WebSocket cannot send headers. Pass a token instead.";
    throw new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: false });
  }
  return openTransport(await openClient([url.href], { ...webSocket, token, signal }), options);
}
