import { once } from "node:events";
import { type AddressInfo, createServer, type Socket as NetSocket } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import { WebSocket as NodeSocket, WebSocketServer } from "ws";
import { findFreePort } from "../../internal/testing.ts";
import { startServer } from "./testing.ts";
import { createWebSocketTransport } from "./web-socket-client.ts";

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Accepts connections and never sends a frame. */
async function startMute(port = 0): Promise<{ url: string; taken: NetSocket[] }> {
  const taken: NetSocket[] = [];
  const server = createServer((socket) => void taken.push(socket.on("error", () => {})));
  closing.push(() => {
    for (const socket of taken) socket.destroy();
    server.close();
  });
  await once(server.listen(port, "127.0.0.1"), "listening");
  return { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`, taken };
}

/** Like the socket of a browser: it cannot be cut. */
class Uncut extends NodeSocket {
  static readonly made: Uncut[] = [];

  constructor(url: string, protocols: string[]) {
    super(url, protocols);
    Uncut.made.push(this);
    Object.defineProperty(this, "terminate", { value: undefined });
  }
}

describe("closing a transport", () => {
  test("that is connecting again leaves no socket behind", async () => {
    const server = await startServer({}, { port: await findFreePort() });
    const transport = await createWebSocketTransport(server.url, {
      reconnect: { first: 1, max: 1 },
      connectTimeout: 600_000,
    });
    await server.close();
    const { taken } = await startMute(server.port);
    await vi.waitFor(() => expect(taken).toHaveLength(1));
    const gone = once(taken[0]!.resume(), "close");

    await transport.close();

    await expect(gone).resolves.toBeDefined();
  });

  test("that waits for its token does not wait for it, and connects no more", async () => {
    const server = await startServer({}, { port: await findFreePort() });
    const token = vi.fn(async () => "first");
    const transport = await createWebSocketTransport(server.url, { token, reconnect: { first: 1, max: 1 } });
    let tell: (token: string) => void = () => {};
    token.mockImplementation(() => new Promise((resolve) => (tell = resolve)));
    await server.close();
    await vi.waitFor(() => expect(token).toHaveBeenCalledTimes(2));
    const { taken } = await startMute(server.port);

    await transport.close();
    tell("second");
    await new Promise(setImmediate);

    expect(taken).toEqual([]);
  });
});

describe("an attempt that takes too long", () => {
  test("without a token fails", async () => {
    const server = await startServer();
    closing.push(() => server.close());

    const dialled = createWebSocketTransport(server.url, { token: () => new Promise(() => {}), connectTimeout: 50 });

    await expect(dialled).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
  });

  test("is cancelled, also by a socket that cannot be terminated", async () => {
    const { url, taken } = await startMute();

    const dialled = createWebSocketTransport(url, { WebSocket: Uncut as never, connectTimeout: 500 });
    await expect(dialled).rejects.toMatchObject({ code: "UNAVAILABLE" });

    await vi.waitFor(() => expect(Uncut.made.at(-1)!.readyState).toBe(NodeSocket.CLOSED));
    await vi.waitFor(() => expect(taken).toHaveLength(1));
  });
});

test("a server that drops every connection is contacted with growing pauses", async () => {
  const moments: number[] = [];
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1", handleProtocols: ([first]) => first ?? false });
  closing.push(() => server.close());
  await once(server, "listening");
  server.on("connection", (socket) => {
    moments.push(performance.now());
    socket.send('{"type":"link.opened","version":1,"peerId":"p"}', () => socket.close());
  });
  const { port } = server.address() as AddressInfo;

  const transport = await createWebSocketTransport(`ws://127.0.0.1:${port}`, {
    reconnect: { first: 20, max: 100_000 },
  });
  closing.push(() => transport.close());
  await vi.waitFor(() => expect(moments).toHaveLength(6));

  // The fifth wait is 320 ms less up to half of it, where one that starts anew every time is 20 ms at most.
  expect(moments[5]! - moments[4]!).toBeGreaterThanOrEqual(150);
});

test.each(["nowhere?token=secret", "ws://127.0.0.1:1/?token=secret#part"])(
  "%s is not a URL of a WebSocket, and the error does not contain its secrets",
  async (url) => {
    const error = await createWebSocketTransport(url).catch((error) => error);

    expect(error).toMatchObject({ code: "VALIDATION_ERROR", mayHaveRun: false });
    expect(JSON.stringify(error) + error.message + error.cause).not.toContain("secret");
  },
);
