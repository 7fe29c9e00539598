export type { CallBudget, CallOrigin } from "./call-origin.ts";
export { describeForwarded } from "./call-origin.ts";
export { executeIncoming, type IncomingExecution } from "./call-run.ts";
export type {
  ClientOptions,
  NestedMode,
} from "./client.ts";
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
export { Guard } from "./guard.ts";
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
