import { MessageChannel } from "node:worker_threads";
import { Type } from "typebox";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  FromOpenAPI,
  type IOperationDefinition,
  OperationRegistry,
  type OperationSpec,
  type RegistryOptions,
} from "../index.ts";
import { createInProcessTransport, InProcessBus } from "../transport/in-process/index.ts";
import type { Transport } from "../transport/transport.ts";
import { createWorkerTransport } from "../transport/worker/index.ts";
import { buildCallHandler, PendingRequestMap, peerSource } from "./index.ts";

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function define(overrides: Partial<IOperationDefinition> = {}): IOperationDefinition {
  return {
    namespace: "task",
    name: "create",
    version: "1.0.0",
    type: "mutation",
    description: "",
    inputSchema: Type.Object({ title: Type.String(), size: Type.Number({ default: 1 }) }),
    outputSchema: Type.Unknown(),
    accessControl: { requiredScopes: [] },
    handler: (input: unknown) => input,
    ...overrides,
  };
}

async function serve(registry: OperationRegistry, transport: Transport): Promise<void> {
  const callMap = new PendingRequestMap(transport);
  closing.push(() => callMap.close());
  await callMap.handle(buildCallHandler({ registry, callMap, trustedBus: true })).ready;
}

/** A worker with these operations behind a real wire, and a hub that follows it. */
async function connect(definitions: IOperationDefinition[], options?: RegistryOptions) {
  const { port1, port2 } = new MessageChannel();
  const worker = new OperationRegistry(options);
  worker.registerAll(definitions);
  const transport = createWorkerTransport(port2);
  await serve(worker, createWorkerTransport(port1));
  const announced: OperationSpec[] = [];
  transport.watchPeers((event) => {
    if (event.type === "peer.announced") announced.splice(0, announced.length, ...event.specs);
  });
  const hub = new OperationRegistry(options);
  closing.push(() => hub.close());
  await hub.follow(peerSource(transport, { trustedBus: true }));
  await vi.waitFor(() => expect(hub.list()).toHaveLength(definitions.length));
  return { worker, hub, announced };
}

const outcome = (call: Promise<{ data: unknown }>) =>
  call.then(
    ({ data }) => data,
    (error) => error.toJSON(),
  );

describe("input of a followed operation", () => {
  test.each<[string, Partial<IOperationDefinition>]>([
    ["without a rule", {}],
    ["with a customAuth", { accessControl: { requiredScopes: [], customAuth: "sizes" } }],
    [
      "with a resource that has a default",
      {
        accessControl: { requiredScopes: [], resourceType: "size", resourceAction: "use", resourceId: "/size" },
      },
    ],
  ])("may omit what has a default, %s", async (_, overrides) => {
    const sizes = vi.fn<(size: unknown) => void>();
    const { worker, hub } = await connect([define(overrides)], {
      customAuth: {
        sizes: ({ input }) => {
          sizes((input as { size: unknown }).size);
          return true;
        },
      },
    });
    const identity = { id: "ann", scopes: [], resources: { "size:1": ["use"] } };

    for (const input of [{ title: "a" }, { title: "a", size: 1 }, { size: 1 }, { title: "a", size: "x" }, undefined]) {
      const direct = await outcome(worker.execute("task.create", input, { identity }));
      expect(await outcome(hub.execute("task.create", input, { identity }))).toEqual(direct);
    }
    expect((await hub.execute("task.create", { title: "a" }, { identity })).data).toEqual({ title: "a", size: 1 });
    for (const [size] of sizes.mock.calls) expect(size).toBe(1);
  });

  test("is announced in the caller's view, where defaults are filled", async () => {
    const { announced } = await connect([define(), define({ name: "import", fillDefaults: false })]);

    expect(announced.map(({ name, inputSchema }) => [name, (inputSchema as { required?: string[] }).required])).toEqual(
      [
        ["create", ["title"]],
        ["import", ["title", "size"]],
      ],
    );
  });

  test("is validated by the worker alone, and by the hub as well where middleware reads it", async () => {
    const { port1, port2 } = new MessageChannel();
    const requests: unknown[] = [];
    const transport = createWorkerTransport(port2);
    const peer = createWorkerTransport(port1);
    closing.push(() => peer.close());
    await peer.serve(["task.create"], ({ requestId, input }, reply) => {
      requests.push(input);
      void reply({ type: "call.error", requestId, code: "SEEN", message: "", retryable: false, mayHaveRun: true });
      return () => {};
    });
    const { handler: _handler, ...spec } = define();
    await peer.announce([spec]);
    const hub = new OperationRegistry();
    closing.push(() => hub.close());
    await hub.follow(peerSource(transport));
    await vi.waitFor(() => expect(hub.has("task.create")).toBe(true));

    expect(await outcome(hub.execute("task.create", 5))).toMatchObject({ code: "SEEN" });
    hub.use((_call, next) => next());
    expect(await outcome(hub.execute("task.create", 5))).toMatchObject({ code: "VALIDATION_ERROR" });

    expect(requests).toEqual([5]);
  });
});

