export { Call, type CallOrigin, type IncomingExecution, type NestedMode } from "./call.ts";
export type { RegistryCore } from "./core.ts";
export type { Follower, FollowHooks } from "./follow.ts";
export {
  type BuildEnvOptions,
  buildEnv,
  type CreateRegistryOptions,
  coreOf,
  createRegistry,
  followWith,
  OperationRegistry,
  publishedSpecs,
  subscribe,
  subscribeIncoming,
} from "./functions.ts";
export { forwardingOf, markAsForwarding, type OperationEntry } from "./operation-entry.ts";
export { createSelector, type Selector } from "./selection.ts";
export type {
  ChangeEvent,
  CustomAuth,
  CustomAuthCall,
  Following,
  FollowOptions,
  Middleware,
  MiddlewareCall,
  OperationSelection,
  RegisteredOperation,
  RegistryCallEvent,
  RegistryCallEventBase,
  RegistryEvents,
  RegistryOptions,
  SearchOptions,
  WaitForOptions,
} from "./types.ts";
