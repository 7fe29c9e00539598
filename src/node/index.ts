export { type NodeFileSystem, nodeFileSystem } from "./file-system.ts";
export { type ModuleSourceOptions, moduleSource } from "./module-source.ts";
