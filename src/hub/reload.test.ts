import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { createToken } from "../auth/index.ts";
import { peerSource } from "../call/index.ts";
import { deferred } from "../internal/testing.ts";
import { isCallError } from "../operation/index.ts";
import { createRegistry } from "../registry/index.ts";
import { createWebSocketTransport } from "../transport/websocket/index.ts";
import type { HubConfig } from "./config.ts";
import type { Hub } from "./hub.ts";
import { callAs, idsOf, setUpHubs, shopOperation } from "./testing.ts";

const tests = setUpHubs();
const { start, serve, writeModule, closeLater } = tests;

/** An operation that runs until it is released. */
function createHeld(name: string) {
  const [started, release] = [deferred(), deferred()];
  const operation = shopOperation(name, async () => {
    started.resolve();
    await release.promise;
    return `${name} ended`;
  });
  return { operation, started: started.promise, release: () => release.resolve() };
}

const overHTTP = (url: string) => ({ openapi: `${url}/openapi.json` });
const overMCP = (url: string) => ({ mcp: { url: `${url}/mcp` } });

describe("a reload", () => {
  test("restarts only the sources whose configuration differs, and reports what it did", async () => {
    await writeModule("list", "() => 1");
    const { url } = await serve([shopOperation("stock", () => 7), shopOperation("price", () => 8)]);
    const sources = { tasks: { modules: "operations" }, api: overHTTP(url), old: overMCP(url) };
    const hub = await start({ sources });
    const handlers = () => ["tasks.list", "api.shop.stock"].map((id) => hub.registry.getHandler(id));
    const [list, stock] = handlers();

    const summary = await hub.reload({
      sources: {
        tasks: { modules: "./operations/" },
        api: { ...sources.api, include: ["*stock"] },
        more: overMCP(url),
      },
    });

    expect(summary).toEqual({ added: ["more"], restarted: ["api"], removed: ["old"] });
    expect(idsOf(hub)).toEqual(["tasks.list", "api.shop.stock", "more.shop_stock", "more.shop_price"]);
    expect(handlers()[0]).toBe(list);
    expect(handlers()[1]).not.toBe(stock);
    expect(hub.sources().map(({ name, status }) => [name, status])).toEqual([
      ["tasks", "ready"],
      ["api", "ready"],
      ["more", "ready"],
    ]);
  });

  test("lets the running calls of a restarted source end, and refuses new ones for now", async () => {
    const held = createHeld("work");
    const { url } = await serve([held.operation]);
    const hub = await start({ sources: { tools: overMCP(url) } });
    const running = callAs(["tools"], hub, "tools.shop_work");
    await held.started;

    const reloading = hub.reload({
      sources: { tools: { ...overMCP(url), accessControl: { requiredScopes: ["new"] } } },
    });
    await expect.poll(() => idsOf(hub)).toEqual([]);
    const meanwhile = await hub.registry.execute("tools.shop_work", {}).catch((error: unknown) => error);
    held.release();

    expect(await running).toBe("work ended");
    expect(meanwhile).toMatchObject({ code: "UNAVAILABLE", retryable: true, mayHaveRun: false });
    expect(await reloading).toMatchObject({ restarted: ["tools"] });
    expect(await callAs(["new"], hub, "tools.shop_work")).toBe("work ended");
  });

  test("ends the calls of a removed source that do not end in time, and its subscriptions", async () => {
    const held = createHeld("work");
    const ticks = shopOperation(
      "ticks",
      async function* () {
        yield 1;
        await new Promise(() => {});
      },
      { type: "subscription" },
    );
    const { url } = await serve([held.operation, ticks]);
    const peers = { websocket: { url: `${url.replace("http", "ws")}/calls` } };
    const hub = await start({ sources: { peers } }, { closeTimeout: 0 });
    const running = callAs(["peers"], hub, "shop.work");
    await held.started;
    const stream = hub.registry.subscribe("shop.ticks", {}, { identity: { id: "ada", scopes: ["peers"] } });
    const first = await stream.next();

    const [, next, summary] = await Promise.all([
      running,
      stream.next().catch((error: unknown) => error),
      hub.reload({}),
    ]);

    expect([first.value?.data, isCallError(next) && next.code, await running]).toEqual([
      1,
      "UNAVAILABLE",
      "UNAVAILABLE",
    ]);
    expect(summary).toEqual({ added: [], restarted: [], removed: ["peers"] });
    expect(await callAs(["peers"], hub, "shop.work")).toBe("OPERATION_NOT_FOUND");
    held.release();
  });

  test("does not interrupt calls of the other sources", async () => {
    const held = createHeld("work");
    const { url } = await serve([held.operation]);
    const hub = await start({ sources: { api: overHTTP(url), tools: overMCP(url) } });
    const running = callAs(["api"], hub, "api.shop.work");
    await held.started;

    await hub.reload({ sources: { api: overHTTP(url) } });
    held.release();

    expect(await running).toBe("work ended");
  });

  test("applies rules and tokens without a restart", async () => {
    await writeModule("list", "() => 1");
    const sources = { tasks: { modules: "operations" } };
    const [one, two] = [createToken(), createToken()];
    const config = (hash: string, rules: NonNullable<HubConfig["rules"]>): HubConfig => ({
      sources,
      rules,
      serve: { port: 0 },
      access: { tokens: [{ hash, identity: { id: "ada", scopes: ["tasks"] } }] },
    });
    const hub = await start(config(one.hash, []));
    const since = hub.sources()[0]!.since;
    const get = async (token: string) =>
      (await fetch(`${hub.url}/tasks/list`, { headers: { authorization: `Bearer ${token}` } })).status;
    expect([await get(one.token), await get(two.token)]).toEqual([200, 401]);

    expect(await hub.reload(config(two.hash, []))).toEqual({ added: [], restarted: [], removed: [] });
    expect([await get(one.token), await get(two.token)]).toEqual([401, 200]);
    await hub.reload(config(two.hash, [{ match: "tasks.*", requiredScopes: ["tasks:read"] }]));
    expect(await get(two.token)).toBe(403);
    await hub.reload(config(two.hash, [{ match: "tasks.*", deny: true }]));
    expect(await get(two.token)).toBe(404);
    await hub.reload(config(two.hash, []));
    expect(await get(two.token)).toBe(200);
    expect(hub.sources()).toMatchObject([{ name: "tasks", status: "ready", since }]);
  });

  test("adds sources that the operator may call, also over an open WebSocket, on which calls continue", async () => {
    await writeModule("list", "() => 1");
    const held = createHeld("work");
    const { url } = await serve([held.operation]);
    const config = { serve: { port: 0, mcp: false }, sources: { tools: overHTTP(url) } };
    const hub = await start(config);
    const transport = await createWebSocketTransport(`${hub.url!.replace("http", "ws")}/calls`, { token: hub.token! });
    closeLater(transport);
    const onLinkChange = vi.fn();
    transport.onLinkChange!(onLinkChange);
    const registry = closeLater(createRegistry({ operations: [] }));
    await registry.follow(peerSource(transport));
    const working = registry.execute("tools.shop.work");
    await held.started;

    await hub.reload({ ...config, sources: { ...config.sources, tasks: { modules: "operations" } } });

    await registry.waitFor("tasks.list");
    expect((await registry.execute("tasks.list")).data).toBe(1);
    held.release();
    expect((await working).data).toBe("work ended");
    expect(onLinkChange).not.toHaveBeenCalled();
  });

  test("loads the modules whose files have changed, and keeps a folder that cannot be read", async () => {
    await writeModule("list", "() => 1");
    await writeModule("other", "() => 2");
    const config = { sources: { tasks: { modules: "operations" } } };
    const hub = await start(config);
    const other = hub.registry.getHandler("tasks.other");
    await writeModule("list", "() => 'changed'");

    expect(await hub.reload(config)).toEqual({ added: [], restarted: [], removed: [] });

    expect(await callAs(["tasks"], hub, "tasks.list")).toBe("changed");
    expect(hub.registry.getHandler("tasks.other")).toBe(other);

    await rm(join(tests.folder, "operations"), { recursive: true });
    await hub.reload(config);
    expect(await callAs(["tasks"], hub, "tasks.list")).toBe("changed");
    expect(hub.sources()).toMatchObject([{ name: "tasks", status: "ready", operations: 2 }]);
  });

  test("reads the file of the hub again", async () => {
    await writeModule("list", "() => 1");
    const file = join(tests.folder, "operations.config.json");
    await writeFile(file, "{}");
    const hub = await start({}, { file });
    await writeFile(file, JSON.stringify({ sources: { tasks: { modules: "operations" } } }));

    expect(await hub.reload()).toEqual({ added: ["tasks"], restarted: [], removed: [] });
    expect(idsOf(hub)).toEqual(["tasks.list"]);
  });

  test("reads no file again that beforeReload refuses", async () => {
    await writeModule("list", "() => 1");
    const { url } = await serve([shopOperation("stock", () => 7)]);
    const file = join(tests.folder, "operations.config.json");
    let isAllowed = false;
    let onRefused = () => {};
    const beforeReload = async () => {
      if (isAllowed) return;
      onRefused();
      throw new Error("It is not trusted.");
    };
    const sources = { mine: { mcpConfig: { file: "mcp.json" } } };
    const hub = await start({ sources }, { file, beforeReload });
    const added = { ...sources, tasks: { modules: "operations" } };
    await writeFile(file, JSON.stringify({ sources: added }));
    await expect(hub.reload()).rejects.toThrow("It is not trusted.");

    const refused = deferred();
    onRefused = refused.resolve;
    await writeFile(join(tests.folder, "mcp.json"), JSON.stringify({ mcpServers: { shop: { url: `${url}/mcp` } } }));
    await refused.promise;
    expect(idsOf(hub)).toEqual([]);

    isAllowed = true;
    await expect.poll(() => idsOf(hub)).toEqual(["shop.shop_stock"]);
    expect(await hub.reload()).toEqual({ added: ["tasks"], restarted: [], removed: [] });
  });

  test("keeps the host and port that the program passed to createHub", async () => {
    const file = join(tests.folder, "operations.config.json");
    await writeFile(file, JSON.stringify({ serve: { port: 4000 } }));
    const hub = await start({}, { file, listen: { port: 0 } });

    expect(await hub.reload()).toEqual({ added: [], restarted: [], removed: [] });
    expect((await fetch(`${hub.url}/readyz`)).status).toBe(200);
  });

  test("runs after earlier ones", async () => {
    await writeModule("list", "() => 1");
    const hub = await start({});
    const config = { sources: { tasks: { modules: "operations" } } };

    const summaries = await Promise.all([hub.reload(config), hub.reload({}), hub.reload(config)]);

    expect(summaries.map(({ added, removed }) => [added, removed])).toEqual([
      [["tasks"], []],
      [[], ["tasks"]],
      [["tasks"], []],
    ]);
    expect(idsOf(hub)).toEqual(["tasks.list"]);
  });

  test("ends with UNAVAILABLE after the hub was closed", async () => {
    const hub = await start({});
    await hub.close();

    await expect(hub.reload({})).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });
});

