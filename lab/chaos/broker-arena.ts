import { join } from "node:path";
import { createNATSTransport } from "@alkdev/operations/transport-nats";
import { createRedisTransport } from "@alkdev/operations/transport-redis";
import { createRecorder } from "../../test/history/index.ts";
import { startNATS } from "../../test/services/nats.ts";
import type { Service } from "../../test/services/process.ts";
import { startProxy } from "../../test/services/proxy.ts";
import { startRedis } from "../../test/services/redis.ts";
import { type Arena, Breakables, type Fault } from "./arena.ts";
import { createLinkFaults, createWorkerFaults } from "./network-faults.ts";
import { Post } from "./post.ts";
import type { Random } from "./random.ts";
import { Seats } from "./seats.ts";
import { busHeartbeat } from "./settings.ts";
import { createSilentCloses } from "./silent-closes.ts";
import { createNATSStranger, createRedisStranger } from "./strangers.ts";

/** Two callers and two worker processes at a broker, each with its own link. */
export async function createBrokerArena(
  transport: "nats" | "redis",
  folder: string,
  random: Random,
): Promise<Arena | undefined> {
  const broker = await (transport === "nats" ? startNATS() : startRedis());
  if (broker === undefined) return undefined;
  const recorder = createRecorder(join(folder, `${transport} driver`), `${transport} driver`);
  const links = await Promise.all(Array.from({ length: 4 }, () => startProxy(broker.port)));
  const [callerLinks, workerLinks] = [links.slice(0, 2), links.slice(2)];
  const posts = workerLinks.map(
    ({ port }, index) => new Post(`${transport} worker ${index + 1}`, { transport, port, folder }, random, recorder),
  );
  await Promise.all(posts.map((post) => post.start()));
  const seats = new Seats(transport, folder, (index) => connect(transport, callerLinks[index]!.port));
  await seats.fill(callerLinks.length);
  const silentCloses = createSilentCloses(transport, broker.port, recorder);
  const stranger = await (transport === "nats" ? createNATSStranger : createRedisStranger)(broker.port, recorder);

  return {
    transport,
    get callers() {
      return seats.callers;
    },
    faults: [
      ...createLinkFaults(links),
      ...createWorkerFaults(posts, "overlapping", () => seats.callers),
      ...createBrokerFaults(broker),
      silentCloses.fault,
      ...stranger.faults,
      seats.createFault(1),
    ],
    async close() {
      await seats.close();
      await silentCloses.settled();
      await Promise.all(posts.map((post) => post.close()));
      await stranger.close();
      await Promise.all(links.map((link) => link.close()));
      await broker.close();
      recorder.close();
    },
  };
}

function connect(transport: "nats" | "redis", port: number) {
  if (transport === "nats") return createNATSTransport({ servers: `127.0.0.1:${port}`, heartbeat: busHeartbeat });
  return createRedisTransport({ url: `redis://127.0.0.1:${port}`, heartbeat: busHeartbeat });
}

function createBrokerFaults(broker: Service): Fault[] {
  const breakable = new Breakables([broker]);
  return [
    breakable.createFault("broker killed", 2, async () => {
      await broker.kill();
      return () => broker.start();
    }),
    breakable.createFault("broker stopped", 2, async () => {
      await broker.kill("SIGSTOP");
      return () => broker.kill("SIGCONT");
    }),
  ];
}
