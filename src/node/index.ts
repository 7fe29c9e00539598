export type { Exchange } from "../serve/exchange.ts";
export type { CloseOptions, FetchInfo, FetchServer } from "../serve/server.ts";
export type { Heartbeat, RunStream } from "../serve/stream-writer.ts";
export type { UpgradeHandler } from "../serve/upgrade.ts";
export { type Listener, type ListenOptions, listen } from "./listen.ts";
export { type NodeFileSystem, nodeFileSystem } from "./load-module.ts";
export { type ModuleOperationSource, type ModuleSourceOptions, moduleSource } from "./module-source.ts";
export { type NodeHandler, type NodeHandlerOptions, toNodeHandler } from "./node-handler.ts";
