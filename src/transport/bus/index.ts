export { type BusOptions, BusTransport } from "./bus-transport.ts";
export type { Engine, EngineEvents, LongRequest } from "./engine.ts";
export { cannotConnect, credentialsRefused, workerGone } from "./errors.ts";
