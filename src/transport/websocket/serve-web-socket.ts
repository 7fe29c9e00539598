import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { buildCallHandler, PendingRequestMap, type StopHandling } from "../../call/index.ts";
import type { OperationRegistry } from "../../registry/index.ts";
import { Gate, type GateRequest } from "../../serve/gate.ts";
import { credentialEnded } from "../../serve/refusals.ts";
import type { CloseOptions, FetchInfo, ServeOptions, UpgradeHandler } from "../../serve/server.ts";
import { readProtocolToken, refuse, type UpgradeRequest, type UpgradeSocket } from "./handshake.ts";
import { loadWS } from "./open-socket.ts";
import { type Admit, WebSocketServer } from "./web-socket-server.ts";

/**
 * Options of {@link serveWebSocket}. Callers receive the same errors as in process, so that there is no `exposeErrors`.
 */
export interface ServeWebSocketOptions extends Omit<ServeOptions, "exposeErrors"> {
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
  return new WebSocketUpgrades(registry, options);
}

class WebSocketUpgrades implements UpgradeHandler {
  readonly #gate: Gate;
  readonly #transport: WebSocketServer;
  readonly #calls: PendingRequestMap;
  readonly #stop: StopHandling;
  #closed: Promise<void> | undefined = undefined;

  constructor(registry: OperationRegistry, options: ServeWebSocketOptions) {
    this.#gate = new Gate(options); // First: it reports that options are missing.
    const { limits, heartbeat, defaultTimeout, maxTimeout, include, exclude } = options;
    this.#transport = new WebSocketServer(loadWS("a WebSocket server"), { limits, heartbeat }, this.#admit);
    this.#calls = new PendingRequestMap(this.#transport);
    const callMap = this.#calls;
    const handler = buildCallHandler({ registry, callMap, limits, defaultTimeout, maxTimeout, include, exclude });
    this.#stop = callMap.handle(handler);
  }

  get isUnauthenticated(): boolean {
    return this.#gate.isUnauthenticated;
  }

  readonly upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer, info?: FetchInfo): void => {
    const { basePath } = info ?? {};
    const path = request.url?.split("?", 1)[0];
    const isOurs = basePath === undefined || path === basePath || path === `${basePath}/`;
    if (isOurs && this.#closed === undefined) {
      return this.#transport.handleUpgrade(request, socket as UpgradeSocket, head, info);
    }
    socket.on("error", () => {}); // The client may disconnect before the reply.
    if (isOurs) refuse(socket as UpgradeSocket, 503, "The server is closing.");
    else refuse(socket as UpgradeSocket, 404, "No such path.");
  };

  close(options?: CloseOptions): Promise<void> {
    this.#closed ??= this.#close(options);
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close({ timeout }: CloseOptions = {}): Promise<void> {
    await this.#stop(timeout === undefined ? {} : { timeout });
    await this.#calls.close();
    this.#gate.close();
  }

  readonly #admit: Admit = async (request, info) => {
    const admission = await this.#gate.check(toGateRequest(request), {
      ...info,
      remoteAddress: info?.remoteAddress ?? request.socket.remoteAddress,
    });
    switch (admission.kind) {
      case "caller":
        return {
          identity: admission.identity,
          watch: (end) => this.#gate.watch(admission, (reason) => end((id) => credentialEnded(id, reason))),
        };
      case "refusal":
        return { status: admission.status, reason: admission.error.message, headers: admission.headers };
      case "preflight": // Only for OPTIONS, which cannot be upgraded.
        return { status: 400, reason: "A WebSocket handshake must be a GET request." };
    }
  };
}

function toGateRequest({ url = "/", headers }: UpgradeRequest): GateRequest {
  const read = (name: string) => {
    const value = headers[name.toLowerCase()];
    return Array.isArray(value) ? value.join(", ") : (value ?? null);
  };
  const token = readProtocolToken(headers);
  return { method: "GET", url, headers: { get: read, has: (name) => read(name) !== null }, token };
}
