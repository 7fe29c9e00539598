/** Walks over transports, with both ends in this process. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { MessageChannel } from "node:worker_threads";
import { buildCallHandler, PendingRequestMap, type Transport } from "@alkdev/operations";
import { createNATSTransport } from "@alkdev/operations/transport-nats";
import { createRedisTransport } from "@alkdev/operations/transport-redis";
import { createWebSocketServer, createWebSocketTransport } from "@alkdev/operations/transport-websocket";
import { createWorkerTransport } from "@alkdev/operations/transport-worker";
import { startNATS } from "../../test/services/nats.ts";
import { startRedis } from "../../test/services/redis.ts";
import type { Walk } from "./measure.ts";
import { input, registry } from "./operations.ts";

export async function startInProcess(): Promise<Walk> {
  const calls = new PendingRequestMap();
  await calls.handle(buildCallHandler({ registry, callMap: calls })).ready;
  return { call: () => calls.call("walk.echo", input), close: () => calls.close() };
}

export async function startPort(): Promise<Walk> {
  const { port1, port2 } = new MessageChannel();
  return connect(createWorkerTransport(port1), async () => createWorkerTransport(port2));
}

export async function startWebSocket(): Promise<Walk> {
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const server = await createWebSocketServer({ server: http });
  const url = `ws://127.0.0.1:${(http.address() as AddressInfo).port}/`;
  const ends = await connect(server, () => createWebSocketTransport(url));
  const close = async () => {
    await ends.close();
    await new Promise((resolve) => http.close(resolve));
  };
  return { call: ends.call, close };
}

export async function startOverNATS(): Promise<Walk> {
  const service = await startNATS();
  if (service === undefined)
    throw new Error("nats-server is not available. Fetch it with: npx tsx scripts/ensure-program.ts");
  const servers = `nats://127.0.0.1:${service.port}`;
  const ends = await connect(await createNATSTransport({ servers }), () => createNATSTransport({ servers }));
  return { call: ends.call, close: () => ends.close().then(() => service.close()) };
}

export async function startOverRedis(): Promise<Walk> {
  const service = await startRedis();
  if (service === undefined)
    throw new Error("redis-server is not available. Fetch it with: npx tsx scripts/ensure-program.ts");
  const url = `redis://127.0.0.1:${service.port}`;
  const ends = await connect(await createRedisTransport({ url }), () => createRedisTransport({ url }));
  return { call: ends.call, close: () => ends.close().then(() => service.close()) };
}

async function connect(serverTransport: Transport, connectCaller: () => Promise<Transport>): Promise<Walk> {
  const server = new PendingRequestMap(serverTransport);
  await server.handle(buildCallHandler({ registry, callMap: server })).ready;
  const caller = new PendingRequestMap(await connectCaller());
  return {
    call: () => caller.call("walk.echo", input),
    close: async () => {
      await caller.close();
      await server.close();
    },
  };
}
