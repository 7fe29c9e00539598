// What the rest of this package uses, in addition to the public names. `test/package/layers.ts` lists who may.
export { Call, type CallOrigin, type IncomingExecution } from "./call.ts";
export type { RegistryCore } from "./core.ts";
export type { Follower, FollowHooks } from "./follow.ts";
export * from "./index.ts";
export { forwardingOf, markAsForwarding, type OperationEntry } from "./operation-entry.ts";
export { coreOf } from "./registry.ts";
export { createSelector, type Selector } from "./selection.ts";
export { Subscription } from "./subscription.ts";
