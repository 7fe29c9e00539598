export { BatchWriter, maxBufferedBytes, readLines } from "./batch-writer.ts";
export { ChannelTransport } from "./channel-transport.ts";
export type { Channel, Connection } from "./connection.ts";
export { linkLost, notConnected, workerGone } from "./errors.ts";
export { ServingPeer } from "./serving-peer.ts";
export { WireTransport } from "./wire-transport.ts";
