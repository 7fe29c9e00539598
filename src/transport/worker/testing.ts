import { writeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { threadId, workerData } from "node:worker_threads";
import { localEnvelope } from "../../operation/index.ts";
import type { CallRequested, OnRequest } from "../transport.ts";
import { createWorkerTransport } from "./worker-transport.ts";

/** The worker that tests start, as a thread or a process. Its operations respond, hang, exit or block. */
const transport = createWorkerTransport();

const handlers: Record<string, (frame: CallRequested) => unknown> = {
  "test.echo": ({ input }) => input,
  "test.who": () => ({ pid: process.pid, thread: threadId }),
  "test.environment": ({ input }) => process.env[input as string],
  "test.arguments": () => process.argv.slice(2),
  "test.hang": () => undefined,
  "test.die": () => process.exit(7),
  "test.block": () => {
    const shared = new Int32Array(workerData?.blocked ?? new SharedArrayBuffer(4));
    Atomics.store(shared, 0, 1);
    Atomics.wait(shared, 0, 1);
  },
  "test.stay": () => {
    process.on("SIGTERM", () => {});
    setInterval(() => {}, 1_000_000);
    return "staying";
  },
  "test.write": ({ input }) => writeSync(3, input as string),
};

const onRequest: OnRequest = (frame, reply) => {
  const { requestId, operationId } = frame;
  const data = handlers[operationId]!(frame);
  if (operationId === "test.hang") return () => {};
  void reply({ type: "call.responded", requestId, output: localEnvelope(data, operationId) });
  return () => {};
};

if (workerData?.startsAfter !== undefined) await delay(workerData.startsAfter);
await transport.serve(Object.keys(handlers), onRequest);
await transport.announce(
  Object.keys(handlers).map((id) => {
    const [namespace, name] = id.split(".");
    return { namespace, name } as never;
  }),
);
