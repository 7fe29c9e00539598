import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import type { Credentials } from "../../serve/authenticator.ts";
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

const authenticate = ({ token }: Credentials) => (token === "sesame" ? { id: "ali", scopes: [] } : undefined);

test("without a server, the error contains address and reason, and no secret", async () => {
  const dialled = createWebSocketTransport("ws://127.0.0.1:1/operations?key=secret");

  await expect(dialled).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message:
      "Cannot connect to the WebSocket server ws://127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1. Check that it is running and that the address is correct.",
    retryable: true,
    mayHaveRun: false,
  });
});

test.each([
  ["a missing token", undefined],
  ["a wrong token", "open"],
])("%s is UPSTREAM_DENIED, and the error names the missing option", async (_, token) => {
  const server = await serve({ authenticate });

  const dialled = createWebSocketTransport(server.url, { token });

  await expect(dialled).rejects.toMatchObject({
    code: "UPSTREAM_DENIED",
    message: `The WebSocket server ws://127.0.0.1:${server.port} refused the connection: HTTP 401. Pass a \`token\` that it accepts.`,
    details: { status: 401 },
    retryable: false,
    mayHaveRun: false,
  });
});

test("a refused host or origin is UPSTREAM_DENIED, and the error names the options of the server", async () => {
  const server = createServer().on("upgrade", (_request, socket) => socket.end("HTTP/1.1 403 Forbidden\r\n\r\n"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => server.close());
  const { port } = server.address() as AddressInfo;

  const dialled = createWebSocketTransport(`ws://127.0.0.1:${port}`);

  await expect(dialled).rejects.toMatchObject({
    code: "UPSTREAM_DENIED",
    message: `The WebSocket server ws://127.0.0.1:${port} refused the connection: HTTP 403. Without \`authenticate\` it accepts only its own machine. Pages of other origins need its option \`cors\`.`,
    details: { status: 403 },
  });
});

test("a path without a server is not reported as a server that is down", async () => {
  const server = await serve({ path: "/operations" });

  const dialled = createWebSocketTransport(`${server.url}elsewhere`);

  await expect(dialled).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: `The WebSocket server ws://127.0.0.1:${server.port} did not open a WebSocket but replied with HTTP 404. Check the path of the URL.`,
    details: { status: 404 },
    retryable: false,
    mayHaveRun: false,
  });
});

test("a foreign WebSocket server is reported with the reason of its close", async () => {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  server.on("connection", (socket) => socket.close(4001, "who are you"));
  await once(server, "listening");
  closing.push(() => server.close());
  const { port } = server.address() as AddressInfo;

  const dialled = createWebSocketTransport(`ws://127.0.0.1:${port}`);

  await expect(dialled).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: `The WebSocket server ws://127.0.0.1:${port} did not complete the handshake: The connection was closed with code 4001 ("who are you"). Check that it serves operations at this path.`,
    mayHaveRun: false,
  });
});

test("a server that is busy may be tried again", async () => {
  const server = createServer().on("upgrade", (_request, socket) => socket.end("HTTP/1.1 503 Busy\r\n\r\n"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => server.close());

  const dialled = createWebSocketTransport(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);

  await expect(dialled).rejects.toMatchObject({ code: "UNAVAILABLE", details: { status: 503 }, retryable: true });
});

test.each([
  [
    "a relative URL",
    "127.0.0.1:8080",
    "Invalid URL of a WebSocket server: it must be absolute, begin with ws: or wss:, and not have a fragment.",
  ],
  ["no URL at all", [], "Invalid URLs of WebSocket servers: at least one is required."],
])("%s is VALIDATION_ERROR", async (_, url, message) => {
  const dialled = createWebSocketTransport(url);

  await expect(dialled).rejects.toMatchObject({ code: "VALIDATION_ERROR", message });
});

/** Like the class of Node: some errors come before anything else can happen, and closing what was never open is one more. */
class Touchy extends EventTarget {
  readonly bufferedAmount = 0;

  constructor() {
    super();
    queueMicrotask(() => this.close());
  }

  send(): void {}

  close(): void {
    this.dispatchEvent(new Event("error"));
  }
}

test("a socket class that fails immediately, and again while it is closed, is closed once", async () => {
  const dialled = createWebSocketTransport("ws://127.0.0.1:1", { WebSocket: Touchy as never });

  await expect(dialled).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message:
      "Cannot connect to the WebSocket server ws://127.0.0.1:1. Check that it is running and that the address is correct.",
  });
});
