import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { buildCallHandler, PendingRequestMap } from "../../call/index.ts";
import { defineOperation, OperationType } from "../../operation/index.ts";
import { createRegistry } from "../../registry/index.ts";
import {
  createWebSocketServer,
  type WebSocketServerOptions,
  type WebSocketServerTransport,
} from "./web-socket-server.ts";

/** A server with a few operations on a free port. */
export interface TestServer {
  url: string;
  port: number;
  http: Server;
  transport: WebSocketServerTransport;
  calls: PendingRequestMap;
  /** Calls that the handlers started, aborted calls, values that were sent, and scopes of callers. */
  seen: { started: number; aborted: number; sent: number; scopes: unknown[] };
  close(): Promise<void>;
}

const spec = { namespace: "test", version: "1.0.0", description: "", inputSchema: {}, outputSchema: {} };
const open = { accessControl: { requiredScopes: [] } };

/**
 * Starts a server with `test.echo`, `test.whoami`, `test.hang`, `test.admin` (requires the scope `admin`), `test.count`
 * and `test.flood`.
 */
export async function startServer(
  options: WebSocketServerOptions = {},
  { port = 0, host = "127.0.0.1" }: { port?: number; host?: string } = {},
): Promise<TestServer> {
  const seen: TestServer["seen"] = { started: 0, aborted: 0, sent: 0, scopes: [] };
  const http = createServer((_request, response) => response.end("http"));
  await new Promise<void>((resolve) => http.listen(port, host, resolve));
  const transport = await createWebSocketServer({ server: http, ...options });
  const calls = new PendingRequestMap(transport);
  const stop = calls.handle(
    buildCallHandler({ registry: createRegistry({ operations: operations(seen) }), callMap: calls }),
  );
  await stop.ready;
  const address = http.address() as AddressInfo;
  return {
    url: `ws://${host}:${address.port}/`,
    port: address.port,
    http,
    transport,
    calls,
    seen,
    async close() {
      await calls.close();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

function operations(seen: TestServer["seen"]) {
  const define = (name: string, handler: (input: never, context: never) => unknown, more: object = {}) =>
    defineOperation({ ...spec, ...open, name, type: OperationType.QUERY, handler, ...more } as never);
  const subscription = { type: OperationType.SUBSCRIPTION };
  return [
    define("echo", (input) => input),
    define("whoami", (_input, { identity }: { identity?: unknown }) => identity ?? null),
    define("admin", () => "done", { accessControl: { requiredScopes: ["admin"] } }),
    define("hang", (_input, { signal }: { signal: AbortSignal }) => {
      seen.started++;
      return new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          seen.aborted++;
          resolve(undefined);
        });
      });
    }),
    define(
      "count",
      async function* ({ to }: { to: number }) {
        try {
          for (let tick = 1; tick <= to; tick++) yield tick;
        } finally {
          seen.aborted++;
        }
      },
      subscription,
    ),
    define(
      "flood",
      async function* ({ times, size }: { times: number; size: number }) {
        for (let tick = 0; tick < times; tick++) {
          seen.sent++;
          yield "x".repeat(size);
        }
      },
      subscription,
    ),
  ];
}
