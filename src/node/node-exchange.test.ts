import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { deferred, until } from "../internal/testing.ts";
import type { Exchange } from "../serve/exchange.ts";
import type { FetchServer } from "../serve/server.ts";
import type { UpgradeHandler } from "../serve/upgrade.ts";
import { listen } from "./listen.ts";
import { createDescribingServer, sendRaw } from "./testing.ts";

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Listens with a server that handles exchanges, and returns the port. */
async function serve(handle: FetchServer["handle"], others: Record<string, UpgradeHandler> = {}): Promise<number> {
  const listener = await listen({ "/": createDescribingServer("root", { handle }), ...others }, { closeTimeout: 0 });
  closing.push(() => listener.close());
  return listener.port;
}

const request = (path: string, ...lines: string[]) =>
  `${[`GET ${path} HTTP/1.1`, "Host: localhost", ...lines].join("\r\n")}\r\n\r\n`;

const handshake = (protocol: string, ...lines: string[]) =>
  request("/calls", "Connection: Upgrade", `Upgrade: ${protocol}`, ...lines);

/** A server of connections that replies to a handshake and ends. */
const sockets: UpgradeHandler = {
  upgrade: (_request, socket) => void socket.end("HTTP/1.1 101 Switching Protocols\r\n\r\n"),
  isUnauthenticated: false,
  close: async () => {},
  [Symbol.asyncDispose]: async () => {},
};

test("an exchange describes its request, as an exchange of a Request does", async () => {
  const described = deferred<unknown>();
  const port = await serve(async (exchange) => {
    const { method, url, path, query, headers, remoteAddress, allowPublic } = exchange;
    const names = ["X-One", "x-two", "Cookie", "x-missing"];
    const sent = names.map((name) => [headers.get(name), headers.has(name)]);
    const same = names.map((name) => exchange.toRequest().headers.get(name));
    const body = new TextDecoder().decode(await exchange.bytes(100));
    described.resolve({ method, url, path, query, sent, same, remoteAddress, allowPublic, body });
    exchange.reply(200, {}, "done");
  });
  const body = Buffer.from("\ufeffGrüße").toString("latin1");

  const { received } = sendRaw(
    port,
    [
      "PUT /a/../b%2F/%2e?x=1&y=%20 HTTP/1.1",
      "Host: localhost",
      "x-one:  1 ",
      "x-two: 2",
      "X-Two: 3",
      "Cookie: a=1",
      "cookie: b=2",
      `Content-Length: ${body.length}`,
      "Connection: close",
      "",
      body,
    ].join("\r\n"),
  );

  expect(await received).toMatch(/^HTTP\/1.1 200 OK\r\ncontent-length: 4\r\n[\s\S]*\r\n\r\ndone$/);
  expect(await described.promise).toEqual({
    method: "PUT",
    url: "http://localhost/b%2F/?x=1&y=%20",
    path: "/b%2F/",
    query: "x=1&y=%20",
    sent: [
      ["1", true],
      ["2, 3", true],
      ["a=1; b=2", true],
      [null, false],
    ],
    same: ["1", "2, 3", "a=1; b=2", null],
    remoteAddress: "127.0.0.1",
    allowPublic: false,
    body: "Grüße",
  });
});

test.each([
  ["GET", 200, "text", "content-length: 4", "text"],
  ["GET", 200, undefined, "content-length: 0", ""],
  ["GET", 200, "ü".repeat(100_000), "content-length: 200000", Buffer.from("ü".repeat(100_000)).toString("latin1")],
  ["HEAD", 200, "text", "content-length: 4", ""],
  ["HEAD", 200, "x".repeat(100_000), "content-length: 100000", ""],
])("%s: a reply with status %d is written with its length", async (method, status, body, header, expected) => {
  const port = await serve((exchange) => exchange.reply(status, { "x-one": "1" }, body));

  const { received } = sendRaw(port, request("/", "Connection: close").replace("GET", method));

  const [head, ...rest] = (await received).split("\r\n\r\n");
  expect(head).toContain(`HTTP/1.1 ${status} OK\r\nx-one: 1\r\n${header}\r\n`);
  expect(rest.join("\r\n\r\n")).toBe(expected);
});

test.each([204, 304])("a reply with status %d has neither a body nor a length", async (status) => {
  const port = await serve((exchange) => exchange.reply(status, {}));

  expect(await sendRaw(port, request("/", "Connection: close")).received).not.toMatch(/length|chunked/i);
});

