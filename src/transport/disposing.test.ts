import { createServer } from "node:http";
import { expect, test } from "vitest";
import { createEventTargetTransport, createInProcessTransport } from "./in-process/index.ts";
import type { Transport } from "./transport.ts";
import { createWebSocketServer } from "./websocket/index.ts";
import { createWorkerTransport } from "./worker/index.ts";

test.each<[name: string, create: () => (Transport & AsyncDisposable) | Promise<Transport & AsyncDisposable>]>([
  ["in process", () => createInProcessTransport()],
  ["over an EventTarget", () => createEventTargetTransport(new EventTarget())],
  ["over WebSockets", () => createWebSocketServer({ server: createServer() })],
  ["over a port", () => createWorkerTransport(new MessageChannel().port1)],
])("a transport %s is closed at the end of its block", async (_name, create) => {
  let closed: Transport;
  {
    await using transport = await create();
    closed = transport;
  }

  const call = { type: "call.requested", requestId: "1", operationId: "a.b", input: {} } as const;
  const request = async () => closed.request("a.b", call, () => {});
  await expect(request()).rejects.toMatchObject({ code: "UNAVAILABLE" });
});
