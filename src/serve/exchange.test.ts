import { expect, onTestFinished, test, vi } from "vitest";
import { deferred } from "../internal/testing.ts";
import { type Exchange, respondWith } from "./exchange.ts";
import type { FetchInfo } from "./server.ts";

/** Lets `handle` reply to a request, and returns the response. */
function respond(
  handle: (exchange: Exchange) => void | Promise<void>,
  request = new Request("http://localhost/api/x?y=1"),
  info?: FetchInfo,
): Promise<Response> {
  return respondWith(handle, request, info);
}

test("an exchange describes its request", async () => {
  const request = new Request("https://example.com/api/../api/x%2F?y=%20&z", {
    method: "POST",
    body: "hello",
    headers: { "X-One": "1" },
  });
  const described = deferred<unknown>();

  await respond(
    async (exchange) => {
      const { method, url, path, query, headers, basePath, remoteAddress, allowPublic } = exchange;
      const body = new TextDecoder().decode(await exchange.bytes(5));
      const sent = [headers.get("x-one"), headers.get("x-two"), headers.has("x-one")];
      described.resolve({ method, url, path, query, sent, basePath, remoteAddress, allowPublic, body });
      exchange.reply(204, {});
    },
    request,
    { basePath: "/api", remoteAddress: "192.0.2.1", allowPublic: true },
  );

  expect(await described.promise).toEqual({
    method: "POST",
    url: "https://example.com/api/x%2F?y=%20&z",
    path: "/api/x%2F",
    query: "y=%20&z",
    sent: ["1", null, true],
    basePath: "/api",
    remoteAddress: "192.0.2.1",
    allowPublic: true,
    body: "hello",
  });
});

test.each([
  ["GET", 200, "text", "text"],
  ["GET", 200, new Uint8Array([104, 105]), "hi"],
  ["GET", 204, undefined, ""],
  ["GET", 304, null, ""],
  ["HEAD", 200, "text", ""],
])("%s: a reply with status %d has its headers and its body", async (method, status, body, expected) => {
  const request = new Request("http://localhost/", { method });

  const response = await respond((exchange) => exchange.reply(status, { "x-one": "1" }, body), request);

  expect({ status: response.status, one: response.headers.get("x-one"), body: await response.text() }).toEqual({
    status,
    one: "1",
    body: expected,
  });
});

test("only the first reply is sent", async () => {
  const response = await respond((exchange) => {
    exchange.reply(200, {}, "first");
    exchange.reply(500, {}, "second");
    exchange.send(new Response("third"));
  });

  expect(await response.text()).toBe("first");
});

test("a server that throws or rejects replies with 500 without its message, which the operator sees", async () => {
  const warn = vi.spyOn(console, "warn").mockReturnValue();
  onTestFinished(() => warn.mockRestore());
  for (const fail of [
    () => {
      throw new Error("secret");
    },
    () => Promise.reject(new Error("secret")),
  ]) {
    const response = await respond(fail);

    expect({ status: response.status, body: await response.json() }).toEqual({
      status: 500,
      body: { title: "Internal Server Error", status: 500, detail: "The server failed to handle the request." },
    });
  }
  const line = expect.stringContaining("A server failed to handle a request: Error: secret");
  expect(warn.mock.calls).toEqual([[line], [line]]);
});

test("a body above the limit, and one that was read before, are refusals", async () => {
  const read = (request: Request, maxBytes: number) =>
    new Promise((resolve) => {
      void respond((exchange) => exchange.bytes(maxBytes).then(resolve, resolve) as Promise<void>, request);
    });
  const create = () => new Request("http://localhost/", { method: "POST", body: "hello" });
  const used = create();
  await used.text();

  expect(await read(create(), 4)).toMatchObject({ status: 413, error: { code: "PAYLOAD_TOO_LARGE" } });
  expect(await read(used, 5)).toMatchObject({ status: 500, error: { code: "EXECUTION_ERROR" } });
  expect(await read(new Request("http://localhost/"), 0)).toEqual(new Uint8Array());
});

test("a stream sends what is written in one turn together, and ends", async () => {
  const response = await respond((exchange) =>
    exchange.stream({ "content-type": "text/plain" }, async (write) => {
      await write("a");
      await write("b");
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
      await write("c");
    }),
  );

  const chunks: string[] = [];
  for await (const chunk of response.body!) chunks.push(new TextDecoder().decode(chunk));
  expect({ status: response.status, type: response.headers.get("content-type"), chunks }).toEqual({
    status: 200,
    type: "text/plain",
    chunks: ["ab", "c"],
  });
});

test("a stream waits for a client that does not read", async () => {
  let written = 0;
  const part = "x".repeat(1_024);
  const response = await respond((exchange) =>
    exchange.stream({}, async (write) => {
      for (; written < 10_000; written += 1) await write(part);
    }),
  );
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  const ahead = written;

  expect(ahead).toBeLessThan(300);
  expect((await response.text()).length).toBe(10_000 * 1_024);
});

test("write() rejects and onClose() reports when the client cancels the body or the request", async () => {
  const abort = new AbortController();
  for (const leave of [
    (response: Response) => response.body!.cancel(),
    (response: Response) => {
      abort.abort();
      return response.body!.cancel();
    },
  ]) {
    const closed = deferred<number>();
    const failed = deferred<boolean>();
    let count = 0;
    const handle = (exchange: Exchange) => {
      exchange.onClose(() => {
        count += 1;
        exchange.onClose(() => closed.resolve(count));
      });
      exchange.stream({}, async (write) => {
        for (;;) {
          await write("x".repeat(65_536)).catch((error) => {
            failed.resolve(true);
            throw error;
          });
        }
      });
    };
    const response = await respond(handle, new Request("http://localhost/", { signal: abort.signal }));

    await leave(response);

    expect([await closed.promise, await failed.promise]).toEqual([1, true]);
  }
});

test("a stream whose writer rejects breaks off", async () => {
  const response = await respond((exchange) =>
    exchange.stream({}, async (write) => {
      await write("a");
      throw new Error("lost");
    }),
  );

  await expect(response.text()).rejects.toThrow("lost");
});

test("an idle stream sends heartbeats, and a stream to a HEAD request has no body", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const { promise: ended, resolve: end } = deferred();
    const run = () => ended;
    const heartbeat = { text: ":\n\n", everyMs: 15_000 };
    const response = await respond((exchange) => exchange.stream({}, run, heartbeat));
    const reader = response.body!.getReader();
    const first = reader.read();
    await new Promise((resolve) => setImmediate(resolve));
    vi.advanceTimersByTime(15_000);

    expect(new TextDecoder().decode((await first).value)).toBe(":\n\n");
    const second = reader.read();
    await new Promise((resolve) => setImmediate(resolve));
    vi.advanceTimersByTime(15_000);
    expect(new TextDecoder().decode((await second).value)).toBe(":\n\n");
    end();
    expect(await reader.read()).toEqual({ done: true, value: undefined });
    const never = () => expect.fail("A HEAD request has no body.");
    const head = await respond(
      (exchange) => exchange.stream({ "x-one": "1" }, never, heartbeat),
      new Request("http://localhost/", { method: "HEAD" }),
    );
    expect([head.headers.get("x-one"), await head.text()]).toEqual(["1", ""]);
  } finally {
    vi.useRealTimers();
  }
});

test("the request and the response of a server that needs them are passed on", async () => {
  const request = new Request("http://localhost/");
  const sent = Response.json({ a: 1 });

  const response = await respond((exchange) => {
    expect(exchange.toRequest()).toBe(request);
    exchange.send(sent);
  }, request);

  expect(response).toBe(sent);
});
