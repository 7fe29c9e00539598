/**
 * `npm run lab -- server-memory`: prints the memory that a server of `listen` and `serveHTTP` holds for clients that
 * request a result of 5 MB and do not read it.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createRegistry, defineOperation, Type } from "../src/index.ts";
import { listen } from "../src/node/index.ts";
import { serveHTTP } from "../src/serve/http/index.ts";

const resultBytes = 5_000_000;
/** How often the memory is read, every 250 ms. The maximum counts. */
const readings = 24;

const situations = [
  { name: "12 sockets with 20 pipelined requests each", sockets: 12, requests: 20 },
  { name: "150 sockets with one request each", sockets: 150, requests: 1 },
];

async function serve(): Promise<void> {
  const large = defineOperation({
    namespace: "test",
    name: "large",
    type: "query",
    inputSchema: Type.Object({}),
    outputSchema: Type.Unknown(),
    handler: () => `${Math.random()}`.padEnd(resultBytes, "x"),
  });
  const registry = createRegistry({ operations: [large] });
  const { port } = await listen({ "/": serveHTTP(registry, { authenticate: "none" }) });
  process.on("message", () => {
    globalThis.gc?.();
    const { heapUsed, external } = process.memoryUsage();
    process.send!({ bytes: heapUsed + external });
  });
  process.on("disconnect", () => process.exit());
  process.send!({ port });
}

async function ask(server: ChildProcess): Promise<number> {
  server.send("memory");
  const [{ bytes }] = (await once(server, "message")) as [{ bytes: number }];
  return bytes;
}

/** Sends requests without reading the responses. */
function stall(port: number, requests: number): Socket {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {}); // The server may end the connection.
  socket.pause();
  socket.write("GET /test/large HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(requests));
  return socket;
}

async function measure({ name, sockets, requests }: (typeof situations)[number]): Promise<void> {
  const server = fork(fileURLToPath(import.meta.url), ["serve"], { execArgv: [...process.execArgv, "--expose-gc"] });
  const hasEnded = once(server, "exit").then(() => true);
  try {
    const [{ port }] = (await once(server, "message")) as [{ port: number }];
    const before = await ask(server);
    const open = Array.from({ length: sockets }, () => stall(port, requests));
    let most = before;
    for (let time = 0; time < readings; time++) {
      await sleep(250);
      const bytes = await Promise.race([ask(server), hasEnded]);
      if (bytes === true) return console.log(`${name}: the server has ended`);
      most = Math.max(most, bytes as number);
    }
    for (const socket of open) socket.destroy();
    console.log(`${name}: ${Math.round((most - before) / 1_000_000)} MB`);
  } finally {
    server.kill();
  }
}

if (process.argv[2] === "serve") await serve();
else for (const situation of situations) await measure(situation);