test("the next request of a connection is handled when the response to the one before is written", async () => {
  const handled: string[] = [];
  const first = deferred<Exchange>();
  const port = await serve((exchange) => {
    handled.push(exchange.path);
    if (exchange.path === "/1") first.resolve(exchange);
    else exchange.reply(200, {}, exchange.path);
  });
  const { received } = sendRaw(port, request("/1") + request("/2") + request("/3", "Connection: close"));
  const exchange = await first.promise;
  await fetch(`http://127.0.0.1:${port}/other`);

  expect(handled).toEqual(["/1", "/other"]);
  exchange.reply(200, {}, "/1");

  expect((await received).match(/^\/\d/gm)).toEqual(["/1", "/2", "/3"]);
});

test("requests that wait for a connection that ends are never handled", async () => {
  const handled: string[] = [];
  const closed = deferred();
  const port = await serve((exchange) => {
    handled.push(exchange.path);
    exchange.onClose(() => closed.resolve());
  });
  const { socket } = sendRaw(port, request("/1") + request("/2"));
  await until(async () => handled.length > 0);

  socket.destroy();
  await closed.promise;
  await new Promise((resolve) => setImmediate(resolve));

  expect(handled).toEqual(["/1"]);
});

test.each(["websocket", "h2c"])("an upgrade to %s waits for the response before it", async (protocol) => {
  const first = deferred<Exchange>();
  const upgrade = vi.fn(sockets.upgrade);
  const handle = (exchange: Exchange) => {
    if (exchange.path === "/slow") first.resolve(exchange);
    else exchange.reply(200, {}, "not upgraded");
  };
  const port = await serve(handle, { "/calls": { ...sockets, upgrade } });
  const { received } = sendRaw(port, request("/slow") + handshake(protocol) + request("/end", "Connection: close"));
  const exchange = await first.promise;
  await fetch(`http://127.0.0.1:${port}/other`);

  expect(upgrade).not.toHaveBeenCalled();
  exchange.reply(200, {}, "slow");

  const lines = (await received).match(/HTTP\/1.1 \d+|slow|not upgraded/g);
  const rest = ["HTTP/1.1 200", "not upgraded"];
  expect(lines).toEqual(["HTTP/1.1 200", "slow", ...(protocol === "h2c" ? [...rest, ...rest] : ["HTTP/1.1 101"])]);
});

test("a malformed handshake is refused, as a malformed request is", async () => {
  const port = await serve((exchange) => exchange.reply(200, {}), { "/calls": sockets });
  const many = Array.from({ length: 201 }, (_, index) => `X-${index}: 1`);

  for (const [lines, status] of [
    [["Host: evil.test"], 400],
    [many, 431],
  ] as const) {
    const reply = await sendRaw(port, handshake("websocket", ...lines)).received;
    expect(reply).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  }
});

test("a client that expects 100 Continue receives it when the server reads the body", async () => {
  const port = await serve(async (exchange) => {
    if (!exchange.headers.has("authorization")) return exchange.reply(401, {});
    const body = await exchange.bytes(10).catch((error) => exchange.reply(error.status, {}));
    if (body) exchange.reply(200, {}, body);
  });
  const send = (...lines: string[]) =>
    sendRaw(port, request("/", "Expect: 100-continue", ...lines).replace("GET", "POST"));

  expect(await send("Content-Length: 5").received).toMatch(/^HTTP\/1.1 401 .*\r\n(?=[\s\S]*connection: close\r\n)/i);
  expect(await send("Content-Length: 11", "Authorization: a").received).toMatch(/^HTTP\/1.1 413 /);
  const accepted = send("Content-Length: 5", "Authorization: a", "Connection: close");
  await once(accepted.socket, "data");
  accepted.socket.write("hello");
  expect(await accepted.received).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK\r\n[\s\S]*\r\n\r\nhello$/);
});

test("a body above the limit is 413, and a client that leaves in the middle of it is ABORTED", async () => {
  const failures: unknown[] = [];
  const port = await serve(async (exchange) => {
    const body = await exchange.bytes(4).catch((error: unknown) => void failures.push(error));
    exchange.reply(body === undefined ? 413 : 200, {}, body ?? null);
  });
  const post = (...lines: string[]) => request("/", ...lines).replace("GET", "POST");

  const chunked = sendRaw(port, `${post("Transfer-Encoding: chunked", "Connection: close")}5\r\nhello\r\n0\r\n\r\n`);
  expect(await chunked.received).toMatch(/^HTTP\/1.1 413 /);
  const { socket } = sendRaw(port, `${post("Content-Length: 4")}he`);
  await until(async () => {
    socket.destroySoon();
    return failures.length === 2;
  });

  expect(failures).toMatchObject([{ status: 413, error: { code: "PAYLOAD_TOO_LARGE" } }, { code: "ABORTED" }]);
});