test("a result of the hub's middleware is wrapped, and the envelope of the worker is passed on", async () => {
  const { hub } = await connect([define()]);
  const passed = await hub.execute("task.create", { title: "a" });
  hub.use(() => "instead");

  expect(passed.data).toEqual({ title: "a", size: 1 });
  expect(await hub.execute("task.create", { title: "a" })).toMatchObject({
    data: "instead",
    meta: { source: "local" },
  });
});

describe("what is announced", () => {
  test("has no _meta in any list of operations", async () => {
    const _meta = { http: { url: "http://internal.test/" } };
    const { announced, hub } = await connect([define({ _meta })]);
    const bus = new InProcessBus();
    const server = new PendingRequestMap(createInProcessTransport(bus));
    closing.push(() => server.close());
    const { handler: _handler, ...spec } = define({ _meta });
    const byHand = Object.assign(() => () => {}, { operations: () => [spec] });
    const seen: unknown[] = [];
    createInProcessTransport(bus).watchPeers((event) => seen.push(event));

    await server.handle(byHand).ready;

    expect(announced.map((one) => "_meta" in one)).toEqual([false]);
    expect(hub.getSpec("task.create")).not.toHaveProperty("_meta");
    expect(JSON.stringify(seen)).toContain("task");
    expect(JSON.stringify(seen)).not.toContain("internal.test");
  });

  test("is not believed to have _meta", async () => {
    const bus = new InProcessBus();
    const peer = createInProcessTransport(bus);
    const { handler: _handler, ...spec } = define({ _meta: { serve: "GET /" } });
    await peer.announce([spec]);
    const hub = new OperationRegistry();
    closing.push(() => hub.close());

    await hub.follow(peerSource(createInProcessTransport(bus)));

    expect(hub.getSpec("task.create")).not.toHaveProperty("_meta");
  });
});

