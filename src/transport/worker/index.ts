export type { NodePort, WebPort, WorkerPort } from "./port.ts";
export type { WorkerTransportOptions } from "./worker-transport.ts";
export { createWorkerTransport } from "./worker-transport.ts";