test("a client that reads nothing of a response for 30 seconds is disconnected", async () => {
  const closed = deferred();
  const port = await serve((exchange) => {
    exchange.onClose(() => closed.resolve());
    exchange.reply(200, {}, new Uint8Array(20_000_000));
  });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  closing.push(() => vi.useRealTimers());
  const socket = connect(port, "127.0.0.1").pause();
  socket.on("error", () => {}).write(request("/"));
  closing.push(() => socket.destroy());
  let isClosed = false;
  void closed.promise.then(() => {
    isClosed = true;
  });

  // The first 30 seconds may begin before the system has taken its part of the response.
  for (let turn = 0; turn < 1_000 && !isClosed; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    vi.advanceTimersByTime(1_000);
  }

  expect(isClosed).toBe(true);
});

test("responses that clients do not read are refused above a limit, and released with their connections", async () => {
  const result = new Uint8Array(40 * 1024 * 1024);
  const sent = new Set<Exchange>();
  const port = await serve((exchange) => {
    exchange.send(new Response(result, { headers: { "content-type": "application/json" } }));
    sent.add(exchange);
  });
  const get = async () => (await fetch(`http://127.0.0.1:${port}/`)).status;
  const open = Array.from({ length: 4 }, () => {
    const socket = connect(port, "127.0.0.1").pause();
    socket.on("error", () => {}).write(request("/"));
    return socket;
  });
  const leave = () => {
    for (const socket of open) socket.destroy();
  };
  closing.push(leave);
  await until(async () => sent.size === 4);
  expect(await get()).toBe(503);

  leave();

  await until(async () => (await get()) === 200);
});

test("a stream sends its headers, waits for its client, and reports that it has left", async () => {
  const failed = deferred<unknown>();
  const opened = deferred();
  let written = 0;
  const port = await serve((exchange) =>
    exchange.stream({ "content-type": "text/event-stream" }, async (write) => {
      await opened.promise;
      try {
        for (;;) {
          await write("x".repeat(65_536));
          written += 1;
        }
      } catch (error) {
        failed.resolve(error);
        throw error;
      }
    }),
  );
  const response = await fetch(`http://127.0.0.1:${port}/`);
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  opened.resolve();
  const reader = response.body!.getReader();
  await reader.read();

  await reader.cancel();

  expect(await failed.promise).toMatchObject({ code: "ABORTED" });
  expect(written).toBeLessThan(10_000);
});

test("a stream whose writer rejects ends without its last chunk", async () => {
  const port = await serve((exchange) =>
    exchange.stream({}, async (write) => {
      await write("a");
      await new Promise((resolve) => setImmediate(resolve));
      throw new Error("lost");
    }),
  );

  await expect(fetch(`http://127.0.0.1:${port}/`).then((response) => response.text())).rejects.toThrow("terminated");
});

test("the responses of servers that return one are sent as they are", async () => {
  const port = await serve((exchange) => {
    const headers = new Headers({ "content-type": exchange.path === "/json" ? "application/json" : "text/plain" });
    headers.append("set-cookie", "a=1");
    headers.append("set-cookie", "b=2");
    exchange.send(new Response("{}", { status: 202, headers }));
  });

  for (const [method, path, body] of [
    ["GET", "/json", "{}"],
    ["GET", "/text", "{}"],
    ["HEAD", "/json", ""],
    ["HEAD", "/text", ""],
  ] as const) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
    expect([response.status, response.headers.getSetCookie(), await response.text()]).toEqual([
      202,
      ["a=1", "b=2"],
      body,
    ]);
  }
});

test("a server with only fetch receives the body, and a signal that fires when its client leaves", async () => {
  const left = deferred();
  const receivedBody = deferred<string>();
  const fetchServer = createDescribingServer("fetch", {
    fetch: async (given) => {
      receivedBody.resolve(await given.text());
      given.signal.addEventListener("abort", () => left.resolve());
      await left.promise;
      return new Response();
    },
  });
  const listener = await listen({ "/": fetchServer }, { closeTimeout: 0 });
  closing.push(() => listener.close());
  const { socket } = sendRaw(listener.port, `${request("/", "Content-Length: 5").replace("GET", "POST")}hello`);
  expect(await receivedBody.promise).toBe("hello");

  socket.destroy();

  await left.promise;
});
