import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type MessagePort, parentPort } from "node:worker_threads";
import { buildCallHandler, PendingRequestMap, peerSource } from "../../src/call/index.ts";
import type { OperationRegistry } from "../../src/registry/index.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { createWebSocketServer } from "../../src/transport/websocket/index.ts";
import { createWorkerTransport } from "../../src/transport/worker/index.ts";
import { connectBroker } from "../../test/faults/brokers.ts";
import { createSoakRegistry } from "./operations.ts";
import { isBroker, type TransportName } from "./transports.ts";

/** A process or thread that serves the operations of soaks. */
export interface Serving {
  /** Where it listens, if it does. */
  readonly port?: number;
  close(): Promise<void>;
}

/** Serves over one of the transports between processes and threads. `port` is the broker's. */
export async function startServing(name: TransportName, port: number): Promise<Serving> {
  const registry = createSoakRegistry();
  if (isBroker(name)) return serveOver(registry, await connectBroker(name, port));
  return name === "worker" ? serveThread(registry) : serveWebSocket(registry);
}

/** Serves over an existing transport, and imports the operations of its peers. */
export async function serveOver(registry: OperationRegistry, transport: Transport | EventTarget): Promise<Serving> {
  const calls = new PendingRequestMap(transport);
  const stop = calls.handle(buildCallHandler({ registry, callMap: calls }));
  await stop.ready;
  const following = await registry.follow(peerSource(calls));
  return {
    async close() {
      await following.close();
      await stop();
      await calls.close();
    },
  };
}

async function serveWebSocket(registry: OperationRegistry): Promise<Serving> {
  const http = createServer().listen(0, "127.0.0.1");
  await once(http, "listening");
  const serving = await serveOver(registry, await createWebSocketServer({ server: http, acceptOperations: true }));
  return {
    port: (http.address() as AddressInfo).port,
    async close() {
      await serving.close();
      http.close();
      await once(http, "close");
    },
  };
}

/** Besides the port to its parent, a thread serves every port that it is sent. */
async function serveThread(registry: OperationRegistry): Promise<Serving> {
  parentPort!.on("message", async (message: { port?: MessagePort }) => {
    const { port } = message;
    if (port === undefined) return;
    const serving = await serveOver(registry, createWorkerTransport(port));
    port.once("close", () => void serving.close());
  });
  return serveOver(registry, createWorkerTransport());
}
