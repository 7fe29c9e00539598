export { type CallBudget, type CallOrigin, describeForwarded } from "./call-context.ts";
export type { IncomingExecution } from "./call-run.ts";
export type {
  CallArguments,
  Client,
  ClientAny,
  ClientCall,
  ClientOperation,
  ClientOptions,
  ClientSubscription,
  NestedMode,
  SubscribeArguments,
} from "./client.ts";
export {
  type BuildEnvOptions,
  buildEnv,
  type CreateRegistryOptions,
  createRegistry,
  executeIncoming,
  OperationRegistry,
  publishedSpecs,
  subscribe,
  subscribeIncoming,
} from "./functions.ts";
export { Guard } from "./guard.ts";
export { forwardingOf, markAsForwarding } from "./operation-entry.ts";
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
