import { deepStrictEqual } from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { connect } from "@nats-io/transport-node";
import { createClient } from "@redis/client";
import { ServiceBroker } from "moleculer";
import { startNATS } from "../../test/services/nats.ts";
import { startRedis } from "../../test/services/redis.ts";
import { importBuilt, operations } from "./built.ts";
import { type Block, formatNoise, measure } from "./measure.ts";
import { formatTime, type Row } from "./table.ts";
import { expected, input, Task, TaskInput } from "./task-operation.ts";

const { peerSource, OperationRegistry, PendingRequestMap } = operations;
const { createNATSTransport } =
  await importBuilt<typeof import("../../src/transport/nats/index.ts")>("transport/nats/index.js");
const { createRedisTransport } =
  await importBuilt<typeof import("../../src/transport/redis/index.ts")>("transport/redis/index.js");

const concurrency = 64;
/** At least 0.60 of the throughput of handwritten code. */
const bar = 1 / 0.6;
const options = { blockTime: 150, rounds: 21, warmUp: 2_000 };

type Call = () => Promise<{ data: unknown }>;
interface Caller {
  call: Call;
  close(): Promise<void>;
}

/** Measures calls over NATS and Redis with caller, worker and server as three processes, against handwritten code. */
export async function run(): Promise<Row[]> {
  return [...(await measureNATS()), ...(await measureRedis())];
}

async function measureNATS(): Promise<Row[]> {
  const service = await startNATS();
  if (service === undefined) return [];
  const { port } = service;
  const workers = await Promise.all(["nats by hand", "nats", "moleculer"].map((kind) => startWorker(kind, port)));
  const byHand = await callNATSByHand(port);
  const map = new PendingRequestMap(await createNATSTransport({ servers: `127.0.0.1:${port}` }));
  const ours: Call = () => map.call("task.create", input);
  const hub = await callHub(map);
  const moleculer = await callMoleculer(port);
  for (const call of [byHand.call, ours, hub.call, moleculer.call]) deepStrictEqual((await call()).data, expected);

  const cases = { ours: concurrently(ours), hub: concurrently(hub.call), moleculer: concurrently(moleculer.call) };
  const measured = await measure(concurrently(byHand.call), cases, options);

  await hub.close();
  await Promise.all([byHand.close(), map.close(), moleculer.close()]);
  for (const worker of workers) worker.disconnect();
  await service.close();
  const { ours: own, hub: followed, moleculer: other } = measured.cases;
  const times = `${formatTime(own.ns)} a call, by hand ${formatTime(measured.floor.ns)}, ${formatNoise(measured)}`;
  return [
    {
      work: "64 calls at once over NATS",
      ratio: own.ratio,
      bar,
      aim: 1,
      note: `${(1 / own.ratio).toFixed(2)} of publish and an inbox by hand; ${times}`,
    },
    {
      work: "64 calls of hub.execute at once over NATS",
      ratio: followed.ratio,
      bar,
      aim: 1,
      note: `${(1 / followed.ratio).toFixed(2)} of publish and an inbox by hand; ${formatTime(followed.ns)} a call`,
    },
    {
      work: "64 calls at once over NATS ÷ Moleculer",
      ratio: own.ratio / other.ratio,
      bar: 1,
      note: `Moleculer ${formatTime(other.ns)} a call`,
    },
  ];
}

async function measureRedis(): Promise<Row[]> {
  const service = await startRedis();
  if (service === undefined) return [];
  const { port } = service;
  const workers = await Promise.all(["redis by hand", "redis"].map((kind) => startWorker(kind, port)));
  const byHand = await callRedisByHand(port);
  const map = new PendingRequestMap(await createRedisTransport({ url: `redis://127.0.0.1:${port}` }));
  const ours: Call = () => map.call("task.create", input);
  for (const call of [byHand.call, ours]) deepStrictEqual((await call()).data, expected);

  const measured = await measure(concurrently(byHand.call), { ours: concurrently(ours) }, options);

  await Promise.all([byHand.close(), map.close()]);
  for (const worker of workers) worker.disconnect();
  await service.close();
  const { ours: own } = measured.cases;
  const times = `${formatTime(own.ns)} a call, by hand ${formatTime(measured.floor.ns)}, ${formatNoise(measured)}`;
  const note = `${(1 / own.ratio).toFixed(2)} of XADD, XREADGROUP and PUBLISH by hand; ${times}`;
  return [{ work: "64 calls at once over Redis", ratio: own.ratio, bar, aim: 1, note }];
}

async function startWorker(kind: string, port: number): Promise<ChildProcess> {
  const schemas = JSON.stringify({ inputSchema: TaskInput, outputSchema: Task });
  // Start it without the loader of this process, so that the worker runs the built package.
  const file = fileURLToPath(new URL("broker-peer.mjs", import.meta.url));
  const worker = fork(file, [kind, String(port), schemas], { execArgv: [] });
  await once(worker, "message");
  return worker;
}

/** The handwritten code for many concurrent requests on one subscription. */
function matchAnswers(send: (text: string) => void) {
  const pending = new Map<number, (answer: { data: unknown }) => void>();
  let last = 0;
  const call: Call = () =>
    new Promise((resolve) => {
      const id = ++last;
      pending.set(id, resolve);
      send(JSON.stringify({ id, input }));
    });
  const onAnswer = (answer: { id: number; data: unknown }) => {
    pending.get(answer.id)?.(answer);
    pending.delete(answer.id);
  };
  return { call, onAnswer };
}

async function callNATSByHand(port: number): Promise<Caller> {
  const connection = await connect({ servers: `127.0.0.1:${port}` });
  const { call, onAnswer } = matchAnswers((text) => connection.publish("by-hand", text, { reply: "answers" }));
  connection.subscribe("answers", { callback: (_error, message) => onAnswer(message.json()) });
  await connection.flush();
  return { call, close: () => connection.close() };
}

/** The same operation through a registry that follows the worker. */
async function callHub(map: InstanceType<typeof PendingRequestMap>): Promise<Caller> {
  const registry = new OperationRegistry();
  const known = new Promise<void>((resolve) => {
    registry.on("change", () => resolve());
  });
  await registry.follow(peerSource(map));
  if (!registry.has("task.create")) await known;
  return { call: () => registry.execute("task.create", input), close: () => registry.close() };
}

async function callRedisByHand(port: number): Promise<Caller> {
  const client = createClient({
    url: `redis://127.0.0.1:${port}`,
    RESP: 2,
    maintNotifications: "disabled",
    commandOptions: { timeout: 0 },
  });
  const subscriber = client.duplicate();
  await Promise.all([client.connect(), subscriber.connect()]);
  const { call, onAnswer } = matchAnswers((text) => {
    void client.sendCommand(["XADD", "by-hand", "*", "from", "answers", "frame", text]);
  });
  await subscriber.subscribe("answers", (text) => onAnswer(JSON.parse(text)));
  return {
    call,
    close: async () => {
      client.destroy();
      subscriber.destroy();
    },
  };
}

async function callMoleculer(port: number): Promise<Caller> {
  const broker = new ServiceBroker({ nodeID: "caller", logger: false, transporter: `nats://127.0.0.1:${port}` });
  await broker.start();
  await broker.waitForServices("task");
  return {
    call: async () => ({ data: await broker.call("task.create", input) }),
    close: () => broker.stop(),
  };
}

function concurrently(call: Call): Block {
  return async (times) => {
    let left = times;
    let last: unknown;
    const loop = async () => {
      while (left-- > 0) last = await call();
    };
    await Promise.all(Array.from({ length: concurrency }, loop));
    return last;
  };
}
