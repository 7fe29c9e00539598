/**
 * `npm run walk -- <transport>`: lists the files and named functions of `src/` that one warm call uses, with both ends
 * in this process.
 */
import { createServer } from "node:http";
import { Session } from "node:inspector/promises";
import type { AddressInfo } from "node:net";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import {
  buildCallHandler,
  createRegistry,
  defineOperation,
  OperationType,
  PendingRequestMap,
  type Transport,
  Type,
} from "@alkdev/operations";
import { createNATSTransport } from "@alkdev/operations/transport-nats";
import { createRedisTransport } from "@alkdev/operations/transport-redis";
import { createWebSocketServer, createWebSocketTransport } from "@alkdev/operations/transport-websocket";
import { startNATS } from "../test/services/nats.ts";
import { startRedis } from "../test/services/redis.ts";
import { readOptions } from "./read-options.ts";
import { root } from "./subpaths.ts";

const help = `Usage: npm run walk -- [walk ...] [--list]

Counts the source files and named functions that the fourth call of an operation runs through, by precise coverage.

Walks: execute, in-process, websocket, nats, redis (default: all)

  --list   print every file and function
  --help   print this`;

const { values, positionals } = readOptions(help, {
  allowPositionals: true,
  options: { list: { type: "boolean", default: false }, help: { type: "boolean", default: false } },
});

/** Makes the call to be measured. */
type Call = () => Promise<unknown>;
/** Starts both ends of a walk. Returns its call, and a function that closes both ends. */
type Start = () => Promise<{ call: Call; close: () => Promise<void> }>;

const registry = createRegistry({
  operations: [
    defineOperation({
      namespace: "walk",
      name: "echo",
      version: "1.0.0",
      type: OperationType.QUERY,
      description: "Returns its input",
      inputSchema: Type.Object({ text: Type.String() }),
      outputSchema: Type.Object({ text: Type.String() }),
      accessControl: { requiredScopes: [] },
      handler: async ({ text }) => ({ text }),
    }),
  ],
});
const input = { text: "hello" };

const walks: Record<string, Start> = {
  execute: async () => ({ call: () => registry.execute("walk.echo", input), close: async () => {} }),
  "in-process": async () => {
    const calls = new PendingRequestMap();
    await calls.handle(buildCallHandler({ registry, callMap: calls })).ready;
    return { call: () => calls.call("walk.echo", input), close: () => calls.close() };
  },
  websocket: async () => {
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
  },
  nats: async () => {
    const service = await startNATS();
    if (service === undefined) throw new Error("nats-server is not available. Fetch it with: npm run programs");
    const servers = `nats://127.0.0.1:${service.port}`;
    const ends = await connect(await createNATSTransport({ servers }), () => createNATSTransport({ servers }));
    return { call: ends.call, close: () => ends.close().then(() => service.close()) };
  },
  redis: async () => {
    const service = await startRedis();
    if (service === undefined) throw new Error("redis-server is not available. Fetch it with: npm run programs");
    const url = `redis://127.0.0.1:${service.port}`;
    const ends = await connect(await createRedisTransport({ url }), () => createRedisTransport({ url }));
    return { call: ends.call, close: () => ends.close().then(() => service.close()) };
  },
};

async function connect(serverTransport: Transport, connectCaller: () => Promise<Transport>) {
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

/** Returns the functions that a call runs, by file. */
async function measure(call: Call): Promise<Map<string, string[]>> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  for (let count = 0; count < 3; count++) {
    await call();
    await new Promise((resolve) => setTimeout(resolve, 20)); // Wait for work that the call leaves to later turns.
  }
  await session.post("Profiler.takePreciseCoverage"); // This also resets all counts to 0.
  await call();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  session.disconnect();
  const byFile = new Map<string, string[]>();
  for (const { url, functions } of result) {
    if (!url.startsWith("file:")) continue;
    const file = relative(root, fileURLToPath(url));
    if (!file.startsWith("src/")) continue;
    const names = functions
      .filter(({ functionName, ranges }) => isWritten(functionName) && (ranges[0]?.count ?? 0) > 0)
      .map(({ functionName }) => functionName);
    if (names.length > 0) byFile.set(file, names);
  }
  return byFile;
}

/** Whether a name appears in the sources. Field initializers and helpers of the compiler do not. */
function isWritten(name: string): boolean {
  return name !== "" && name !== "__name" && !name.startsWith("<");
}

const chosen = positionals.length === 0 ? Object.keys(walks) : positionals;
const unknown = chosen.find((name) => !Object.hasOwn(walks, name));
if (unknown !== undefined) {
  console.error(`No walk is called "${unknown}".\n\n${help}`);
  process.exit(2);
}

for (const name of chosen) {
  const { call, close } = await walks[name]!();
  try {
    const byFile = await measure(call);
    const functions = [...byFile.values()].reduce((sum, names) => sum + names.length, 0);
    console.log(
      `${name.padEnd(12)} ${String(byFile.size).padStart(3)} files ${String(functions).padStart(4)} functions`,
    );
    if (values.list) for (const [file, names] of byFile) console.log(`  ${file}: ${names.join(", ")}`);
  } finally {
    await close();
  }
}
