// What the rest of this package uses, in addition to the public names. `test/package/layers.ts` lists who may.

export * from "./call-handler.ts";
export * from "./drain.ts";
export * from "./incoming-call.ts";
export * from "./incoming-request.ts";
export * from "./incoming-subscription.ts";
export * from "./index.ts";
