/** Serves the operations of the tour to the thread that started this one. */
import { workerData } from "node:worker_threads";
import { buildCallHandler, PendingRequestMap } from "@alkdev/operations";
import { createWorkerTransport } from "@alkdev/operations/transport-worker";
import { createTourRegistry } from "./operations.ts";

const { registry } = await createTourRegistry(workerData.documentUrl);
const calls = new PendingRequestMap(createWorkerTransport());
calls.handle(buildCallHandler({ registry, callMap: calls, trustedBus: true })); // one process: who asks is believed
