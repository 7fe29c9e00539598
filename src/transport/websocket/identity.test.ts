import { afterEach, describe, expect, test, vi } from "vitest";
import { buildCallHandler, PendingRequestMap, peerSource } from "../../call/index.ts";
import type { AccessControl, Identity } from "../../operation/index.ts";
import { OperationRegistry, subscribe } from "../../registry/index.ts";
import { createInProcessTransport, InProcessBus } from "../in-process/index.ts";
import type { Transport } from "../transport.ts";
import { startServer, type TestServer } from "./testing.ts";
import { createWebSocketTransport } from "./web-socket-client.ts";

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const identities: Record<string, Identity> = {
  admin: { id: "ann", scopes: ["admin"] },
  guest: { id: "gus", scopes: [] },
};

async function serve(): Promise<TestServer> {
  const server = await startServer({ authenticate: ({ token = "" }) => identities[token], announces: "all" });
  closing.push(() => server.close());
  return server;
}

async function follow(url: string, token: string): Promise<OperationRegistry> {
  const registry = new OperationRegistry();
  closing.push(() => registry.close());
  await registry.follow(peerSource(await createWebSocketTransport(url, { token })));
  await vi.waitFor(() => expect(registry.has("test.admin")).toBe(true));
  return registry;
}

const denied = { code: "ACCESS_DENIED", details: { operationId: "test.admin", reason: 'scope "admin" is missing' } };

describe("a client whose connection the server has authenticated", () => {
  test("needs no identity of its own", async () => {
    const registry = await follow((await serve()).url, "admin");

    expect((await registry.execute("test.admin", {})).data).toBe("done");
    expect(await registry.client()["test"]?.["admin"]?.({})).toBe("done");
    expect((await registry.execute("test.whoami", {})).data).toEqual(identities["admin"]);
  });

  test.each([undefined, { id: "mallory", scopes: ["admin"] }])(
    "gains nothing by the made-up identity %j",
    async (identity) => {
      const registry = await follow((await serve()).url, "guest");

      await expect(registry.execute("test.admin", {}, { identity })).rejects.toMatchObject(denied);
      expect((await registry.execute("test.whoami", {}, { identity })).data).toEqual(identities["guest"]);
    },
  );

  test("does not lend its identity to callers elsewhere", async () => {
    const registry = await follow((await serve()).url, "admin");
    const bus = new InProcessBus();
    const { outer, inner } = bridge(bus);
    const callMap = new PendingRequestMap(outer);
    closing.push(() => callMap.close());
    await callMap.handle(buildCallHandler({ registry, callMap, trustedBus: true })).ready;
    const caller = new PendingRequestMap(inner, { trustedBus: true });

    await expect(caller.call("test.admin", {})).rejects.toMatchObject({ code: "ACCESS_DENIED" });
    const identity = identities["admin"];
    expect((await caller.call("test.admin", {}, { identity })).data).toBe("done");
  });

  test("checks rules that are its own", async () => {
    const registry = await follow((await serve()).url, "admin");
    const own: AccessControl = { requiredScopes: ["operator"] };
    registry.replace({
      ...registry.get("test.admin")!,
      handler: registry.getHandler("test.admin")!,
      accessControl: own,
    });

    await expect(registry.execute("test.admin", {})).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  });

  test("subscribes with that identity as well, and leaves a customAuth to the server", async () => {
    const accessControl = { requiredScopes: ["admin"], customAuth: "elsewhere" };
    const spec = { namespace: "test", version: "1", description: "", inputSchema: {}, outputSchema: {}, accessControl };
    const bus = new InProcessBus();
    const peer = createInProcessTransport(bus);
    await peer.serve(["test.count", "test.one"], ({ requestId, credit }, reply) => {
      const output = { data: 1, meta: { source: "local" as const, operationId: "test.one", timestamp: 0 } };
      void reply({ type: "call.responded", requestId, output, ...(credit !== undefined && { seq: 0 }) });
      return () => {};
    });
    await peer.announce([
      { ...spec, name: "count", type: "subscription" },
      { ...spec, name: "one", type: "query" },
    ]);
    const registry = new OperationRegistry();
    closing.push(() => registry.close());
    const transport = createInProcessTransport(bus);
    const carrying: Transport = {
      name: "of a user",
      capabilities: { ...transport.capabilities, carriesIdentity: true },
      request: (...args) => transport.request(...args),
      serve: (...args) => transport.serve(...args),
      announce: (...args) => transport.announce(...args),
      watchPeers: (listener) => transport.watchPeers(listener),
      close: () => transport.close(),
    };
    await registry.follow(peerSource(carrying));

    expect((await registry.execute("test.one", {})).data).toBe(1);
    expect((await subscribe(registry, "test.count", {}).next()).value?.data).toBe(1);
  });
});

/** Two transports of one bus that do not declare that they stay in this process, like those of a network. */
function bridge(bus: InProcessBus): { outer: Transport; inner: Transport } {
  const make = (): Transport => {
    const transport = createInProcessTransport(bus);
    return {
      name: "network",
      request: (...args) => transport.request(...args),
      serve: (ids, onRequest) => transport.serve(ids, (frame, reply) => onRequest(frame, reply)),
      announce: (...args) => transport.announce(...args),
      watchPeers: (listener) => transport.watchPeers(listener),
      close: () => transport.close(),
    };
  };
  return { outer: make(), inner: make() };
}
