import { createCallHandler, PendingRequestMap } from "../../call/inside.ts";
import type { OperationRegistry } from "../../registry/index.ts";
import { createOutcomeFilter } from "../../serve/outcome.ts";
import type { CloseOptions, ServeOptions } from "../../serve/server.ts";
import { refuseUpgrade, type UpgradeHandler } from "../../serve/upgrade.ts";
import { loadWS } from "./open-socket.ts";
import { WebSocketServer } from "./web-socket-server.ts";

/** Options of {@link serveWebSocket}. */
export interface ServeWebSocketOptions extends ServeOptions {
  /**
   * Interval of heartbeats, in ms. A silent client is detected within twice this time. 0 disables it. @default 15,000
   */
  heartbeat?: number | undefined;
}

/**
 * Serves the operations of a registry over WebSockets, with the call protocol, to `connect` of browsers and Node programs
 * and to other registries. Callers are identified before they are connected. Their connections are closed when their
 * credentials expire or are removed. Pass the result to `listen`, or its `upgrade` to an HTTP server of Node. Requires the
 * package `ws`.
 * @example
 * const listener = await listen({ "/calls": serveWebSocket(registry, { authenticate }) }, { port: 3000 });
 */
export function serveWebSocket(registry: OperationRegistry, options: ServeWebSocketOptions): UpgradeHandler {
  const transport = new WebSocketServer(loadWS("a WebSocket server"), options);
  const { authenticate, exposeErrors = false, ...others } = options;
  const callMap = new PendingRequestMap(transport);
  const outcome = createOutcomeFilter(registry, exposeErrors);
  const stop = callMap.handle(createCallHandler({ ...others, registry, callMap, outcome, via: "websocket" }));
  let closed: Promise<void> | undefined;
  const close = (closeOptions?: CloseOptions) => {
    closed ??= stop(closeOptions).then(() => callMap.close());
    return closed;
  };
  return {
    registry,
    isUnauthenticated: authenticate === "none",
    upgrade: (request, socket, head, info) => {
      if (closed === undefined) transport.handleUpgrade(request, socket, head, info);
      else refuseUpgrade(socket, 503, "The server is closing.");
    },
    ready: () => transport.ready(),
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}
