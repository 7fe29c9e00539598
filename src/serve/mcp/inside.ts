// What the rest of this package uses, in addition to the public names. `test/package/layers.ts` lists who may.
export * from "./index.ts";
export { describeTool } from "./tool.ts";
