import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Worker } from "node:worker_threads";
import {
  type Identity,
  type OperationRegistry,
  PendingRequestMap,
  type ResponseEnvelope,
  serveCalls,
  type Transport,
} from "@alkdev/operations";
import { connect } from "@alkdev/operations/client";
import { listen } from "@alkdev/operations/node";
import { type Credentials, serveHTTP } from "@alkdev/operations/serve-http";
import { createNATSTransport } from "@alkdev/operations/transport-nats";
import { createRedisTransport } from "@alkdev/operations/transport-redis";
import { createWebSocketServer, createWebSocketTransport } from "@alkdev/operations/transport-websocket";
import { createWorkerTransport } from "@alkdev/operations/transport-worker";

/** The callers of the tour: Ada may create tasks, a guest may not. */
export const ada: Identity = { id: "ada", scopes: ["task:write"] };
export const guest: Identity = { id: "guest", scopes: [] };

const tokens = new Map([ada, guest].map((identity) => [`token-of-${identity.id}`, identity]));
const authenticate = ({ token = "" }: Credentials) => tokens.get(token);

/** Makes calls for one identity. */
export interface Caller {
  call(id: string, input: unknown, options: { identity: Identity }): Promise<ResponseEnvelope>;
  subscribe(id: string, input: unknown, options: { identity: Identity }): AsyncIterable<ResponseEnvelope>;
}

/** A connection to the operations over one transport. */
export interface Connection {
  /** Returns the object that makes calls for an identity. */
  as(identity: Identity): Caller;
  close(): Promise<void>;
}

/** Opens a connection over each transport. Only the transport differs; the operations are the same. */
export const transports: Record<string, (registry: OperationRegistry, documentUrl: string) => Promise<Connection>> = {
  async http(registry) {
    const server = serveHTTP(registry, { authenticate });
    const listener = await listen({ "/": server });
    const clients = new Map(
      [ada, guest].map((identity) => [identity, connect(listener.url, { token: `token-of-${identity.id}` })]),
    );
    const find = (id: string, identity: Identity) => {
      const [namespace, name] = id.split(".") as [string, string];
      return clients.get(identity)![namespace]![name]!;
    };
    return {
      as: (identity) => ({
        call: (id, input) => find(id, identity).envelope(input),
        subscribe: (id, input) => find(id, identity).envelope(input),
      }),
      async close() {
        for (const client of clients.values()) await client.close();
        await listener.close();
      },
    };
  },

  async worker(_registry, documentUrl) {
    const url = new URL("worker.mjs", import.meta.url);
    const worker = new Worker(url, { workerData: { documentUrl } });
    const calls = new PendingRequestMap(createWorkerTransport(worker), { trustedBus: true });
    return {
      as: () => calls,
      async close() {
        await calls.close();
        await worker.terminate();
      },
    };
  },

  async websocket(registry) {
    const http = createServer();
    const served = await serveCalls(registry, await createWebSocketServer({ server: http, authenticate }));
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    const url = `ws://127.0.0.1:${(http.address() as AddressInfo).port}`;
    const open = async (token: string) => new PendingRequestMap(await createWebSocketTransport(url, { token }));
    const calls = new Map([
      [ada, await open("token-of-ada")],
      [guest, await open("token-of-guest")],
    ]);
    return {
      as: (identity) => calls.get(identity)!,
      async close() {
        for (const connection of calls.values()) await connection.close();
        await served.close();
        http.close();
      },
    };
  },

  nats: (registry) => connectToBroker(registry, () => createNATSTransport({ servers: process.env["NATS_URL"] })),

  redis: (registry) => connectToBroker(registry, () => createRedisTransport({ url: process.env["REDIS_URL"] })),
};

/** Only this program uses the broker, so identities in requests are trusted. Elsewhere, sign them: see docs/jwt.md. */
async function connectToBroker(registry: OperationRegistry, connect: () => Promise<Transport>): Promise<Connection> {
  const served = await serveCalls(registry, await connect(), { trustedBus: true });
  const calls = new PendingRequestMap(await connect(), { trustedBus: true });
  return {
    as: () => calls,
    async close() {
      await calls.close();
      await served.close();
    },
  };
}
