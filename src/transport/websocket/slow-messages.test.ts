import { once } from "node:events";
import type { Socket as NetSocket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { WebSocket as RawSocket, WebSocketServer } from "ws";
import { startServer } from "./testing.ts";
import { createWebSocketTransport } from "./web-socket-client.ts";

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const heartbeat = 800;
/** So long that a message takes several heartbeats. */
const pause = 80;
const pieces = 25;

/** Writes one message as a slow network brings it: a piece at a time, and nothing else meanwhile. */
async function sendSlowly(socket: RawSocket, frame: object, isMasked: boolean): Promise<void> {
  const payload = Buffer.from(JSON.stringify(frame).padEnd(pieces * 100));
  const length = Buffer.from([isMasked ? 0xfe : 0x7e, payload.length >> 8, payload.length & 0xff]);
  const mask = Buffer.alloc(isMasked ? 4 : 0); // of zeros, which changes nothing
  const raw = (socket as unknown as { _socket: NetSocket })._socket;
  raw.write(Buffer.concat([Buffer.from([0x81]), length, mask]));
  for (let piece = 0; piece < pieces; piece++) {
    await sleep(pause);
    raw.write(payload.subarray(piece * 100, (piece + 1) * 100));
  }
}

test("a server waits for a message that takes longer than its heartbeat", async () => {
  const server = await startServer({ heartbeat });
  closing.push(() => server.close());
  const socket = new RawSocket(server.url);
  closing.push(() => socket.terminate());
  await once(socket, "open");
  const answer = new Promise((resolve) => {
    socket.on("message", (data) => String(data).includes('"slow"') && resolve(true));
    socket.on("close", () => resolve(false));
  });

  const request = { type: "call.requested", requestId: "slow", operationId: "test.echo", input: 1 };
  await sendSlowly(socket, request, true);

  expect(await answer).toBe(true);
});

test("a client waits for a message that takes longer than its heartbeat", async () => {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1", handleProtocols: ([first]) => first ?? false });
  closing.push(() => {
    for (const client of server.clients) client.terminate();
    return new Promise((resolve) => server.close(resolve));
  });
  await once(server, "listening");
  server.on("connection", (socket) => {
    socket.send('{"type":"link.opened","version":1,"peerId":"p"}');
    socket.on("message", (data) => {
      if (!String(data).includes('"call.requested"')) return;
      const output = { data: "done", meta: { source: "local", operationId: "test.echo", timestamp: 0 } };
      void sendSlowly(socket, { type: "call.responded", requestId: "r", output }, false);
    });
  });
  const { port } = server.address() as { port: number };
  const transport = await createWebSocketTransport(`ws://127.0.0.1:${port}`, { heartbeat, reconnect: false });
  closing.push(() => transport.close());

  const reply = await new Promise((resolve, reject) => {
    const frame = { type: "call.requested" as const, requestId: "r", operationId: "test.echo", input: 1 };
    Promise.resolve(transport.request("test.echo", frame, resolve)).catch(reject);
  });

  expect(reply).toMatchObject({ type: "call.responded", output: { data: "done" } });
});
