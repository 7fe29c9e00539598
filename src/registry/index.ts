export { Call, type CallOrigin, type IncomingExecution, type NestedMode } from "./call.ts";
export type { RegistryCore } from "./core.ts";
export type { Follower, FollowHooks } from "./follow.ts";
export {
  type BuildEnvOptions,
  buildEnv,
  type CreateRegistryOptions,
  createRegistry,
  subscribe,
} from "./functions.ts";
export { forwardingOf, markAsForwarding, type OperationEntry } from "./operation-entry.ts";
export { coreOf, OperationRegistry } from "./registry.ts";
export { createSelector, type Selector } from "./selection.ts";
export { createSubscription } from "./subscription.ts";
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
