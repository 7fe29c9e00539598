/** A peer whose broker falls silent and that then closes. Its only argument is a `SilentPeerOrder` in JSON. */
import { devNull } from "node:os";
import { PendingRequestMap } from "@alkdev/operations";
import { createNATSTransport } from "@alkdev/operations/transport-nats";
import { createRedisTransport } from "@alkdev/operations/transport-redis";
import { createRecorder } from "../../test/history/index.ts";
import { serveChaos } from "./serving.ts";
import { busHeartbeat } from "./settings.ts";

/** Where the broker is. */
export interface SilentPeerOrder {
  transport: "nats" | "redis";
  port: number;
}

const { transport, port } = JSON.parse(process.argv[2]!) as SilentPeerOrder;
process.on("SIGINT", () => {}); // Ctrl-C is for the process that started this one
process.on("disconnect", () => process.exit(4));

// Nothing that the other peers of the arena see.
const prefix = "silent";
const connect = () =>
  transport === "nats"
    ? createNATSTransport({ servers: `127.0.0.1:${port}`, heartbeat: busHeartbeat, prefix })
    : createRedisTransport({ url: `redis://127.0.0.1:${port}`, heartbeat: busHeartbeat, prefix });

const [served, calling] = await Promise.all([connect(), connect()]).catch(() => process.exit(3));
const { callMap, stop } = serveChaos(served, createRecorder(devNull, "silent peer"));
await stop.ready.catch(() => process.exit(3));
const caller = new PendingRequestMap(calling);
const pending = caller.call("chaos.hang", { call: "silent" }, { deadline: Date.now() + 60_000 }).catch(() => {});
const values = caller.subscribe("chaos.count", { call: "silent", values: 1_000_000, ms: 100 });
const watching = (async () => {
  for await (const _ of values);
})().catch(() => {});

process.once("message", async () => {
  await Promise.all([stop(), caller.close()]);
  await callMap.close();
  await Promise.all([pending, watching]);
  process.removeAllListeners("disconnect");
  process.disconnect();
});
process.send!("serving");
