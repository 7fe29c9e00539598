export { ChannelTransport } from "./channel-transport.ts";
export { type Channel, type Connection, toConnectionLimits } from "./connection.ts";
