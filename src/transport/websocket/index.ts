export type { BackOff } from "./back-off.ts";
export type { SocketClass } from "./open-socket.ts";
export type { Welcome } from "./origin.ts";
export type { Socket } from "./socket-channel.ts";
export type { UpgradeListener, UpgradeRequest, UpgradeServer, UpgradeSocket } from "./upgrade.ts";
export type { WebSocketTransportOptions } from "./web-socket-client.ts";
export { createWebSocketTransport } from "./web-socket-client.ts";
export type { WebSocketServerOptions, WebSocketServerTransport } from "./web-socket-server.ts";
export { createWebSocketServer } from "./web-socket-server.ts";
