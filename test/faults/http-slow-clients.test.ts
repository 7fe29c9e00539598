import { afterEach, expect, test } from "vitest";
import { createRegistry, defineOperation, Type } from "../../src/index.ts";
import { deferred, until } from "../../src/internal/testing.ts";
import { type Listener, type ListenOptions, listen } from "../../src/node/index.ts";
import { sendRaw } from "../../src/node/testing.ts";
import { serveHTTP } from "../../src/serve/http/index.ts";

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** What happened to the calls of one test. */
interface Log {
  starts: number;
  aborts: number;
  ends: number;
  yielded: number;
}

async function start(options: ListenOptions = {}): Promise<{ listener: Listener; log: Log }> {
  const log: Log = { starts: 0, aborts: 0, ends: 0, yielded: 0 };
  const registry = createRegistry({
    operations: [
      defineOperation({
        namespace: "note",
        name: "put",
        type: "mutation",
        inputSchema: Type.Unknown(),
        outputSchema: Type.String(),
        handler: () => {
          log.starts += 1;
          return "stored";
        },
      }),
      defineOperation({
        namespace: "note",
        name: "wait",
        type: "query",
        inputSchema: Type.Object({}),
        outputSchema: Type.Unknown(),
        handler: async (_input, { signal }) => {
          log.starts += 1;
          const { promise, resolve } = deferred();
          signal.addEventListener("abort", () => {
            log.aborts += 1;
            resolve();
          });
          await promise;
        },
      }),
      defineOperation({
        namespace: "note",
        name: "all",
        type: "subscription",
        inputSchema: Type.Object({}),
        outputSchema: Type.String(),
        handler: async function* (_input, { signal }) {
          log.starts += 1;
          signal.addEventListener("abort", () => {
            log.aborts += 1;
          });
          try {
            for (;;) {
              log.yielded += 1;
              yield "x".repeat(10_000);
            }
          } finally {
            log.ends += 1;
          }
        },
      }),
    ],
  });
  const listener = await listen({ "/": serveHTTP(registry, { authenticate: "none" }) }, options);
  closing.push(() => listener.close());
  return { listener, log };
}

const head = "POST /note/put HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

test.each([
  ["nothing", ""],
  ["a part of the headers", "POST /note/put HTTP/1.1\r\nHost:"],
  ["a part of the body", `${head}Content-Length: 10\r\n\r\n"1234`],
  ["a part of a chunk", `${head}Transfer-Encoding: chunked\r\n\r\n5\r\n"1`],
])("a client that sends %s is disconnected with 408 after the time for requests", async (_name, request) => {
  const { listener, log } = await start({
    server: { headersTimeout: 50, requestTimeout: 100, connectionsCheckingInterval: 50 },
  });

  expect(await sendRaw(listener.port, request).received).toMatch(/^HTTP\/1.1 408 Request Timeout\r\n/);
  expect(log.starts).toBe(0);
});

test("a connection without requests is closed after the time for idle connections", async () => {
  const { listener } = await start({ server: { keepAliveTimeout: 20 } });

  const { received } = sendRaw(listener.port, get("/healthz"));

  expect(await received).toMatch(/^HTTP\/1.1 200 OK\r\n(?:.+\r\n)*Connection: keep-alive\r\n/);
});

test("connections above the limit are closed, and replaced when others end", async () => {
  const { listener } = await start({ maxConnections: 2 });
  const open = [sendRaw(listener.port, get("/healthz")), sendRaw(listener.port, get("/healthz"))];
  await Promise.all(open.map(({ socket }) => new Promise((resolve) => socket.once("data", resolve))));

  expect(await sendRaw(listener.port, get("/healthz")).received).toBe("");

  open[0]!.socket.destroy();
  const last = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  await until(async () => (await sendRaw(listener.port, last).received).startsWith("HTTP/1.1 200"));
});

test.each([
  ["the headers", "POST /note/put HTTP/1.1\r\nHost: local"],
  ["the body", `${head}Content-Length: 10\r\n\r\n"1234`],
])("a client that vanishes while it sends %s starts no call", async (_name, request) => {
  const { listener, log } = await start();
  const { socket, received } = sendRaw(listener.port, request);
  await until(() => socket.bytesWritten === request.length);

  socket.resetAndDestroy();
  await received;

  expect((await fetch(`${listener.url}/healthz`)).status).toBe(200);
  expect(log.starts).toBe(0);
});

test("a client that vanishes during a call aborts it", async () => {
  const { listener, log } = await start();
  const { socket } = sendRaw(listener.port, get("/note/wait"));
  await until(() => log.starts === 1);

  socket.resetAndDestroy();

  await until(() => log.aborts === 1);
});

test("a client that vanishes during a stream ends its handler", async () => {
  const { listener, log } = await start();
  const { socket } = sendRaw(listener.port, get("/note/all"));
  await until(() => log.yielded > 100);

  socket.resetAndDestroy();

  await until(() => log.ends === 1);
});

test("a client that vanishes aborts its call, and what it requested behind that never starts", async () => {
  const { listener, log } = await start();
  const { socket } = sendRaw(listener.port, get("/note/wait") + get("/note/wait") + get("/note/all"));
  await until(() => log.starts === 1);

  socket.resetAndDestroy();

  await until(() => log.aborts === 1);
  expect((await fetch(`${listener.url}/healthz`)).status).toBe(200);
  expect(log.starts).toBe(1);
});

test("a client with more than 100 requests behind the one that is being answered is disconnected", async () => {
  const { listener, log } = await start();
  const { received } = sendRaw(listener.port, get("/note/wait") + get("/note/wait").repeat(101));

  expect(await received).toBe("");
  await until(() => log.aborts === log.starts);
});

test("a client that does not read a stream pauses its handler, and others are served", async () => {
  const { listener, log } = await start({ closeTimeout: 0 });
  const { socket } = sendRaw(listener.port, get("/note/all"));
  socket.pause();
  let yielded = -1;
  await until(async () => {
    const isPaused = log.yielded > 0 && log.yielded === yielded;
    yielded = log.yielded;
    expect((await fetch(`${listener.url}/note/put`, { method: "POST" })).status).toBe(200);
    return isPaused;
  });

  expect(log.yielded * 10_000).toBeLessThan(32 * 1024 * 1024); // The buffers of both sockets hold several MB.
  socket.resume();
  await until(() => log.yielded > yielded);
  socket.destroy();
  await until(() => log.ends === 1);
});
