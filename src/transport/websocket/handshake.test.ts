import { once } from "node:events";
import { connect, type Socket as NetSocket } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import { PendingRequestMap } from "../../call/index.ts";
import { startServer, type TestServer } from "./testing.ts";
import { createWebSocketTransport } from "./web-socket-client.ts";
import type { WebSocketServerOptions } from "./web-socket-server.ts";

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function serve(options?: WebSocketServerOptions): Promise<TestServer> {
  const server = await startServer(options);
  closing.push(() => server.close());
  return server;
}

/** Connects and requests an upgrade by hand. Keeps its half of the connection open. */
async function ask(port: number, path: string, host = "localhost"): Promise<NetSocket> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  closing.push(() => socket.destroy());
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
  return socket;
}

describe("refused handshakes", () => {
  test("of clients that leave before the reply affect no other client", async () => {
    const server = await serve({ path: "/operations" });
    const uncaught = vi.fn();
    process.on("uncaughtException", uncaught);
    closing.push(() => process.off("uncaughtException", uncaught));

    for (let index = 0; index < 20; index++) (await ask(server.port, "/elsewhere")).resetAndDestroy();
    await vi.waitFor(async () => expect(await countConnections(server)).toBe(0));

    expect(uncaught).not.toHaveBeenCalled();
  });

  test.each([
    ["of another path", "/elsewhere", "localhost"],
    ["of a foreign host", "/operations", "evil.test"],
  ])("%s leave no connection behind, also when the client keeps its half open", async (_, path, host) => {
    const server = await serve({ path: "/operations" });

    const socket = await ask(server.port, path, host);
    const [answer] = await once(socket, "data");

    expect(String(answer)).toMatch(/^HTTP\/1\.1 40[34] /);
    await vi.waitFor(async () => expect(await countConnections(server)).toBe(0));
  });
});

describe("a header that came twice", () => {
  test.each([
    ["Host", "localhost", "localhost", 400],
    ["host", "localhost", "evil.test", 400],
    ["Authorization", "Bearer sesame", "Bearer other", 401],
    ["Origin", "http://localhost", "http://evil.test", 403],
  ])("refuses the handshake: %s", async (name, first, second, status) => {
    const authenticate = vi.fn(() => ({ id: "ali", scopes: [] }));
    const server = await serve({ authenticate });
    const socket = connect({ port: server.port, host: "127.0.0.1" });
    closing.push(() => socket.destroy());
    await once(socket, "connect");
    const host = name.toLowerCase() === "host" ? "" : "Host: localhost\r\n";
    const headers = `${host}${name}: ${first}\r\n${name}: ${second}\r\n`;
    const key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

    socket.write(`GET / HTTP/1.1\r\n${headers}Connection: Upgrade\r\nUpgrade: websocket\r\n${key}\r\n`);
    const [answer] = await once(socket, "data");

    expect(String(answer).split(" ", 2)).toEqual(["HTTP/1.1", String(status)]);
    expect(authenticate).not.toHaveBeenCalled();
  });
});

test("a reason to close that is long in bytes ends the connection all the same", async () => {
  const server = await serve();
  const transport = await createWebSocketTransport(server.url, { reconnect: false });
  const call = new PendingRequestMap(transport).call("test.hang", {}).catch((error) => error.code);
  await vi.waitFor(() => expect(server.seen.started).toBe(1));

  await transport.close(new Error("接続が切れた".repeat(20)));

  expect(await call).toBe("UNAVAILABLE");
  await vi.waitFor(() => expect(server.seen.aborted).toBe(1));
});

function countConnections({ http }: TestServer): Promise<number> {
  return new Promise((resolve, reject) => {
    http.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
  });
}
