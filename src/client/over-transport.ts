import { type CallingTransport, TransportCaller } from "../call/outgoing/index.ts";
import type { ConnectOptions } from "./connect.ts";

// A module of its own, so that a page loads the call protocol with its first call, and nothing that clients do not use.

/** Creates the caller of a client. Closing it closes the transport. */
export function openTransport(transport: CallingTransport, options: ConnectOptions): TransportCaller {
  return new TransportCaller(transport, options);
}
