export type { CloseOptions, FetchInfo, FetchServer, UpgradeHandler } from "../serve/server.ts";
export { type NodeFileSystem, nodeFileSystem } from "./file-system.ts";
export { type Listener, type ListenOptions, listen } from "./listen.ts";
export { type ModuleSourceOptions, moduleSource } from "./module-source.ts";
export { type NodeHandler, type NodeHandlerOptions, toNodeHandler } from "./node-handler.ts";
