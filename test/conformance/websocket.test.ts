import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { until } from "../../src/call/testing.ts";
import type { Identity } from "../../src/index.ts";
import type { Credentials } from "../../src/serve/authenticator.ts";
import { ServingPeer } from "../../src/transport/peer/index.ts";
import { WebSocketClient } from "../../src/transport/websocket/web-socket-client.ts";
import {
  createWebSocketServer,
  type WebSocketServerTransport,
} from "../../src/transport/websocket/web-socket-server.ts";
import { describeStories } from "../stories/calls.ts";
import { describeTransport, type TransportNetwork } from "./transport.ts";

const limits = { maxMessage: 64 * 1024 };

/** Reads the identity from the token, without any proof: these are tests. */
const authenticate = ({ token }: Credentials): Identity | undefined =>
  token === undefined ? undefined : JSON.parse(atob(token));

/** Real servers and sockets: every caller is a client of all servers. */
async function createNetwork(): Promise<TransportNetwork> {
  const servers: Array<{ http: Server; url: string; transport: WebSocketServerTransport }> = [];
  const callers: WebSocketClient[] = [];
  const sockets = new Set<Socket>();
  return {
    maxMessage: limits.maxMessage,
    async caller(identity) {
      const token = identity === undefined ? {} : { token: btoa(JSON.stringify(identity)) };
      const caller = new WebSocketClient({ limits, reconnect: { first: 10, max: 50 }, ...token }, ServingPeer);
      callers.push(caller);
      for (const { url } of servers) await caller.connect(url);
      return caller;
    },
    async server() {
      const http = createServer();
      http.on("connection", (socket) => {
        sockets.add(socket);
        socket.on("close", () => sockets.delete(socket));
      });
      await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
      const transport = await createWebSocketServer({ server: http, limits, authenticate, allowAnonymous: true });
      const url = `ws://127.0.0.1:${(http.address() as AddressInfo).port}/`;
      servers.push({ http, url, transport });
      for (const caller of callers) await caller.connect(url);
      return transport;
    },
    async reconnect() {
      const before = [...sockets];
      for (const socket of before) socket.resetAndDestroy();
      await until(() => before.every((socket) => !sockets.has(socket)));
      await until(() => callers.every((caller) => caller.isClosed || caller.peers.size === servers.length));
    },
    async close() {
      for (const { http } of servers) {
        http.closeAllConnections();
        await new Promise((resolve) => http.close(resolve));
      }
    },
  };
}

describeTransport("websocket", createNetwork);
describeStories("over WebSockets", createNetwork);
