export type {
  CallingTransport,
  CallRequestOptions,
  ForwardedOptions,
  SignIdentity,
  SubscribeRequestOptions,
} from "./request-frame.ts";
export { TransportCaller, type TransportCallerOptions } from "./transport-caller.ts";
