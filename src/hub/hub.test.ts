import { readFile, realpath, rename, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { describe, expect, test } from "vitest";
import { createToken } from "../auth/index.ts";
import { connect } from "../client/index.ts";
import { deferred } from "../internal/testing.ts";
import { listen } from "../node/index.ts";
import { CallError, Type } from "../operation/index.ts";
import type { SourceConfig } from "./config.ts";
import type { Hub } from "./hub.ts";
import { callAs, idsOf, setUpHubs, shopOperation } from "./testing.ts";

const tests = setUpHubs();
const { start, serve, writeModule, closeLater } = tests;

const define = (name: string, result: unknown) => shopOperation(name, () => result);

const states = (hub: Hub) =>
  hub.sources().map(({ name, kind, status, operations }) => [name, kind, status, operations]);

describe("a hub that is its own source", () => {
  test("is refused at its address, for every kind of source", async () => {
    const hub = await start({ serve: { port: 0 } });
    const url = hub.url!.replace("127.0.0.1", "localhost");
    const sources = {
      api: { openapi: `${url}/openapi.json` },
      tools: { mcp: { url: `${url}/mcp` } },
      peers: { websocket: { url: `${url.replace("http", "ws")}/calls` } },
    };

    await hub.reload({ sources, serve: { port: 0 } });

    expect(hub.sources().map(({ status, reason }) => [status, reason])).toEqual(
      Object.keys(sources).map((name) => [
        "failed",
        `The source "${name}" is this hub itself. Remove it, or name the servers to use in "servers".`,
      ]),
    );
  });

  test("is refused as a program that it started", async () => {
    const file = await realpath(tests.folder).then((folder) => join(folder, "operations.config.json"));
    await writeFile(file, "{}");
    const args = ["-e", 'require("fs").writeFileSync("started-by", process.env.OPERATIONS_STARTED_BY)'];
    const config = { sources: { self: { mcp: { command: process.execPath, args } } } };
    await start(config, { file, environment: { OPERATIONS_STARTED_BY: "/other.json" } });
    const startedBy = ["/other.json", file].join(delimiter);

    expect(await readFile(join(tests.folder, "started-by"), "utf8")).toBe(startedBy);
    await expect(start(config, { file, environment: { OPERATIONS_STARTED_BY: startedBy } })).rejects.toMatchObject({
      code: "VALIDATION_ERROR",
      message: `A hub with the configuration ${JSON.stringify(file)} started this one as an MCP server. Remove that server from its sources, or name the servers to use in "servers".`,
    });
  });
});

describe("sources", () => {
  test("of every kind but buses are registered, and require the scope with their name", async () => {
    await writeModule("list", '() => "a list"');
    const { url } = await serve([define("stock", 7)]);
    await writeFile(join(tests.folder, "mcp.json"), JSON.stringify({ mcpServers: { docs: { url: `${url}/mcp` } } }));
    const hub = await start({
      sources: {
        tasks: { modules: "./operations" },
        api: { openapi: `${url}/openapi.json` },
        tools: { mcp: { url: `${url}/mcp` } },
        mine: { mcpConfig: { file: "mcp.json" } },
        peers: { websocket: { url: `${url.replace("http", "ws")}/calls` } },
      },
    });

    expect(states(hub)).toEqual([
      ["tasks", "modules", "ready", 1],
      ["api", "openapi", "ready", 1],
      ["tools", "mcp", "ready", 1],
      ["mine/docs", "mcp", "ready", 1],
      ["peers", "websocket", "ready", 1],
    ]);
    const [list, api, tool, mine, peer] = [
      "tasks.list",
      "api.shop.stock",
      "tools.shop_stock",
      "docs.shop_stock",
      "shop.stock",
    ];
    expect(idsOf(hub).sort()).toEqual([list, api, tool, mine, peer].sort());
    const scopes = ["tasks", "api", "tools", "mine", "peers"];
    const calls = [list, api, tool, mine, peer].map((id) => callAs(scopes, hub, id!));
    expect(await Promise.all(calls)).toEqual(["a list", 7, 7, 7, 7]);
    const denied = [list, api, tool, mine, peer].map((id) => callAs([], hub, id!));
    expect(await Promise.all(denied)).toEqual(Array(5).fill("ACCESS_DENIED"));
    expect([list, api, tool, mine, peer, "hub.x"].map((id) => hub.sourceOf(id!))).toEqual([
      "tasks",
      "api",
      "tools",
      "mine/docs",
      "peers",
      undefined,
    ]);
  });

  test("over MCP return errors of tools as results, also where results are checked strictly", async () => {
    const broken = shopOperation(
      "broken",
      () => {
        throw new CallError("SOLD_OUT", "Nothing is left.");
      },
      { outputSchema: Type.Object({ left: Type.Integer() }) },
    );
    const { url } = await serve([broken]);
    const accessControl = { requiredScopes: [] };
    const hub = await start({
      sources: { tools: { mcp: { url: `${url}/mcp`, outputPolicy: "strict" }, accessControl } },
    });

    const { meta } = await hub.registry.execute("tools.shop_broken", {});
    expect(meta).toMatchObject({ source: "mcp", isError: true });
  });

  test("are selected by names with or without their namespace, and renamed", async () => {
    const { url } = await serve([define("stock", 7), define("price", 8), define("secret", 9)]);
    const options = { include: ["*stock", "api.*price"], exclude: ["shop.secret"] };
    const hub = await start({
      sources: { api: { openapi: `${url}/openapi.json`, ...options, rename: { "api.shop.stock": "stock" } } },
    });

    expect(idsOf(hub)).toEqual(["api.stock", "api.shop.price"]);
    expect([hub.sources()[0]!.operations, hub.sourceOf("api.stock")]).toEqual([2, "api"]);
  });

  test("do not escape rules with another namespace: rules also match the name of the source or server", async () => {
    const { url } = await serve([define("stock", 7), define("secret", 9)]);
    const servers = { "a.b c": { url: `${url}/mcp` } };
    await writeFile(join(tests.folder, "mcp.json"), JSON.stringify({ mcpServers: servers }));
    const hub = await start({
      sources: {
        api: { openapi: `${url}/openapi.json`, namespace: "x" },
        trusted: { openapi: `${url}/openapi.json`, trust: "operations", namespace: "y" },
        tools: { mcp: { url: `${url}/mcp` }, namespace: "z" },
        mine: { mcpConfig: { file: "mcp.json" }, include: ["shop_*"] },
      },
      rules: ["api.shop.secret", "shop.secret", "tools.*secret", "a.b c.shop_sec*"].map((match) => ({
        match,
        deny: true,
      })),
    });

    expect(idsOf(hub).sort()).toEqual(["a_b c.shop_stock", "x.shop.stock", "y.stock", "z.shop_stock"]);
  });

  test.each([
    ["another rule", { accessControl: { requiredScopes: ["shop:read"] } }, "shop:read"],
    ["no rule", { accessControl: { requiredScopes: [] } }, undefined],
  ])("with %s of their own do not require their name", async (_title, options, scope) => {
    const { url } = await serve([define("stock", 7)]);
    const hub = await start({ sources: { api: { openapi: `${url}/openapi.json`, ...options } } });

    expect(await callAs(scope === undefined ? [] : [scope], hub, "api.shop.stock")).toBe(7);
  });

  test("that fail do not stop the hub, report why, and are tried again until they are ready", async () => {
    await writeModule("list", '() => "a list"');
    const hub = await start({
      sources: {
        tasks: { modules: "./operations" },
        later: { modules: "./later" },
        mine: { mcpConfig: { file: "x" } },
      },
    });
    const [tasks, later, mine] = hub.sources();

    expect([tasks?.status, await callAs(["tasks"], hub, "tasks.list")]).toEqual(["ready", "a list"]);
    expect(later).toMatchObject({
      name: "later",
      operations: 0,
      reason: expect.stringContaining(join(tests.folder, "later")),
    });
    expect(mine).toMatchObject({
      name: "mine",
      operations: 0,
      reason: expect.stringContaining(join(tests.folder, "x")),
    });
    expect([later?.status, mine?.status].filter((status) => status === "ready")).toEqual([]);

    const { url } = await serve([define("stock", 7)]);
    await writeModule("late", '() => "it came"', "complete");
    await rename(join(tests.folder, "complete"), join(tests.folder, "later")); // The source must not see an empty folder.
    await writeFile(join(tests.folder, "x"), JSON.stringify({ mcpServers: { docs: { url: `${url}/mcp` } } }));
    await Promise.all([hub.registry.waitFor("tasks.late"), hub.registry.waitFor("docs.shop_stock")]);
    expect(await callAs(["later"], hub, "tasks.late")).toBe("it came");
    expect(states(hub).map(([name]) => name)).toEqual(["tasks", "later", "mine/docs"]);
  });

  test("in a file of an editor that cannot be used report server, field and file", async () => {
    const file = join(tests.folder, "mcp.json");
    const token = `\${TOKEN}`;
    const mcpServers = {
      secret: { url: "http://127.0.0.1:1", headers: { a: token } },
      off: { command: "never", disabled: true },
    };
    await writeFile(file, JSON.stringify({ mcpServers }));
    const hub = await start(
      { sources: { all: { mcpConfig: { file } }, some: { mcpConfig: { file, servers: ["off", "other"] } } } },
      { environment: {} },
    );

    const next = "Change the file, then reload the hub.";
    expect(hub.sources().map(({ name, reason }) => [name, reason])).toEqual([
      [
        "all/secret",
        `"mcpServers.secret.headers.a" in ${JSON.stringify(file)} cannot be used: the variable TOKEN is not set. ${next}`,
      ],
      ["some/off", `"mcpServers.off" in ${JSON.stringify(file)} cannot be used: it is disabled. ${next}`],
      ["some/other", `${JSON.stringify(file)} has no server "other". ${next}`],
    ]);
  });

  test("that are connecting do not delay the hub, and their operations are unavailable meanwhile", async () => {
    const release = deferred();
    const service = await listen({
      "/": {
        fetch: async () => {
          await release.promise;
          return Response.json({ openapi: "3.1.0", info: { title: "", version: "1" }, paths: {} });
        },
        isUnauthenticated: true,
        close: async () => {},
        [Symbol.asyncDispose]: async () => {},
      },
    });
    closeLater(service);
    const sources = { api: { openapi: `${service.url}/openapi.json` } };
    const hub = await start({ sources, serve: { port: 0 } }, { startTimeout: 0 });
    const headers = { authorization: `Bearer ${hub.token}` };
    const get = async (path: string) => (await fetch(hub.url + path, { headers })).status;

    expect(states(hub)).toEqual([["api", "openapi", "connecting", 0]]);
    expect([await callAs(["api"], hub, "api.list"), await callAs(["api"], hub, "other.list")]).toEqual([
      "UNAVAILABLE",
      "OPERATION_NOT_FOUND",
    ]);
    expect([await get("/api/list"), await get("/other/list")]).toEqual([503, 404]);
    expect([await get("/hub/operations?id=api.list"), await get("/hub/operations?id=other.list")]).toEqual([503, 200]);
    const ready = new Promise((resolve) => hub.onSourceChange(resolve));
    release.resolve();
    expect(await ready).toMatchObject({ name: "api", status: "ready" });
    expect(await callAs(["api"], hub, "api.list")).toBe("OPERATION_NOT_FOUND");
  });

  test("of modules have priority over peers, and peers cannot use the namespaces of other sources", async () => {
    const operations = ["tasks", "api", "hub", "shop"].map((namespace) =>
      shopOperation("list", () => `peer: ${namespace}`, { namespace }),
    );
    const { url } = await serve(operations);
    const websocket = { url: `${url.replace("http", "ws")}/calls` };
    const accessControl = { requiredScopes: [] };
    const api = { openapi: `${url}/missing.json`, accessControl };
    const sources = { api, tasks: { modules: "later", accessControl }, peers: { websocket, accessControl } };
    const hub = await start({ sources }, { retry: { first: 5, max: 5 } });
    const callAll = () =>
      Promise.all(["tasks.list", "api.list", "hub.list", "shop.list"].map((id) => callAs([], hub, id)));

    expect(await callAll()).toEqual(["peer: tasks", "UNAVAILABLE", "OPERATION_NOT_FOUND", "peer: shop"]);
    await writeModule("list", '() => "module"', "later");
    await expect.poll(() => callAs([], hub, "tasks.list")).toBe("module");
  });

  test("of modules are watched with dev", async () => {
    await writeModule("list", '() => "before"');
    const hub = await start({ sources: { tasks: { modules: "./operations" } } }, { dev: true });
    await writeModule("list", '() => "after"');

    await expect.poll(() => callAs(["tasks"], hub, "tasks.list")).toBe("after");
  });
});

describe("an invalid configuration", () => {
  const bus = { nats: { servers: "127.0.0.1:1" } };
  test.each<[string, Record<string, SourceConfig>, RegExp]>([
    ["a source called hub", { hub: { modules: "x" } }, /the hub itself uses "hub"/],
    ["the namespace hub", { a: { modules: "x", namespace: "hub" } }, /the hub itself uses "hub"/],
    ["a name with a dot", { "a.b": { modules: "x" } }, /without dots/],
    ["a bus without trust", { fleet: bus }, /Set "sign" to a key that its peers share/],
    [
      "one bus twice",
      { a: { nats: { ...bus.nats, trustedBus: true, serve: true } }, b: { nats: { ...bus.nats, trustedBus: true } } },
      /"a" and "b" use the same bus/,
    ],
  ])("is refused: %s", async (_title, sources, message) => {
    await expect(start({ sources })).rejects.toMatchObject({
      code: "VALIDATION_ERROR",
      message: expect.stringMatching(message),
    });
  });

  test("is refused: nothing to serve", async () => {
    const nothing = { http: false, mcp: false, websocket: false };
    await expect(start({ serve: { port: 0, ...nothing } })).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
  });
});

describe("a serving hub", () => {
  test("serves HTTP, MCP and WebSocket on one port, to callers with a token", async () => {
    await writeModule("list", '() => "a list"');
    const { token, hash } = createToken();
    const hub = await start({
      sources: { tasks: { modules: "./operations" } },
      serve: { port: 0 },
      access: { tokens: [{ hash, identity: { id: "ada", scopes: ["tasks"] } }] },
    });
    const url = hub.url!;
    const headers = { authorization: `Bearer ${token}` };

    const response = await fetch(`${url}/tasks/list`, { headers });
    expect([response.status, await response.json()]).toEqual([200, "a list"]);
    expect((await fetch(`${url}/tasks/list`)).status).toBe(401);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    const client = connect(`${url.replace("http", "ws")}/calls`, { token });
    closeLater({ close: async () => client[Symbol.asyncDispose]() });
    expect(await (client as never as { tasks: { list(): Promise<unknown> } }).tasks.list()).toBe("a list");
    const second = await start({ sources: { tools: { mcp: { url: `${url}/mcp`, auth: { type: "bearer", token } } } } });
    expect(await callAs(["tools"], second, "tools.tasks_list")).toBe("a list");
  });

  test("without access creates a token that may call everything", async () => {
    await writeModule("list", '() => "a list"');
    const hub = await start({ sources: { tasks: { modules: "./operations" } }, serve: { port: 0, mcp: false } });
    const get = async (token?: string) =>
      (await fetch(`${hub.url}/tasks/list`, { headers: token ? { authorization: `Bearer ${token}` } : {} })).status;

    expect([await get(hub.token), await get(), await get(createToken().token)]).toEqual([200, 401, 401]);
    expect((await fetch(`${hub.url}/mcp`, { method: "POST" })).status).toBe(401);
  });

  test("does not listen without serve, or with listen: false", async () => {
    const silent = await start({});
    const library = await start({ serve: { port: 0 } }, { listen: false });

    expect([silent.url, library.url]).toEqual([undefined, undefined]);
  });

  test("rejects when its port is taken, and leaves nothing open", async () => {
    const { port } = await serve([define("stock", 7)]);
    const config = { sources: { tasks: { modules: "./operations" } }, serve: { port } };

    await expect(start(config)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: `Port ${port} of 127.0.0.1 is in use. Stop the program that uses it, or pass another port; 0 selects a free one.`,
    });
  });
});
