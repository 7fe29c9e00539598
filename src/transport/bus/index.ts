export { BusTransport } from "./bus-transport.ts";
export type { BusOptions } from "./bus-wire.ts";
export { resolveBusOptions } from "./bus-wire.ts";
export { cannotConnect, createSocketController, credentialsRefused } from "./connecting.ts";
export type { BusEngine, EngineEvents } from "./engine.ts";
