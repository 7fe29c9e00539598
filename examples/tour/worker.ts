/** Serves the operations of the tour to the thread that started this worker. */
import { workerData } from "node:worker_threads";
import { serveCalls } from "@alkdev/operations";
import { createWorkerTransport } from "@alkdev/operations/transport-worker";
import { createTourRegistry } from "./registry.ts";

const registry = await createTourRegistry(workerData.documentUrl);
await serveCalls(registry, createWorkerTransport(), { trustedBus: true }); // only the parent can reach a worker
