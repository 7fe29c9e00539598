import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { callAs, idsOf, setUpHubs, shopOperation, whenState } from "../../src/hub/testing.ts";
import { findFreePort } from "../../src/internal/testing.ts";
import { listen } from "../../src/node/index.ts";
import { createRegistry } from "../../src/registry/index.ts";
import { serveHTTP } from "../../src/serve/http/index.ts";
import { bundleProgram } from "../../src/transport/testing.ts";
import { serveWebSocket } from "../../src/transport/websocket/index.ts";

const tests = setUpHubs();
const { start, serve, writeModule, closeLater } = tests;

describe("a program that serves MCP", () => {
  const program = bundleProgram(new URL("hub-mcp-server.ts", import.meta.url));
  const startProgram = async () => {
    await writeModule("list", "() => 1");
    const mcp = { command: process.execPath, args: [await program], restart: { limit: 1, delay: 1 } };
    return start({ sources: { tools: { mcp }, tasks: { modules: "operations" } } });
  };
  const kill = async (hub: Awaited<ReturnType<typeof startProgram>>) => {
    const pid = (await callAs(["tools"], hub, "tools.server_pid")) as number;
    const lost = whenState(hub, "tools", { status: "retrying" });
    process.kill(pid, "SIGKILL");
    await lost;
    return pid;
  };

  test("that dies is started again, and keeps its operations", async () => {
    const hub = await startProgram();
    const before = await kill(hub);
    expect(idsOf(hub).sort()).toEqual(["tasks.list", "tools.server_pid"]);
    await whenState(hub, "tools", { status: "ready" });

    expect(await callAs(["tools"], hub, "tools.server_pid")).not.toBe(before);
  });

  test("that cannot be started any more is tried until it can, and does not affect other sources", async () => {
    const hub = await startProgram();
    const broken = join(tests.folder, "broken");
    await writeFile(broken, "");
    await kill(hub);
    // The program was restarted as often as it may be; now the hub tries.
    await new Promise<void>((resolve) => hub.onSourceChange(({ nextAttempt }) => nextAttempt && resolve()));
    expect(hub.sources()[0]).toMatchObject({ name: "tools", reason: expect.stringContaining("tools"), operations: 1 });
    expect(await callAs(["tasks"], hub, "tasks.list")).toBe(1);

    await rm(broken);
    await whenState(hub, "tools", { status: "ready" });
    expect(await callAs(["tools"], hub, "tools.server_pid")).toBeTypeOf("number");
  });

  test("that never starts fails with its reason until it can be started", async () => {
    const broken = join(tests.folder, "broken");
    await writeFile(broken, "");
    const hub = await startProgram();
    expect(hub.sources()[0]).toMatchObject({ name: "tools", operations: 0, reason: expect.any(String) });
    expect(await callAs(["tools"], hub, "tools.server_pid")).toBe("UNAVAILABLE");

    await rm(broken);
    await whenState(hub, "tools", { status: "ready" });
    expect(await callAs(["tools"], hub, "tools.server_pid")).toBeTypeOf("number");
  });
});

