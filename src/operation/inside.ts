// What the rest of this package uses, in addition to the public names. `test/package/layers.ts` lists who may.
export * from "./call-options.ts";
export * from "./check-access.ts";
export * from "./check-spec.ts";
export * from "./client.ts";
export * from "./declared-errors.ts";
export * from "./envelope.ts";
export * from "./error.ts";
export * from "./errors.ts";
export * from "./identity.ts";
export * from "./index.ts";
export * from "./limits.ts";
export * from "./load-peer.ts";
export * from "./mcp-content.ts";
export * from "./nearest-operation.ts";
export * from "./operation-id.ts";
export * from "./request-fields.ts";
export * from "./spec.ts";
