export { type NodeFileSystem, nodeFileSystem } from "./file-system.ts";
