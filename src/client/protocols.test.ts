import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createInProcessTransport, type Identity, InProcessBus, serveCalls } from "../index.ts";
import { listen } from "../node/index.ts";
import { serveHTTP } from "../serve/http/index.ts";
import { createWebSocketServer } from "../transport/websocket/index.ts";
import { type ConnectOptions, connect, isCallError } from "./index.ts";
import { createTaskRegistry, type TaskRegistry } from "./testing.ts";

const ada: Identity = { id: "ada", scopes: [] };

/** Serves a registry in one way, and returns what a client connects to. */
interface Protocol {
  serve(registry: TaskRegistry): Promise<Parameters<typeof connect>[0]>;
  /** Options of a client that acts on behalf of Ada. */
  readonly asAda: ConnectOptions;
}

const asAda = { token: "ada" };
const toIdentity = (token = "") => (token === asAda.token ? ada : { id: "guest", scopes: [] });

const protocols: Record<string, Protocol> = {
  "in process": {
    async serve(registry) {
      const bus = new InProcessBus();
      const served = await serveCalls(registry, createInProcessTransport(bus));
      onTestFinished(() => served.close({ timeout: 0 }));
      return createInProcessTransport(bus);
    },
    asAda: { identity: ada },
  },
  "over HTTP": {
    async serve(registry) {
      const server = serveHTTP(registry, { authenticate: ({ token }) => toIdentity(token) });
      const listener = await listen({ "/api": server }, { closeTimeout: 0 });
      onTestFinished(() => listener.close());
      return `${listener.url}/api/`;
    },
    asAda,
  },
  "over a WebSocket": {
    async serve(registry) {
      const http = createServer();
      await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
      const served = await serveCalls(
        registry,
        await createWebSocketServer({ server: http, authenticate: ({ token }) => toIdentity(token) }),
      );
      onTestFinished(async () => {
        await served.close({ timeout: 0 });
        http.closeAllConnections();
        await new Promise((resolve) => http.close(resolve));
      });
      return `ws://127.0.0.1:${(http.address() as AddressInfo).port}/`;
    },
    asAda,
  },
};

