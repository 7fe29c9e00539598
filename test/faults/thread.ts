/** A worker thread that serves, and can be kept busy until `workerData.gate` is no longer 0. Says on its port which calls it starts. */
import { parentPort, workerData } from "node:worker_threads";
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
  description: "Does nothing else until the gate is open.",
  inputSchema: Type.Object({}),
  outputSchema: Type.Unknown(),
  accessControl: { requiredScopes: [] },
  handler: () => void Atomics.wait(workerData.gate, 0, 0),
});

const map = new PendingRequestMap(createWorkerTransport());
const registry = new OperationRegistry();
registry.registerAll([...workOperations((event) => parentPort!.postMessage(event)), block]);
await map.handle(buildCallHandler({ registry, callMap: map })).ready;
