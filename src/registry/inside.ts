// What the rest of this package uses, in addition to the public names. `test/package/layers.ts` lists who may.
export * from "./call.ts";
export * from "./core.ts";
export * from "./follow.ts";
export * from "./functions.ts";
export * from "./index.ts";
export * from "./operation-entry.ts";
export * from "./selection.ts";