describe("metadata of a call from outside this process", () => {
  async function startHub(remoteHeaders?: string[]) {
    const sent: Array<Record<string, string>> = [];
    const fetch = async (_url: unknown, init?: RequestInit) => {
      sent.push({ ...(init?.headers as Record<string, string>) });
      return Response.json({});
    };
    const registry = new OperationRegistry();
    registry.registerAll(
      await FromOpenAPI(
        { openapi: "3.1.0", info: { title: "", version: "" }, paths: { "/things": { get: { operationId: "list" } } } },
        { namespace: "api", baseUrl: "https://api.test", fetch, ...(remoteHeaders && { remoteHeaders }) },
      ),
    );
    registry.register(
      define({ name: "outer", inputSchema: Type.Unknown(), handler: (_input, { env }) => env["api"]?.["list"]?.({}) }),
    );
    const bus = new InProcessBus();
    await serve(registry, createInProcessTransport(bus));
    const inner = new PendingRequestMap(createInProcessTransport(bus));
    const gateway = new OperationRegistry();
    closing.push(() => gateway.close());
    await gateway.follow(peerSource(inner));
    const channels = [new MessageChannel(), new MessageChannel()] as const;
    const maps = channels.map(({ port2 }) => new PendingRequestMap(createWorkerTransport(port2)));
    await serve(registry, createWorkerTransport(channels[0].port1));
    await serve(gateway, createWorkerTransport(channels[1].port1));
    for (const map of maps) closing.push(() => map.close());
    const headers = { "X-HTTP-Method-Override": "DELETE", "x-trace": "t1" };
    const metadata = { http: { headers, contentType: "text/evil" } };
    return { registry, gateway, remote: maps[0]!, throughGateway: maps[1]!, sent, metadata };
  }

  test("does not reach a request, not even through nested calls and in-process peers", async () => {
    const { registry, remote, throughGateway, sent, metadata } = await startHub();

    await remote.call("api.list", {}, { metadata });
    await remote.call("task.outer", {}, { metadata });
    await throughGateway.call("api.list", {}, { metadata });
    await throughGateway.call("task.outer", {}, { metadata });
    expect(sent).toEqual(Array(4).fill({ accept: expect.any(String) }));

    await registry.execute("api.list", {}, { metadata });
    expect(sent[4]).toMatchObject({ "x-http-method-override": "DELETE", "x-trace": "t1" });
  });

  test("reaches it where the operator allows the name", async () => {
    const { remote, sent, metadata } = await startHub(["X-Trace"]);

    await remote.call("task.outer", {}, { metadata });

    expect(sent).toEqual([{ accept: expect.any(String), "x-trace": "t1" }]);
  });

  test("is distinguished by context.remote", async () => {
    const { registry, gateway, remote, throughGateway } = await startHub();
    registry.register(define({ name: "where", inputSchema: Type.Unknown(), handler: (_input, { remote: is }) => is }));
    await vi.waitFor(() => expect(gateway.has("task.where")).toBe(true));

    const call = (id: string) => [
      registry.execute(id, {}),
      gateway.execute(id, {}),
      remote.call(id, {}),
      throughGateway.call(id, {}),
    ];
    const answers = await Promise.all(call("task.where"));

    expect(answers.map(({ data }) => data)).toEqual([false, false, true, true]);
  });
});

describe("the nearest name", () => {
  const rules = { accessControl: { requiredScopes: ["admin"] } };
  const message = (call: Promise<unknown>) => call.then(String, (error) => error.message);

  test("is one that the identity may call", async () => {
    const { worker, hub } = await connect([
      define({ name: "purge", ...rules }),
      define({
        name: "outer",
        inputSchema: Type.Unknown(),
        handler: (_i, context) => worker.execute("task.purgee", {}, context),
      }),
    ]);
    const admin = { id: "ann", scopes: ["admin"] };

    for (const registry of [worker, hub]) {
      expect(await message(registry.execute("task.purgee", {}))).toBe('No operation "task.purgee".');
      expect(await message(registry.execute("task.purgee", {}, { identity: admin }))).toContain('"task.purge"?');
      expect(await message(registry.client()["task"]!["purgee"]!({}))).toBe('No operation "task.purgee".');
    }
    expect(await message(worker.execute("task.outer", {}))).not.toContain("Did you mean");
  });

  test("is one that the caller may see, for remote calls", async () => {
    const bus = new InProcessBus();
    const registry = new OperationRegistry();
    registry.registerAll([define({ name: "purge", ...rules }), define({ name: "list" })]);
    await serve(registry, createInProcessTransport(bus));
    const map = new PendingRequestMap(createInProcessTransport(bus));
    const admin = { id: "ann", scopes: ["admin"] };

    expect(await message(map.call("task.purgee", {}))).toBe('No operation "task.purgee".');
    expect(await message(map.call("task.purgee", {}, { identity: admin }))).toContain('"task.purge"?');
    expect(await message(map.call("task.lists", {}))).toContain('"task.list"?');
  });
});
