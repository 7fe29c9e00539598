export type {
  CallingTransport,
  SignIdentity,
} from "./request-frame.ts";
export { TransportCaller, type TransportCallerOptions } from "./transport-caller.ts";