describe.each(Object.entries(protocols))("%s", (_name, protocol) => {
  async function setUp(options: ConnectOptions = {}) {
    const { registry, seen } = createTaskRegistry();
    const client = connect<TaskRegistry>(await protocol.serve(registry), { token: "guest", ...options });
    onTestFinished(() => client.close());
    return { client, seen };
  }

  test("a call returns the data, and envelope() the whole envelope", async () => {
    const { client } = await setUp();

    const data = await client.task.create({ title: "Ship it" });
    const envelope = await client.task.create.envelope({ title: "Again" });

    expect(data).toEqual({ id: 1, title: "Ship it" });
    expect(envelope).toEqual({
      data: { id: 2, title: "Again" },
      meta: { source: "local", operationId: "task.create", timestamp: expect.any(Number) },
    });
  });

  test("a declared error is thrown as a CallError that isError() recognises", async () => {
    const { client } = await setUp();

    const error = await client.task.create({ title: "taken" }).catch((reason: unknown) => reason);

    expect(isCallError(error)).toBe(true);
    expect([
      client.task.create.isError(error, "TITLE_TAKEN"),
      client.task.create.isError(error, "TIMEOUT" as never),
    ]).toEqual([true, false]);
    expect(error).toMatchObject({ code: "TITLE_TAKEN", details: { title: "taken" } });
  });

  test("the isError result of an MCP tool throws, and envelope() returns it", async () => {
    const { client } = await setUp();

    await expect(client.task.tool()).rejects.toMatchObject({ code: "EXECUTION_ERROR", message: "The disk is full." });
    expect((await client.task.tool.envelope()).data).toBe("no");
  });

  test("a subscription is an iterable of data, and leaving the loop ends its handler", async () => {
    const { client, seen } = await setUp();
    const values: number[] = [];

    for await (const change of client.task.changes()) {
      values.push(change);
      if (change === 3) break;
    }
    const envelopes: unknown[] = [];
    for await (const { data, meta } of client.task.changes.envelope({ upTo: 2 })) envelopes.push([data, meta.source]);

    expect(values).toEqual([1, 2, 3]);
    expect(envelopes).toEqual([
      [1, "local"],
      [2, "local"],
    ]);
    await vi.waitFor(() => expect(seen).toMatchObject({ started: 2, aborted: 2 }));
  });

  test("a subscription can be kept for later, awaited, disposed, and never read", async () => {
    const { client, seen } = await setUp();
    const kept = client.task.changes({ upTo: 1 });
    const later = async () => client.task.changes({ upTo: 2 });

    const awaited = await later();
    await client.task.create({ title: "between" });
    const read: number[] = [];
    for await (const change of kept) read.push(change);
    for await (const change of awaited) read.push(change);
    {
      await using disposed = client.task.changes() as AsyncIterableIterator<number> & AsyncDisposable;
      await disposed.next();
    }

    expect(read).toEqual([1, 1, 2]);
    await vi.waitFor(() => expect(seen).toMatchObject({ started: 4, aborted: 3 }));
  });

  test("a call that the program does not wait for is sent too", async () => {
    const { client, seen } = await setUp();

    const call = client.task.create({ title: "on its own" });

    await vi.waitFor(() => expect(seen.started).toBe(1));
    await call; // Otherwise the end of the test could abort it.
  });

  test("a signal aborts a call, and its handler", async () => {
    const { client, seen } = await setUp();
    const controller = new AbortController();
    const call = client.task.hang({}, { signal: controller.signal });
    call.catch(() => {});
    await vi.waitFor(() => expect(seen.started).toBe(1));

    controller.abort("enough");

    await expect(call).rejects.toMatchObject({ code: "ABORTED", mayHaveRun: true });
    await vi.waitFor(() => expect(seen.aborted).toBe(1));
  });

  test("a call fails when its time is up: its own, or that of the client", async () => {
    const { client } = await setUp({ timeout: 20 });
    const timedOut = { code: "TIMEOUT" };

    await expect(client.task.hang()).rejects.toMatchObject(timedOut);
    await expect(client.task.hang({}, { timeout: 10 })).rejects.toMatchObject(timedOut);
    await expect(client.task.hang({}, { deadline: Date.now() + 10 })).rejects.toMatchObject(timedOut);
  });

  test("the client's timeout is that of calls, not of subscriptions, which may have their own", async () => {
    const { client, seen } = await setUp({ timeout: 60_000 });

    await client.task.create({ title: "x" });
    await client.task.changes().next();
    await client.task.changes({}, { timeout: 60_000 }).next();

    expect(seen.deadlines).toEqual([expect.any(Number), undefined, expect.any(Number)]);
  });

  test.each([{ timeout: -1 }, { deadline: Number.NaN }, { signal: {} as never }, { deadline: 5_000 }])(
    "the options %j are refused, before anything is opened and afterwards",
    async (options) => {
      const { client } = await setUp();
      const refusal = { code: "VALIDATION_ERROR", mayHaveRun: false };

      await expect(client.task.create({ title: "x" }, options)).rejects.toMatchObject(refusal);
      await expect(client.task.changes({}, options).next()).rejects.toMatchObject(refusal);
      await client.task.create({ title: "opens it" });
      await expect(client.task.create({ title: "x" }, options)).rejects.toMatchObject(refusal);
      await expect(client.task.changes({}, options).next()).rejects.toMatchObject(refusal);
    },
  );

  test("a token that cannot be read fails the call, within its time", async () => {
    const failing = await setUp({ token: () => Promise.reject(new Error("signed out")) });
    const silent = await setUp({ token: () => new Promise<string>(() => {}) });

    await expect(failing.client.task.whoami()).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
    await expect(failing.client.task.changes().next()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(silent.client.task.whoami({}, { timeout: 10 })).rejects.toMatchObject({ code: "TIMEOUT" });
    expect(failing.seen.metadata).toEqual([]);
  });

  test("an operation that is not served fails with the nearest name", async () => {
    const { client } = await setUp();

    await expect(
      (client.task as never as typeof client.task & { creat(input: unknown): Promise<unknown> }).creat({}),
    ).rejects.toMatchObject({
      code: "OPERATION_NOT_FOUND",
      message: 'No operation "task.creat". Did you mean "task.create"?',
    });
  });

  test("handlers receive the trace context and the identity of the client", async () => {
    const [first, second] = ["1", "2"].map((digit) => ({
      traceparent: `00-${digit.repeat(32)}-${digit.repeat(16)}-01`,
    }));
    const { client, seen } = await setUp({ metadata: first!, ...protocol.asAda });

    const { id } = await client.task.whoami();
    await client.task.whoami({}, { metadata: second! });

    expect([id, seen.metadata]).toEqual(["ada", [first, second]]);
  });

  test("closing fails pending calls, and ends subscriptions and their handlers", async () => {
    const { client, seen } = await setUp();
    const call = client.task.hang().catch(({ code }) => code);
    const changes = client.task.changes();
    await changes.next();
    await vi.waitFor(() => expect(seen.started).toBe(2));

    await client.close();

    expect(await call).toBe("UNAVAILABLE");
    await expect(async () => {
      for await (const _ of { [Symbol.asyncIterator]: () => changes });
    }).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await vi.waitFor(() => expect(seen.aborted).toBe(2));
  });
});
