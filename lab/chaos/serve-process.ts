/** One worker as a process. Its only argument is a `WorkerOrder` in JSON. Drains on SIGTERM. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Transport } from "@alkdev/operations";
import { createNATSTransport } from "@alkdev/operations/transport-nats";
import { createRedisTransport } from "@alkdev/operations/transport-redis";
import { createWebSocketServer } from "@alkdev/operations/transport-websocket";
import { createRecorder } from "../../test/history/index.ts";
import { watchProcess } from "./instruments.ts";
import { type Skew, serveChaos, skewClock } from "./serving.ts";
import { busHeartbeat, socketHeartbeat } from "./settings.ts";

/** Options of a worker. `port` is the broker's, or its own; 0 is any free port. */
export interface WorkerOrder {
  transport: "websocket" | "nats" | "redis";
  name: string;
  port: number;
  folder: string;
  skew: Skew;
}

const order = JSON.parse(process.argv[2]!) as WorkerOrder;
skewClock(order.skew);
const recorder = createRecorder(join(order.folder, order.name), order.name);
const stopWatching = watchProcess(recorder);
process.on("SIGINT", () => {}); // Ctrl-C is for the one who started this
process.on("disconnect", () => process.exit());

// Its broker may be away just now; the parent then starts another worker.
const { transport, port, close } = await open(order).catch(() => process.exit(3));
const { callMap, stop } = serveChaos(transport, recorder);
await stop.ready.catch(() => process.exit(3));
process.on("SIGTERM", async () => {
  await stop();
  await callMap.close();
  await close();
  stopWatching();
  process.removeAllListeners("disconnect");
  process.disconnect();
});
process.send!(port);

/** Also returns the port that it listens on, if it does. */
async function open({
  transport,
  port,
}: WorkerOrder): Promise<{ transport: Transport; port: number; close(): Promise<void> }> {
  const close = async () => {};
  if (transport === "nats") {
    const servers = `127.0.0.1:${port}`;
    return { transport: await createNATSTransport({ servers, heartbeat: busHeartbeat }), port, close };
  }
  if (transport === "redis") {
    const url = `redis://127.0.0.1:${port}`;
    return { transport: await createRedisTransport({ url, heartbeat: busHeartbeat }), port, close };
  }
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    transport: await createWebSocketServer({ server, heartbeat: socketHeartbeat }),
    port: (server.address() as AddressInfo).port,
    async close() {
      server.close();
      await once(server, "close");
    },
  };
}
