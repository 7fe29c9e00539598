import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  buildCallHandler,
  type Identity,
  type OperationRegistry,
  PendingRequestMap,
  type Transport,
} from "@alkdev/operations";
import { createNATSTransport } from "@alkdev/operations/transport-nats";
import { createRedisTransport } from "@alkdev/operations/transport-redis";
import { createWebSocketServer, createWebSocketTransport } from "@alkdev/operations/transport-websocket";
import { createWorkerPool } from "@alkdev/operations/transport-worker";
import { ada, guest } from "./people.ts";

/** A way that calls can take from here to where the operations run. */
export interface Way {
  /** Calls on behalf of an identity. */
  as(identity: Identity): PendingRequestMap;
  close(): Promise<void>;
}

/** How each way is opened. Nothing but the transport differs. */
export const ways: Record<string, (registry: OperationRegistry, documentUrl: string) => Promise<Way>> = {
  async worker(_registry, documentUrl) {
    const url = new URL("worker.mjs", import.meta.url);
    const calls = trusting(await createWorkerPool(url, { size: 1, worker: { workerData: { documentUrl } } }));
    return { as: () => calls, close: () => calls.close() };
  },

  async websocket(registry) {
    const http = createServer();
    const tokens = new Map([ada, guest].map((identity) => [`token of ${identity.id}`, identity]));
    const authenticate = (token = "") => tokens.get(token); // a connection counts for whom its token says
    const serving = new PendingRequestMap(await createWebSocketServer({ server: http, authenticate }));
    await serving.handle(buildCallHandler({ registry, callMap: serving })).ready;
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    const url = `ws://127.0.0.1:${(http.address() as AddressInfo).port}`;
    const [asAda, asGuest] = await Promise.all(
      [...tokens.keys()].map(async (token) => new PendingRequestMap(await createWebSocketTransport(url, { token }))),
    );
    return {
      as: (identity) => (identity === ada ? asAda! : asGuest!),
      async close() {
        await Promise.all([asAda!.close(), asGuest!.close()]);
        await serving.close();
        http.close();
      },
    };
  },

  async nats(registry) {
    return throughBroker(registry, () => createNATSTransport({ servers: process.env["NATS_URL"] }));
  },

  async redis(registry) {
    return throughBroker(registry, () => createRedisTransport({ url: process.env["REDIS_URL"] }));
  },
};

async function throughBroker(registry: OperationRegistry, connect: () => Promise<Transport>): Promise<Way> {
  const serving = trusting(await connect());
  await serving.handle(buildCallHandler({ registry, callMap: serving, trustedBus: true })).ready;
  const calls = trusting(await connect());
  return {
    as: () => calls,
    async close() {
      await calls.close();
      await serving.close();
    },
  };
}

/** On a bus that only we can reach, whom a call says that it is for is believed; elsewhere it is signed. */
function trusting(transport: Transport): PendingRequestMap {
  return new PendingRequestMap(transport, { trustedBus: true });
}
