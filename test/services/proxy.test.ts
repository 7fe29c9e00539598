import { once } from "node:events";
import { createConnection, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { startProxy } from "./proxy.ts";

/** A server that reports what it receives and replies "pong", and a client that reaches it through a proxy. */
async function setUp() {
  const heard: string[] = [];
  const answers: string[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      heard.push(chunk.toString());
      socket.write("pong");
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const proxy = await startProxy((server.address() as { port: number }).port);
  const client: Socket = createConnection({ port: proxy.port, host: "127.0.0.1" });
  client.on("data", (chunk) => answers.push(chunk.toString()));
  await once(client, "connect");
  onTestFinished(async () => {
    client.destroy();
    await proxy.close();
    server.close();
  });
  return { proxy, client, heard, answers };
}

test("data sent while one direction is cut arrives when it is restored, and the other direction is not affected", async () => {
  const { proxy, client, heard, answers } = await setUp();

  proxy.blackhole("down");
  client.write("ping");
  await vi.waitFor(() => expect(heard).toEqual(["ping"]));
  expect(answers).toEqual([]);
  proxy.heal();

  await vi.waitFor(() => expect(answers).toEqual(["pong"]));
});

test("a delay applies to both directions and keeps the order, also when it ends", async () => {
  const { proxy, client, heard, answers } = await setUp();

  proxy.delay(150);
  const sent = performance.now();
  client.write("one ");
  await vi.waitFor(() => expect(answers).toEqual(["pong"]));
  const took = performance.now() - sent;
  client.write("two ");
  await new Promise((resolve) => setTimeout(resolve, 20));
  proxy.heal();
  client.write("three");

  await vi.waitFor(() => expect(heard.join("")).toBe("one two three"));
  expect(took).toBeGreaterThanOrEqual(295);
});

test("a reset closes open connections and accepts new ones", async () => {
  const { proxy, client } = await setUp();
  const cut = new Promise((resolve) => client.on("error", resolve));

  proxy.reset();
  const error = await cut;
  const next = createConnection({ port: proxy.port, host: "127.0.0.1" });
  next.write("ping");
  const [answer] = await once(next, "data");
  next.destroy();

  expect(error).toMatchObject({ code: "ECONNRESET" });
  expect(String(answer)).toBe("pong");
});
