export type { NodePort, WebPort, WorkerPort } from "./port.ts";
export type { StandardStream, WorkerProcessOptions } from "./started-worker.ts";
export type { ProcessPoolOptions, ThreadPoolOptions, WorkerPool, WorkerPoolOptions } from "./worker-pool.ts";
export { createWorkerPool } from "./worker-pool.ts";
export type { WorkerTransportOptions } from "./worker-transport.ts";
export { createWorkerTransport } from "./worker-transport.ts";
