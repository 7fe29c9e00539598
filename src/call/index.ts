// The public names. Siblings that need more enter through `inside.ts`.
export {
  type BuiltCallHandler,
  buildCallHandler,
  type CallHandler,
  type CallHandlerOptions,
  type HandlerChange,
} from "./call-handler.ts";
export type { StopOptions } from "./drain.ts";
export * from "./events.ts";
export type { Authenticate, IdentityRules } from "./incoming-request.ts";
export type { SignIdentity } from "./outgoing/index.ts";
export * from "./peers.ts";
export { PendingRequestMap, type PendingRequestMapOptions, type StopHandling } from "./pending-request-map.ts";
export * from "./serve-calls.ts";
