export type { UpgradeListener, UpgradeRequest, UpgradeServer, UpgradeSocket, WebSocketOrigins } from "./handshake.ts";
export type { WebSocketConstructor } from "./open-socket.ts";
export type { ReconnectOptions } from "./reconnecting-socket.ts";
export type { WebSocketLike } from "./socket-channel.ts";
export type { WebSocketTransportOptions } from "./web-socket-client.ts";
export { createWebSocketTransport } from "./web-socket-client.ts";
export type { WebSocketServerOptions, WebSocketServerTransport } from "./web-socket-server.ts";
export { createWebSocketServer } from "./web-socket-server.ts";
