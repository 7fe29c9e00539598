import { join } from "node:path";
import { createWebSocketTransport } from "@alkdev/operations/transport-websocket";
import WebSocket from "ws";
import { createRecorder, type Recorder } from "../../test/history/index.ts";
import { startProxy } from "../../test/services/proxy.ts";
import type { Arena, Fault } from "./arena.ts";
import { createGarbage } from "./garbage.ts";
import { createLinkFaults, createWorkerFaults } from "./network-faults.ts";
import { Post } from "./post.ts";
import type { Random } from "./random.ts";
import { Seats } from "./seats.ts";
import { socketHeartbeat } from "./settings.ts";

/** Two callers and two server processes, with a link between every two. */
export async function createWebSocketArena(folder: string, random: Random): Promise<Arena> {
  const transport = "websocket";
  const recorder = createRecorder(join(folder, `${transport} driver`), `${transport} driver`);
  const posts = [1, 2].map(
    (number) => new Post(`${transport} worker ${number}`, { transport, port: 0, folder }, random, recorder),
  );
  await Promise.all(posts.map((post) => post.start()));
  const ports = posts.map(({ port }) => port);
  const callerLinks = await Promise.all([1, 2].map(() => Promise.all(ports.map((port) => startProxy(port)))));
  const links = callerLinks.flat();
  const seats = new Seats(transport, folder, (index) =>
    createWebSocketTransport(
      callerLinks[index]!.map(({ port }) => `ws://127.0.0.1:${port}/`),
      { heartbeat: socketHeartbeat, reconnect: { first: 50, max: 500 }, connectTimeout: 2_000 },
    ),
  );
  await seats.fill(callerLinks.length);

  return {
    transport,
    get callers() {
      return seats.callers;
    },
    faults: [
      ...createLinkFaults(links),
      ...createWorkerFaults(posts, "one after the other", () => seats.callers),
      createGarbageFault(ports, recorder),
      seats.createFault(1),
    ],
    async close() {
      await seats.close();
      await Promise.all(posts.map((post) => post.close()));
      await Promise.all(links.map((link) => link.close()));
      recorder.close();
    },
  };
}

/** Strangers connect and send malformed messages. Each loses its connection, and no other client does. */
function createGarbageFault(ports: readonly number[], recorder: Recorder): Fault {
  return {
    name: "garbage",
    weight: 2,
    async inject(random) {
      const sockets = Array.from({ length: 5 }, () => {
        const socket = new WebSocket(`ws://127.0.0.1:${random.pick(ports)}/`, ["alkdev.operations.v1"]);
        const text = createGarbage(random, recorder);
        socket.on("open", () => socket.send(text));
        socket.on("error", () => {}); // the server may be away
        return socket;
      });
      return () => {
        for (const socket of sockets) socket.terminate();
      };
    },
  };
}
