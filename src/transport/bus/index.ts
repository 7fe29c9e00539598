export { atMost } from "./at-most.ts";
export { type BusOptions, BusTransport, resolveBusOptions } from "./bus-transport.ts";
export type { Engine, EngineEvents, LongRequest } from "./engine.ts";
export { cannotConnect, credentialsRefused, notConnected, workerGone } from "./errors.ts";
export { createSocketController } from "./socket-signal.ts";
