import { getEventListeners, once } from "node:events";
import { connect, createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createSocketController } from "./connecting.ts";

test("holds the listeners of one socket, however often its client connects, and destroys the latest", async () => {
  const server = createServer((socket) => socket.on("error", () => {})).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const controller = createSocketController();
  const open = async () => {
    const socket = connect({ host: "127.0.0.1", port, signal: controller.signal });
    await once(socket, "connect");
    return socket;
  };

  for (let attempt = 0; attempt < 20; attempt++) (await open()).destroy();
  const latest = await open();
  const listeners = getEventListeners(controller.signal, "abort").length;
  const failed = once(latest, "error").catch((error: unknown) => error);
  controller.abort();

  expect(listeners).toBe(2);
  expect(await failed).toMatchObject([{ name: "AbortError" }]);
  expect(latest.destroyed).toBe(true);
});
