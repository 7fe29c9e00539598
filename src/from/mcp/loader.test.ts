import { InMemoryTransport } from "@modelcontextprotocol/client";
import { Server } from "@modelcontextprotocol/server";
import { afterEach, describe, expect, test, vi } from "vitest";
import { OperationRegistry } from "../../registry/index.ts";
import type { MCPClientConfig } from "./config.ts";
import { MCPClientLoader } from "./loader.ts";

const loader = new MCPClientLoader();
afterEach(() => loader.closeAll());

function deferred() {
  let resolve = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** A server in this process that has one tool for each name. */
function server(names: string[], { before = Promise.resolve() as Promise<unknown> } = {}) {
  const tools = new Set(names);
  const running = new Set<Server>();
  const started = deferred();
  const config: MCPClientConfig = {
    onReport: () => {},
    restart: false,
    transport: async () => {
      started.resolve();
      await before;
      const [ours, theirs] = InMemoryTransport.createLinkedPair();
      const one = new Server({ name: "test", version: "1.0.0" }, { capabilities: { tools: { listChanged: true } } });
      one.setRequestHandler("tools/list", () => ({
        tools: [...tools].map((name) => ({ name, description: name, inputSchema: { type: "object" as const } })),
      }));
      one.setRequestHandler("tools/call", ({ params }) => ({ content: [{ type: "text", text: params.name }] }));
      one.onclose = () => running.delete(one);
      running.add(one);
      await one.connect(theirs);
      return ours;
    },
  };
  const add = async (name: string) => {
    tools.add(name);
    await Promise.all([...running].map((one) => one.sendToolListChanged()));
  };
  return { config, running, add, started: started.promise };
}

const broken: MCPClientConfig = {
  transport: () => {
    throw new Error("no such thing");
  },
  restart: false,
};

describe("load", () => {
  test("keeps the order of the configuration, whichever server is connected first", async () => {
    const first = deferred();
    const registry = new OperationRegistry();
    const loading = loader.load({
      slow: server(["b", "a"], { before: first.promise }).config,
      fast: server(["c"]).config,
    });
    await vi.waitFor(() => expect(loader.getClient("fast")).toBeDefined());
    first.resolve();
    await loading;
    await loader.registerAll(registry);

    expect(loader.getAllWrappers().map(({ name }) => name)).toEqual(["slow", "fast"]);
    expect(registry.list().map(({ namespace, name }) => `${namespace}.${name}`)).toEqual([
      "slow.b",
      "slow.a",
      "fast.c",
    ]);
  });

  test("of many servers prints no warning about listeners", async () => {
    const warnings: Error[] = [];
    const listener = (warning: Error) => warnings.push(warning);
    process.on("warning", listener);
    const servers = Array.from({ length: 30 }, (_, index) => [`s${index}`, server(["one"]).config] as const);

    const wrappers = await loader.load(Object.fromEntries(servers));
    await new Promise(setImmediate); // warnings are emitted on a later turn

    process.off("warning", listener);
    expect(wrappers).toHaveLength(30);
    expect(warnings).toEqual([]);
  });

  test("returns the connected servers in order, and reports the others", async () => {
    const wrappers = await loader.load({ a: server(["one"]).config, b: broken, c: server(["two", "three"]).config });

    expect(wrappers.map(({ name }) => name)).toEqual(["a", "c"]);
    expect(loader.getAllWrappers()).toEqual(wrappers);
    expect(loader.getClient("a")).toBe(wrappers[0]);
    expect(loader.getClient("b")).toBe(undefined);
    expect(loader.getAllOperations().map(({ namespace, name }) => `${namespace}.${name}`)).toEqual([
      "a.one",
      "c.two",
      "c.three",
    ]);
    expect(loader.getStates()).toMatchObject({
      a: { status: "ready", server: { name: "test", version: "1.0.0" } },
      b: { status: "failed", error: { name: "CallError", mayHaveRun: false }, stderr: [], restarts: 0 },
      c: { status: "ready" },
    });
  });

  test("starts all servers before it waits for one", async () => {
    const gate = deferred();
    const servers = [1, 2, 3, 4].map(() => server(["tool"], { before: gate.promise }));

    const loading = loader.load(Object.fromEntries(servers.map(({ config }, index) => [`s${index}`, config])));
    await Promise.all(servers.map(({ started }) => started));
    gate.resolve();

    expect((await loading).map(({ name }) => name)).toEqual(["s0", "s1", "s2", "s3"]);
  });

  test("reports the last lines of a program that failed", async () => {
    const args = ["-e", "console.error('no licence'); process.exit(1)"];

    await loader.load({ a: { command: process.execPath, args, restart: false } });

    expect(loader.getStates()).toMatchObject({ a: { status: "failed", stderr: ["no licence"] } });
  });

  test("connects to a server again that failed before", async () => {
    await loader.load({ a: broken });
    await loader.load({ a: server(["one"]).config });

    expect(loader.getStates()).toMatchObject({ a: { status: "ready" } });
  });

  test("connects to a server again whose wrapper was closed", async () => {
    const [first] = await loader.load({ a: server(["one"]).config });
    await first!.close();
    expect(loader.getStates()).toMatchObject({ a: { status: "closed" } });

    const [second] = await loader.load({ a: server(["two"]).config });

    expect(loader.getAllWrappers()).toEqual([second]);
    expect(loader.getAllOperations().map(({ name }) => name)).toEqual(["two"]);
  });

  test("refuses a second server with the same namespace", async () => {
    const wrappers = await loader.load({ "a.b": server(["one"]).config, a_b: server(["two"]).config });
    const again = await loader.load({ "a.b": server(["three"]).config });

    expect(wrappers.map(({ name, namespace }) => [name, namespace])).toEqual([["a.b", "a_b"]]);
    expect(again).toEqual([]);
    expect(loader.getAllOperations().map(({ name }) => name)).toEqual(["one"]);
    expect(loader.getStates()).toMatchObject({
      "a.b": { status: "ready" },
      a_b: { status: "failed", error: { code: "VALIDATION_ERROR" } },
    });
  });
});

describe("registerAll", () => {
  test("follows every server, also those that are loaded later", async () => {
    const registry = new OperationRegistry();
    const first = server(["one"]);
    await loader.load({ a: first.config });
    await loader.registerAll(registry);
    await loader.load({ b: server(["two"]).config });
    const added = new Promise((resolve) => registry.on("change", ({ operationId }) => resolve(operationId)));
    await first.add("three");

    expect(await added).toBe("a.three");
    expect(registry.list().map(({ namespace, name }) => `${namespace}.${name}`)).toEqual(["a.one", "b.two", "a.three"]);
    expect((await registry.execute("a.three", {})).data).toEqual([{ type: "text", text: "three" }]);
  });

  test("a closing registry closes the servers", async () => {
    const registry = new OperationRegistry();
    const { config, running } = server(["one"]);
    await loader.load({ a: config });
    await loader.registerAll(registry);
    expect(running.size).toBe(1);

    await registry.close();

    expect(running.size).toBe(0);
    expect(registry.list()).toEqual([]);
  });

  test("ignores a registry that was closed", async () => {
    const registry = new OperationRegistry();
    await loader.registerAll(registry);
    await registry.close();

    const wrappers = await loader.load({ a: server(["one"]).config });

    expect(wrappers.map(({ state }) => state.status)).toEqual(["ready"]);
    expect(registry.list()).toEqual([]);
  });

  test("applies the changes of a pinned server when they are approved", async () => {
    const registry = new OperationRegistry();
    const { config, add } = server(["one"]);
    await loader.load({ a: { ...config, pinned: true } });
    await loader.registerAll(registry);
    await add("two");
    await expect.poll(() => loader.getClient("a")?.held.map(({ operationId }) => operationId)).toEqual(["a.two"]);
    expect(registry.has("a.two")).toBe(false);

    loader.getClient("a")?.approve("a.two");

    expect(registry.has("a.two")).toBe(true);
  });
});

describe("closeAll", () => {
  test("closes servers that are connected and those that are being connected", async () => {
    const gate = deferred();
    const [ready, slow] = [server(["one"]), server(["two"], { before: gate.promise })];
    await loader.load({ a: ready.config });
    const loading = loader.load({ b: slow.config });
    await slow.started;

    const closing = loader.closeAll();
    gate.resolve();
    await closing;

    expect(await loading).toEqual([]);
    expect([ready.running.size, slow.running.size]).toEqual([0, 0]);
    expect(loader.getStates()).toEqual({});
    expect((await loader.load({ a: server(["one"]).config })).map(({ name }) => name)).toEqual(["a"]);
  });
});