describe("an invalid configuration changes nothing", () => {
  async function expectUnchanged(hub: Hub, reloading: Promise<unknown>): Promise<void> {
    const state = () => [hub.sources(), idsOf(hub), hub.registry.getHandler("tasks.list"), hub.token];
    const before = state();
    await expect(reloading).rejects.toBeInstanceOf(Error);
    expect(state()).toEqual(before);
  }

  const ada = { hash: createToken().hash, identity: { id: "ada", scopes: [] } };
  test.each<[string, HubConfig]>([
    ["a source called hub", { sources: { hub: { modules: "x" } } }],
    ["a bus without trust", { sources: { fleet: { nats: { servers: "127.0.0.1:1" } } } }],
    ["other settings of serve", { serve: { port: 0 } }],
    ["a token twice", { access: { tokens: [ada, ada] } }],
    ["a history file that cannot be used", { history: { file: "." }, access: { tokens: [ada] } }],
    ["an invalid token", { access: { tokens: [{ hash: "sha256:0", identity: { id: "a", scopes: [] } }] } }],
  ])("with %s", async (_title, config) => {
    await writeModule("list", "() => 1");
    const hub = await start({ sources: { tasks: { modules: "operations" } } });

    await expectUnchanged(hub, hub.reload(config));
    expect(await callAs(["tasks"], hub, "tasks.list")).toBe(1);
  });

  test("in a malformed file, and without a file", async () => {
    await writeModule("list", "() => 1");
    const file = join(tests.folder, "operations.config.json");
    await writeFile(file, "{ sources:");
    const config = { sources: { tasks: { modules: "operations" } } };

    const hub = await start(config, { file });
    await expectUnchanged(hub, hub.reload());
    const other = await start(config);
    await expectUnchanged(other, other.reload());
  });
});
