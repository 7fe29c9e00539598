export type { CallCompleted, CallRequested, CallResponded } from "../transport/transport.ts";
export {
  type BuiltCallHandler,
  buildCallHandler,
  type CallHandler,
  type CallHandlerOptions,
  createCallHandler,
  type HandlerChange,
} from "./call-handler.ts";
export { drain, type StopOptions } from "./drain.ts";
export { CallEventMap, CallEventSchema } from "./events.ts";
export { IncomingCall } from "./incoming-call.ts";
export { type Authenticate, type IdentityRules, type OutcomeFilter, RequestRunner } from "./incoming-request.ts";
export { IncomingSubscription } from "./incoming-subscription.ts";
export type { SignIdentity } from "./outgoing/index.ts";
export { type PeerSourceOptions, peerSource } from "./peers.ts";
export { PendingRequestMap, type PendingRequestMapOptions, type StopHandling } from "./pending-request-map.ts";
export { type ServeCallsOptions, type ServedCalls, serveCalls } from "./serve-calls.ts";