describe("a service", () => {
  test("that hangs does not affect other sources, and is read when it responds", async () => {
    await writeModule("list", "() => 1");
    let isHanging = true;
    const registry = createRegistry({ operations: [shopOperation("stock", () => 7)] });
    const server = serveHTTP(registry, { authenticate: "none" });
    const hanging = {
      ...server,
      fetch: (...args: Parameters<typeof server.fetch>) =>
        isHanging ? new Promise<Response>(() => {}) : server.fetch(...args),
      close: () => server.close(),
      isUnauthenticated: true,
      [Symbol.asyncDispose]: () => server.close(),
    };
    const { url } = closeLater(await listen({ "/": hanging }, { closeTimeout: 0 }));
    const hub = await start({
      sources: { api: { openapi: `${url}/openapi.json`, timeout: 200 }, tasks: { modules: "operations" } },
    });

    expect(hub.sources()).toMatchObject([
      { name: "api", status: "retrying", reason: expect.stringContaining("200 ms") },
      { name: "tasks", status: "ready" },
    ]);
    expect(await callAs(["tasks"], hub, "tasks.list")).toBe(1);
    isHanging = false;
    await whenState(hub, "api", { status: "ready" });
    // The short time limit applies to calls too, and a busy machine may exceed it.
    await expect.poll(() => callAs(["api"], hub, "api.shop.stock")).toBe(7);
  });

  test("whose document changes changes its operations with refresh", async () => {
    const registry = createRegistry({ operations: [shopOperation("stock", () => 7)] });
    const { url } = closeLater(await listen({ "/": serveHTTP(registry, { authenticate: "none" }) }));
    const hub = await start({ sources: { api: { openapi: `${url}/openapi.json`, refresh: 20 } } });
    const before = idsOf(hub);
    registry.register(shopOperation("price", () => 8));
    registry.unregister("shop.stock");

    await hub.registry.waitFor("api.shop.price");
    await expect.poll(() => [before, idsOf(hub)]).toEqual([["api.shop.stock"], ["api.shop.price"]]);
    expect(await callAs([], hub, "api.shop.price")).toBe("ACCESS_DENIED");
  });

  test("over WebSocket that dies and returns is connected again", async () => {
    const port = await findFreePort();
    const first = await serve([shopOperation("stock", () => 7)], port);
    const hub = await start({ sources: { peers: { websocket: { url: `ws://127.0.0.1:${port}/calls` } } } });
    expect(await callAs(["peers"], hub, "shop.stock")).toBe(7);

    const lost = whenState(hub, "peers", { status: "retrying" });
    await first.close();
    await lost;
    expect(await callAs(["peers"], hub, "shop.stock")).toBe("UNAVAILABLE");
    await serve([shopOperation("stock", () => 8)], port);
    await whenState(hub, "peers", { status: "ready" });
    await hub.registry.waitFor("shop.stock");
    expect(await callAs(["peers"], hub, "shop.stock")).toBe(8);
  });

  test("over WebSocket that changes changes the operations of the hub, with the same access", async () => {
    const registry = createRegistry({ operations: [shopOperation("stock", () => 7)] });
    const { url } = closeLater(await listen({ "/calls": serveWebSocket(registry, { authenticate: "none" }) }));
    const hub = await start({
      sources: { peers: { websocket: { url: `${url.replace("http", "ws")}/calls` } } },
      rules: [{ match: "shop.secret", deny: true }],
    });
    registry.register(shopOperation("secret", () => 9));
    registry.register(shopOperation("price", () => 8));
    await hub.registry.waitFor("shop.price");

    expect(idsOf(hub)).toEqual(["shop.stock", "shop.price"]);
    expect([await callAs([], hub, "shop.price"), await callAs(["peers"], hub, "shop.price")]).toEqual([
      "ACCESS_DENIED",
      8,
    ]);
  });
});

test("a hub that is closed at any moment while its sources connect leaves nothing open", async () => {
  const hanging = {
    fetch: () => new Promise<Response>(() => {}),
    isUnauthenticated: true,
    close: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
  const { url } = closeLater(await listen({ "/": hanging }, { closeTimeout: 0 }));
  const sources = { api: { openapi: `${url}/openapi.json` }, tools: { mcp: { url: `${url}/mcp` } } };
  for (let turns = 0; turns <= 20; turns++) {
    const hub = await start({ sources }, { startTimeout: 0 });
    for (let turn = 0; turn < turns; turn++) await new Promise<void>((resolve) => setImmediate(resolve));

    await hub.close();

    expect(hub.sources().map(({ status, operations }) => [status, operations])).toEqual([
      ["closed", 0],
      ["closed", 0],
    ]);
  }
});
