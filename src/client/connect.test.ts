import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { createInProcessTransport, type Identity, InProcessBus, serveCalls } from "../index.ts";
import { deferred } from "../internal/testing.ts";
import type { Credentials } from "../serve/authenticator.ts";
import type { Transport } from "../transport/transport.ts";
import { createWebSocketServer } from "../transport/websocket/index.ts";
import { type ConnectOptions, connect } from "./index.ts";
import { createTaskRegistry, type TaskRegistry } from "./testing.ts";

/** A client and a server in one process. */
async function setUp(options: ConnectOptions = {}) {
  const bus = new InProcessBus();
  const { registry, seen } = createTaskRegistry();
  const served = await serveCalls(registry, createInProcessTransport(bus));
  const transport = createInProcessTransport(bus);
  const client = connect<TaskRegistry>(transport, options);
  onTestFinished(async () => {
    await client.close();
    await served.close({ timeout: 0 });
  });
  return { client, seen, served, transport, bus };
}

/** A WebSocket server on a free port. */
async function listen(identify?: (token: string | undefined) => Identity | undefined) {
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  const { registry, seen } = createTaskRegistry();
  const authenticate = identify && (({ token }: Credentials) => identify(token));
  const transport = await createWebSocketServer({ server: http, authenticate });
  const served = await serveCalls(registry, transport);
  const close = async () => {
    await served.close({ timeout: 0 });
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  };
  onTestFinished(close);
  return { url: `ws://127.0.0.1:${port}/`, port, transport, seen, close };
}

test.each([
  ["a string", "sesame"],
  ["a function", () => "sesame"],
  ["a promise", async () => "sesame"],
])("over a transport %s is the token of every call", async (_kind, token) => {
  const target = new EventTarget();
  const { registry } = createTaskRegistry();
  const authenticate = (given?: string) => (given === "sesame" ? { id: "ali", scopes: [] } : undefined);
  await using _served = await serveCalls(registry, target, { authenticate });
  const { createEventTargetTransport } = await import("../index.ts");
  await using client = connect<TaskRegistry>(createEventTargetTransport(target), { token });

  const { id } = await client.task.whoami();
  const { value } = await client.task.changes({ upTo: 1 }).next();

  expect([id, value]).toEqual(["ali", 1]);
});

test("no connection is opened before the first call, and closing twice is allowed", async () => {
  const requests: string[] = [];
  let closes = 0;
  const transport = {
    name: "by hand",
    request: (id: string) => {
      requests.push(id);
      return () => {};
    },
    close: async () => {
      closes += 1;
    },
  } as unknown as Transport;
  const client = connect(transport);

  await client.close();
  await client.close();

  await expect(client["task"]!["create"]!({})).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: "The client is closed. Connect again to make further calls.",
    mayHaveRun: false,
  });
  await expect(client["task"]!["changes"]!({}).next()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect([requests, closes]).toEqual([[], 0]);
});

test("closing fails pending calls, ends subscriptions, and closes the transport", async () => {
  const { client, seen, transport } = await setUp();
  const call = client.task.hang().catch(({ code }) => code);
  const changes = client.task.changes();
  await changes.next();
  await vi.waitFor(() => expect(seen.started).toBe(2));

  await client.close();

  expect(await call).toBe("UNAVAILABLE");
  await expect(async () => {
    for await (const _ of { [Symbol.asyncIterator]: () => changes });
  }).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await expect(transport.announce([])).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await vi.waitFor(() => expect(seen.aborted).toBe(2));
});

test("a client looks like an object without properties to tools, and awaiting it returns it", async () => {
  const { client, seen } = await setUp();

  const awaited = await client;

  expect([String(awaited), inspect(client.task), JSON.stringify(client), Object.keys(client)]).toEqual([
    "[client]",
    "[client.task]",
    "{}",
    [],
  ]);
  expect(client.task.create).toBe(client.task.create);
  expect((client.task as unknown as Record<string, unknown>)["then"]).toBeUndefined();
  expect(seen.started).toBe(0);
});

test.each([
  ["http://secret@host/", "The URL of an HTTP server has no credentials, query or fragment. Pass a token instead."],
  ["http://host/?token=x", "The URL of an HTTP server has no credentials, query or fragment. Pass a token instead."],
  [
    new URL("https://host/#x"),
    "The URL of an HTTP server has no credentials, query or fragment. Pass a token instead.",
  ],
  ["ftp://secret@host/", "Invalid URL. Pass an absolute URL that begins with http(s): or ws(s):, or a transport."],
  ["/calls", "Invalid URL. Pass an absolute URL that begins with http(s): or ws(s):, or a transport."],
  [{} as never, "connect() takes a URL or a transport."],
  [
    Promise.resolve() as never,
    "connect() takes a URL or a transport. You passed a promise. Await the transport first.",
  ],
])("%s is refused", (to, message) => {
  expect(() => connect(to)).toThrow(new TypeError(message));
});

