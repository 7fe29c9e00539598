export { describePassedOn, executeArrived, publishedSpecs, subscribeArrived } from "./arrived.ts";
export { type BuildEnvOptions, buildEnv } from "./build-env.ts";
export type { Arrival, CallBudget } from "./call-context.ts";
export type {
  CallArguments,
  Client,
  ClientAny,
  ClientCall,
  ClientOperation,
  ClientOptions,
  ClientSubscription,
  SubscribeArguments,
} from "./client-types.ts";
export { type CreateRegistryOptions, createRegistry } from "./create-registry.ts";
export type { NestedMode } from "./env.ts";
export type { OwnedCall } from "./execute.ts";
export { Guard } from "./guard.ts";
export { OperationRegistry } from "./operation-registry.ts";
export { passOn } from "./passed-on.ts";
export { subscribe } from "./subscribe.ts";
export type {
  ChangeEvent,
  CustomAuth,
  CustomAuthCall,
  Following,
  Middleware,
  MiddlewareCall,
  OperationSelection,
  RegisteredOperation,
  RegistryCallEvent,
  RegistryCallEventBase,
  RegistryEvents,
  RegistryOptions,
  SearchQuery,
} from "./types.ts";
