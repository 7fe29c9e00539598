export { maxBufferedBytes } from "./batch-writer.ts";
export type { BrokerAdapter, BrokerEvents, PendingRequest } from "./broker-adapter.ts";
export { cannotConnect, createSocketController, credentialsRefused } from "./broker-connection.ts";
export { type BrokerOptions, BrokerTransport, resolveBrokerOptions } from "./broker-transport.ts";
export { ChannelTransport } from "./channel-transport.ts";
export type { Channel, Connection } from "./connection.ts";
export { notConnected, workerGone } from "./errors.ts";
export { ServingPeer } from "./serving-peer.ts";