test("headers of a WebSocket are refused, because browsers cannot send them", () => {
  expect(() => connect("ws://127.0.0.1/", { headers: { "X-API-Key": "key" } })).toThrow(
    new TypeError("A WebSocket cannot send headers. Pass a token instead."),
  );
});

test("a WebSocket server is called with the token of the connection", async () => {
  const { url, transport } = await listen((token) => (token === "sesame" ? { id: "ali", scopes: [] } : undefined));
  await using client = connect<TaskRegistry>(url, { token: async () => "sesame" });
  const before = transport.connections;

  const [{ id }, created] = await Promise.all([client.task.whoami(), client.task.create({ title: "x" })]);
  const values: number[] = [];
  for await (const change of client.task.changes({ upTo: 3 })) values.push(change);

  expect([before, id, created.title, values, transport.connections]).toEqual([0, "ali", "x", [1, 2, 3], 1]);
});

test("a server that refuses the connection fails the call", async () => {
  const { url } = await listen(() => undefined);
  await using client = connect<TaskRegistry>(url, { token: "other" });

  await expect(client.task.whoami()).rejects.toMatchObject({ code: "UPSTREAM_DENIED", mayHaveRun: false });
});

test("a subscription that is kept for later, and cannot connect, fails where it is read, and only there", async () => {
  const unhandled = vi.fn();
  process.on("unhandledRejection", unhandled);
  const { url, close } = await listen();
  await close();
  await using client = connect<TaskRegistry>(url);

  const kept = client.task.changes();
  await Promise.resolve(); // its call has started
  const reading = (async () => {
    for await (const change of kept) throw new Error(`received ${change}`);
  })();

  await expect(reading).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
  await new Promise(setImmediate);
  process.off("unhandledRejection", unhandled);
  expect(unhandled).not.toHaveBeenCalled();
});

test("the call after one that could not connect connects again", async () => {
  const first = await listen();
  const { url, port } = first;
  await first.close();
  await using client = connect<TaskRegistry>(url);
  const failed = await client.task.create({ title: "x" }).catch((error) => error);
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(port, "127.0.0.1", resolve));
  const served = await serveCalls(createTaskRegistry().registry, await createWebSocketServer({ server: http }));
  onTestFinished(async () => {
    await served.close({ timeout: 0 });
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });

  const created = await client.task.create({ title: "y" });

  expect(failed).toMatchObject({ code: "UNAVAILABLE", retryable: true, mayHaveRun: false });
  expect(created.title).toBe("y");
});

/** A server that accepts connections and never replies. */
async function listenSilently() {
  const http = createServer();
  const connected = deferred<void>();
  http.on("upgrade", (_request, socket) => {
    onTestFinished(() => void socket.destroy());
    connected.resolve();
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  return { url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}/`, connected: connected.promise };
}

test("connecting counts as part of a call's time, and can be aborted", async () => {
  const { url, connected } = await listenSilently();
  await using client = connect<TaskRegistry>(url);
  const controller = new AbortController();
  const aborting = client.task.create({ title: "x" }, { signal: controller.signal });
  const leaving = client.task.changes();
  const next = leaving.next();
  aborting.catch(() => {});
  await connected;

  controller.abort("enough");
  await leaving.return?.();

  await expect(client.task.create({ title: "x" }, { timeout: 10 })).rejects.toMatchObject({
    code: "TIMEOUT",
    mayHaveRun: false,
  });
  await expect(aborting).rejects.toMatchObject({ code: "ABORTED", mayHaveRun: false });
  expect(await next).toEqual({ done: true, value: undefined });
});

test("closing does not wait for a server that does not reply", async () => {
  const { url, connected } = await listenSilently();
  const client = connect<TaskRegistry>(url);
  const call = client.task.create({ title: "x" }).catch((error) => error);
  await connected;

  await client.close();

  expect(await call).toMatchObject({ code: "UNAVAILABLE", message: expect.stringContaining("The client is closed.") });
});

test.each([null, "token"])("%j is not an object with options", (options) => {
  expect(() => connect("http://127.0.0.1", options as never)).toThrow("connect() takes an object, not ");
});
