import { threadId } from "node:worker_threads";
import { localEnvelope } from "../../operation/index.ts";
import type { CallRequested, OnRequest } from "../transport.ts";
import { createWorkerTransport } from "./worker-transport.ts";

/** The worker that tests start: `test.echo`, `test.thread`, `test.hang`, and `test.die`, which ends the thread. */
const transport = createWorkerTransport();

const handlers: Record<string, (frame: CallRequested) => unknown> = {
  "test.echo": ({ input }) => input,
  "test.thread": () => threadId,
  "test.hang": () => undefined,
  "test.die": () => process.exit(7),
};

const onRequest: OnRequest = (frame, reply) => {
  const { requestId, operationId } = frame;
  const data = handlers[operationId]!(frame);
  if (operationId === "test.hang") return () => {};
  void reply({ type: "call.responded", requestId, output: localEnvelope(data, operationId) });
  return () => {};
};

await transport.serve(Object.keys(handlers), onRequest);
