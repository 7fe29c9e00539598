import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { MessageChannel } from "node:worker_threads";
import { afterEach, describe, expect, test, vi } from "vitest";
import { connect } from "../client/index.ts";
import { type CallOptions, createRegistry, type OperationContext } from "../index.ts";
import { createEventTargetTransport, createInProcessTransport, InProcessBus } from "../transport/in-process/index.ts";
import type { Transport } from "../transport/transport.ts";
import { createWebSocketServer, createWebSocketTransport } from "../transport/websocket/index.ts";
import { createWorkerTransport } from "../transport/worker/index.ts";
import { PendingRequestMap, peerSource, serveCalls } from "./index.ts";
import { operation, subscription, until } from "./testing.ts";

// A field that exists only in this test: one row in the table is all that a new field needs.
vi.mock("../operation/request-fields.ts", async (importOriginal) => {
  const original = await importOriginal<typeof import("../operation/request-fields.ts")>();
  Object.assign(original.requestFields, { flavour: { kind: "string", maxLength: 20, isInherited: true } });
  return original;
});

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const flavourOf = (context: OperationContext) => (context as { flavour?: unknown }).flavour ?? "none";
const vanilla = { flavour: "vanilla" } as CallOptions;

const wires: Array<[name: string, connectPeers: () => Promise<[server: Transport, caller: Transport]>]> = [
  [
    "in process",
    async () => {
      const bus = new InProcessBus();
      return [createInProcessTransport(bus), createInProcessTransport(bus)];
    },
  ],
  [
    "over an event target",
    async () => {
      const target = new EventTarget();
      return [createEventTargetTransport(target), createEventTargetTransport(target)];
    },
  ],
  [
    "over a port",
    async () => {
      const { port1, port2 } = new MessageChannel();
      return [createWorkerTransport(port1), createWorkerTransport(port2)];
    },
  ],
  [
    "over a WebSocket",
    async () => {
      const http = createServer();
      await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
      closing.push(() => http.close());
      const server = await createWebSocketServer({ server: http });
      const { port } = http.address() as AddressInfo;
      return [server, await createWebSocketTransport(`ws://127.0.0.1:${port}/`)];
    },
  ],
];

describe.each(wires)("a field of a request arrives in the handler %s", (_, connectPeers) => {
  async function serve(): Promise<Transport> {
    const [serving, calling] = await connectPeers();
    const registry = createRegistry({
      operations: [
        operation("flavour", (_input, context) => flavourOf(context)),
        operation("nested", async (_input, { env }) => (await env["test"]!["flavour"]!({})).data),
        subscription("flavours", async function* (_input, context) {
          yield flavourOf(context);
        }),
      ],
    });
    const served = await serveCalls(registry, serving);
    closing.push(() => served.close());
    return calling;
  }

  test("of a call, a subscription and a nested call", async () => {
    const calls = new PendingRequestMap(await serve());
    closing.push(() => calls.close());

    expect((await calls.call("test.flavour", {}, vanilla)).data).toBe("vanilla");
    expect((await calls.call("test.flavour", {})).data).toBe("none");
    expect((await calls.call("test.nested", {}, vanilla)).data).toBe("vanilla");
    for await (const { data } of calls.subscribe("test.flavours", {}, vanilla)) expect(data).toBe("vanilla");
  });

  test("of a call that a registry forwards", async () => {
    const registry = createRegistry();
    await registry.follow(peerSource(await serve()));
    closing.push(() => registry.close());
    await until(() => registry.has("test.flavour"));

    expect((await registry.execute("test.flavour", {}, vanilla)).data).toBe("vanilla");
    expect(await registry.client(vanilla)["test"]!["flavour"]!({})).toBe("vanilla");
  });

  test("of a typed client", async () => {
    const client = connect(await serve());
    closing.push(() => client.close());

    expect(await client["test"]!["flavour"]!({}, vanilla)).toBe("vanilla");
  });
});
