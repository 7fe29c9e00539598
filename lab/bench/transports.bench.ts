import { deepStrictEqual } from "node:assert/strict";
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { WebSocket } from "ws";
import { importBuilt, operations } from "./built.ts";
import { type Block, formatNoise, type Measurement, measure } from "./measure.ts";
import { formatTime, type Row } from "./table.ts";
import { expected, input, Task, TaskInput } from "./task-operation.ts";

const { PendingRequestMap } = operations;
const { createWorkerTransport } =
  await importBuilt<typeof import("../../src/transport/worker/index.ts")>("transport/worker/index.js");
const { createWebSocketTransport } =
  await importBuilt<typeof import("../../src/transport/websocket/index.ts")>("transport/websocket/index.js");

const concurrency = 64;
/** At least 0.70 of the throughput of handwritten code. */
const bar = 1 / 0.7;

type Call = () => Promise<{ data: unknown }>;

/** Measures calls over worker threads and WebSockets against messages that handwritten code sends and matches. */
export async function run(): Promise<Row[]> {
  return [await measureWorker(), await measureWebSocket()];
}

async function measureWorker(): Promise<Row> {
  const rawPeer = startPeer("raw port");
  const peer = startPeer("port");
  const byHand = matchAnswers((message) => rawPeer.postMessage(message));
  rawPeer.on("message", byHand.onAnswer);
  const calls = new PendingRequestMap(createWorkerTransport(peer));
  const measured = await compare(byHand.call, () => calls.call("task.create", input));
  await calls.close();
  await Promise.all([rawPeer.terminate(), peer.terminate()]);
  return toRow("64 calls at once to a worker thread", "postMessage", measured);
}

async function measureWebSocket(): Promise<Row> {
  const rawPeer = startPeer("raw socket");
  const peer = startPeer("socket");
  const [[rawPort], [port]] = await Promise.all([once(rawPeer, "message"), once(peer, "message")]);
  const socket = new WebSocket(`ws://127.0.0.1:${rawPort}`, { perMessageDeflate: false });
  await once(socket, "open");
  const byHand = matchAnswers((message) => socket.send(JSON.stringify(message)));
  socket.on("message", (text) => byHand.onAnswer(JSON.parse(String(text))));
  const calls = new PendingRequestMap(await createWebSocketTransport(`ws://127.0.0.1:${port}`));
  const measured = await compare(byHand.call, () => calls.call("task.create", input));
  await calls.close();
  socket.terminate();
  await Promise.all([rawPeer.terminate(), peer.terminate()]);
  return toRow("64 calls at once over a WebSocket", "ws and JSON", measured);
}

function startPeer(kind: string): Worker {
  const workerData = { kind, inputSchema: toJSON(TaskInput), outputSchema: toJSON(Task) };
  // Start it without the loader of this process, so that the peer runs the built package.
  return new Worker(new URL("transport-peer.mjs", import.meta.url), { workerData, execArgv: [] });
}

function toJSON(schema: object): unknown {
  return JSON.parse(JSON.stringify(schema));
}

/** The handwritten code for many concurrent requests on one connection. */
function matchAnswers(send: (message: unknown) => void) {
  const pending = new Map<number, (answer: { data: unknown }) => void>();
  let last = 0;
  const call: Call = () =>
    new Promise((resolve) => {
      const id = ++last;
      pending.set(id, resolve);
      send({ id, input });
    });
  const onAnswer = (answer: { id: number; data: unknown }) => {
    pending.get(answer.id)?.(answer);
    pending.delete(answer.id);
  };
  return { call, onAnswer };
}

async function compare(byHand: Call, ours: Call): Promise<Measurement<"ours">> {
  for (const call of [byHand, ours]) deepStrictEqual((await call()).data, expected);
  return measure(concurrently(byHand), { ours: concurrently(ours) }, { blockTime: 100, rounds: 25, warmUp: 1500 });
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

function toRow(work: string, floor: string, measured: Measurement<"ours">): Row {
  const { ns, ratio } = measured.cases.ours;
  const share = `${(1 / ratio).toFixed(2)} of ${floor} by hand`;
  const note = `${share}; ${formatTime(ns)} a call, by hand ${formatTime(measured.floor.ns)}, ${formatNoise(measured)}`;
  return { work, ratio, bar, aim: 1, note };
}
