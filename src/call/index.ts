export {
  type BuiltCallHandler,
  buildCallHandler,
  type CallHandler,
  type CallHandlerOptions,
  type HandlerChange,
} from "./call-handler.ts";
export type { StopOptions } from "./drain.ts";
export { CallEventMap, CallEventSchema } from "./events.ts";
export type { Authenticate, IdentityRules } from "./incoming-request.ts";
export type { CallRequestOptions, SignIdentity, SubscribeRequestOptions } from "./outgoing/index.ts";
export { type PeerSourceOptions, peerSource } from "./peers.ts";
export { PendingRequestMap, type PendingRequestMapOptions, type StopHandling } from "./pending-request-map.ts";
export { type ServeCallsOptions, type ServedCalls, serveCalls } from "./serve-calls.ts";
