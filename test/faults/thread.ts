/** A worker thread that serves, and can be kept busy. Says on its port which calls it starts. */
import { parentPort } from "node:worker_threads";
import { defineOperation, OperationType, Type } from "@alkdev/operations";
import { buildCallHandler, PendingRequestMap } from "../../src/call/index.ts";
import { OperationRegistry } from "../../src/registry/index.ts";
import { createWorkerTransport } from "../../src/transport/worker/index.ts";
import { workOperations } from "./operations.ts";

const block = defineOperation({
  namespace: "work",
  name: "block",
  version: "1.0.0",
  type: OperationType.QUERY,
  description: "Does nothing else for a while.",
  inputSchema: Type.Object({ ms: Type.Number() }),
  outputSchema: Type.Unknown(),
  accessControl: { requiredScopes: [] },
  handler: ({ ms }) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms),
});

const map = new PendingRequestMap(createWorkerTransport());
const registry = new OperationRegistry();
registry.registerAll([...workOperations((event) => parentPort!.postMessage(event)), block]);
await map.handle(buildCallHandler({ registry, callMap: map })).ready;
