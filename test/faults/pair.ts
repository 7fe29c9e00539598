import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buildCallHandler, PendingRequestMap } from "../../src/call/index.ts";
import { OperationRegistry } from "../../src/registry/index.ts";
import { createNATSTransport } from "../../src/transport/nats/index.ts";
import { createRedisTransport } from "../../src/transport/redis/index.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { createWebSocketServer, createWebSocketTransport } from "../../src/transport/websocket/index.ts";
import { type Proxy as LinkProxy, startProxy } from "../services/proxy.ts";
import type { BrokerName } from "./brokers.ts";
import { type Report, workOperations } from "./operations.ts";

/** A caller and a worker whose links go through proxies. */
export interface Pair extends AsyncDisposable {
  readonly calls: PendingRequestMap;
  /** What is between the caller and whatever it is connected to. */
  readonly callerLink: LinkProxy;
  /** What is between the worker and the broker; that of the caller where there is no broker. */
  readonly workerLink: LinkProxy;
}

let count = 0;

/** Two peers on a broker at a port of this machine. */
export async function connectOverBroker(broker: BrokerName, port: number, report: Report): Promise<Pair> {
  const [callerLink, workerLink] = await Promise.all([startProxy(port), startProxy(port)]);
  count += 1;
  const prefix = `pair-${count}`;
  const join = (link: LinkProxy): Promise<Transport> =>
    broker === "nats"
      ? createNATSTransport({
          servers: `127.0.0.1:${link.port}`,
          prefix,
          heartbeat: 500,
          connect: { pingInterval: 500 },
        })
      : createRedisTransport({ url: `redis://127.0.0.1:${link.port}`, prefix, heartbeat: 500 });
  const serving = await serve(await join(workerLink), report);
  const calls = new PendingRequestMap(await join(callerLink));
  return toPair(calls, serving, callerLink, workerLink);
}

/** A WebSocket client and its server. */
export async function connectOverWebSocket(report: Report): Promise<Pair> {
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const serving = await serve(await createWebSocketServer({ server: http, heartbeat: 1_000 }), report);
  const link = await startProxy((http.address() as AddressInfo).port);
  const options = { heartbeat: 1_000, reconnect: { first: 20, max: 100 } };
  const calls = new PendingRequestMap(await createWebSocketTransport(`ws://127.0.0.1:${link.port}`, options));
  return toPair(calls, serving, link, link, () => void http.close());
}

async function serve(transport: Transport, report: Report): Promise<PendingRequestMap> {
  const serving = new PendingRequestMap(transport);
  const registry = new OperationRegistry();
  registry.registerAll(workOperations(report));
  await serving.handle(buildCallHandler({ registry, callMap: serving })).ready;
  return serving;
}

function toPair(
  calls: PendingRequestMap,
  serving: PendingRequestMap,
  callerLink: LinkProxy,
  workerLink: LinkProxy,
  close = () => {},
): Pair {
  return {
    calls,
    callerLink,
    workerLink,
    async [Symbol.asyncDispose]() {
      await Promise.all([calls.close(), serving.close()]);
      await callerLink.close();
      if (workerLink !== callerLink) await workerLink.close();
      close();
    },
  };
}
