import type { OperationRegistry } from "../registry/index.ts";
import type { EventTargetLike } from "../transport/in-process/index.ts";
import type { Transport } from "../transport/transport.ts";
import { buildCallHandler, type CallHandlerOptions } from "./call-handler.ts";
import type { StopOptions } from "./drain.ts";
import { PendingRequestMap, type StopHandling, toTransport } from "./pending-request-map.ts";

/** Options of {@link serveCalls}. */
export interface ServeCallsOptions extends Omit<CallHandlerOptions, "registry" | "callMap"> {}

/** A registry that is served over a transport. */
export interface ServedCalls extends AsyncDisposable {
  /**
   * Stops serving: rejects further requests, ends subscriptions with `UNAVAILABLE` immediately, and lets running calls
   * finish, for ten seconds by default. Then closes the transport that was passed to `serveCalls`. A
   * `PendingRequestMap` that was passed stays open. May be called more than once; the options of the first call apply.
   */
  close(options?: StopOptions): Promise<void>;
}

/**
 * Serves the operations of a registry to callers over a transport, and follows the registry's changes. Each call is checked against the identity of its caller, which the transport or `authenticate` determines. Operations that were imported from peers of the same transport are excluded.
 *
 * Resolves when the operations are served. While a broker is unavailable, the promise stays pending and serving is retried. If the transport refuses to serve them, the promise rejects and the transport is closed.
 * @param transport an event target carries each frame as a `CustomEvent`. Pass a `PendingRequestMap` to make calls over the
 * same transport, and close the map yourself.
 * @example
 * ```ts source="examples/guide/websocket.ts#serve"
 * const http = createServer();
 * const transport = await createWebSocketServer({
 *   server: http,
 *   path: "/operations",
 *   authenticate: ({ token }) => (token === "let-me-in" ? { id: "ada", scopes: ["door:enter"] } : undefined),
 * });
 * const served = await serveCalls(registry, transport);
 * http.listen(0, "127.0.0.1");
 * ```
 */
export async function serveCalls(
  registry: OperationRegistry,
  transport: Transport | EventTargetLike | PendingRequestMap,
  options: ServeCallsOptions = {},
): Promise<ServedCalls> {
  const isOwn = !(transport instanceof PendingRequestMap);
  const callMap = isOwn ? new PendingRequestMap(toTransport(transport, "serveCalls()")) : transport;
  let stop: StopHandling | undefined;
  let closed: Promise<void> | undefined;
  const stopAndClose = async (stopOptions?: StopOptions) => {
    await stop?.(stopOptions);
    if (isOwn) await callMap.close();
  };
  const close = (stopOptions?: StopOptions) => (closed ??= stopAndClose(stopOptions));
  try {
    stop = callMap.handle(buildCallHandler({ ...options, registry, callMap }));
    await stop.ready;
    return { close, [Symbol.asyncDispose]: () => close() };
  } catch (error) {
    await close(); // otherwise, the next change of the registry would serve the handler
    throw error;
  }
}
