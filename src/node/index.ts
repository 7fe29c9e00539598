export type { NodeFileSystem } from "./file-system.ts";
export { nodeFileSystem } from "./file-system.ts";
