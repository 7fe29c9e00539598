export { createNATSTransport, type NATSTransport, type NATSTransportOptions } from "./nats.ts";
