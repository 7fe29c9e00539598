import { once } from "node:events";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { afterEach, expect, test } from "vitest";
import { deferred, until } from "../internal/testing.ts";
import type { FetchServer } from "../serve/server.ts";
import type { UpgradeHandler } from "../serve/upgrade.ts";
import { type Listener, type ListenOptions, listen } from "./listen.ts";
import { createDescribingServer, sendRaw } from "./testing.ts";

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function start(
  servers: Record<string, FetchServer | UpgradeHandler>,
  options: ListenOptions = {},
): Promise<Listener> {
  const listener = await listen(servers, options);
  closing.push(() => listener.close());
  return listener;
}

async function read(response: Response): Promise<{ status: number; body: unknown }> {
  return { status: response.status, body: await response.json() };
}

test("listens on a free port of this machine unless a port is passed", async () => {
  const listener = await start({ "/": createDescribingServer("root") });

  const response = await fetch(`${listener.url}/a?b=c`, { method: "POST", body: "hello" });

  expect(listener.url).toBe(`http://127.0.0.1:${listener.port}`);
  expect(await read(response)).toEqual({
    status: 200,
    body: {
      name: "root",
      method: "POST",
      url: "/a?b=c",
      body: "hello",
      remoteAddress: "127.0.0.1",
      allowPublic: false,
    },
  });
});

test.each([
  ["/", "root", undefined],
  ["/mcps", "root", undefined],
  ["/mcp", "mcp", "/mcp"],
  ["/mcp?x=1", "mcp", "/mcp"],
  ["/mcp/", "mcp", "/mcp"],
  ["/mcp/tools", "mcp", "/mcp"],
  ["/mcp/v2/tools", "v2", "/mcp/v2"],
  ["/x/../mcp", "mcp", "/mcp"],
])("the server with the longest path handles %s", async (path, name, basePath) => {
  const listener = await start({
    "/mcp": createDescribingServer("mcp"),
    "/": createDescribingServer("root"),
    "/mcp/v2/": createDescribingServer("v2"),
  });

  const { received } = sendRaw(listener.port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);

  expect(await received).toContain(`{"name":"${name}",`);
  expect(await received).toContain(basePath === undefined ? '"body":"","remoteAddress"' : `"basePath":"${basePath}"`);
});

test("a path without a server is 404", async () => {
  const listener = await start({ "/api": createDescribingServer("api") });

  expect(await read(await fetch(listener.url))).toEqual({
    status: 404,
    body: { title: "Not Found", status: 404, detail: "No HTTP server is mounted at this path." },
  });
});

test("offers requests to /.well-known/ to every server before they are routed", async () => {
  const listener = await start({
    "/": createDescribingServer("root"),
    "/mcp": createDescribingServer("mcp", {
      wellKnown: (request, info) =>
        request.url.endsWith("/oauth") ? Response.json({ basePath: info?.basePath }) : undefined,
    }),
  });

  expect(await (await fetch(`${listener.url}/.well-known/oauth`)).json()).toEqual({ basePath: "/mcp" });
  expect(await (await fetch(`${listener.url}/.well-known/other`)).json()).toMatchObject({ name: "root" });
});

test.each([
  ["api", '"api" must be the path of a URL, such as "/api"'],
  ["/a/../b", '"/a/../b" must be the path of a URL, such as "/api"'],
  ["/a?b", '"/a?b" must be the path of a URL, such as "/api"'],
  ["/b/", '"/b" is used twice'],
])("refuses to mount a server at %s", async (path, problem) => {
  const started = listen({ "/b": createDescribingServer("b"), [path]: createDescribingServer("invalid") });

  await expect(started).rejects.toMatchObject({
    code: "VALIDATION_ERROR",
    details: { errors: [{ path: `/${path}`, message: problem }] },
  });
});

test("refuses to listen without a server", async () => {
  for (const servers of [{}, undefined]) {
    await expect(listen(servers as never)).rejects.toThrow("Invalid servers of listen(): at least one is required.");
  }
});

test("a port that is in use is an error that names it", async () => {
  const first = await start({ "/": createDescribingServer("first") });

  const second = listen({ "/": createDescribingServer("second") }, { port: first.port });

  await expect(second).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: `Port ${first.port} of 127.0.0.1 is in use. Stop the program that uses it, or pass another port; 0 selects a free one.`,
    details: { host: "127.0.0.1", port: first.port, code: "EADDRINUSE" },
    mayHaveRun: false,
  });
});

test("an address of another machine is an error that names it", async () => {
  const listener = listen({ "/": createDescribingServer("root") }, { host: "192.0.2.1" });

  await expect(listener).rejects.toThrow(
    "Cannot listen on port 0 of 192.0.2.1: EADDRNOTAVAIL. Pass an address of this machine and a port that this user may use.",
  );
});

test("refuses to serve without authentication on other addresses, unless the operator allows it", async () => {
  const servers = {
    "/": createDescribingServer("root"),
    "/open": createDescribingServer("open", { isUnauthenticated: true }),
  };

  await expect(listen(servers, { host: "0.0.0.0" })).rejects.toThrow(
    'The server at "/open" has no authentication, so it may not listen on "0.0.0.0". ' +
      "Pass authenticate to the server, or the host 127.0.0.1, or allowPublic: true to let everyone call its operations.",
  );

  const listener = await start(servers, { host: "0.0.0.0", allowPublic: true });
  const response = await fetch(`http://127.0.0.1:${listener.port}/open`);
  expect(await response.json()).toMatchObject({ name: "open", allowPublic: true });
});

test("reports health, and readiness as the function decides", async () => {
  let isReady: unknown = false;
  const health = (): boolean => {
    if (isReady === "throws") throw new Error("database is gone");
    return isReady as boolean;
  };
  const listener = await start({ "/": createDescribingServer("root") }, { health });
  const ready = async () => (await fetch(`${listener.url}/readyz`)).status;

  expect((await fetch(`${listener.url}/healthz`)).status).toBe(200);
  expect(await ready()).toBe(503);
  isReady = "throws";
  expect(await ready()).toBe(503);
  isReady = { database: false }; // For example, JavaScript that returns a report.
  expect(await ready()).toBe(503);
  isReady = true;
  expect(await ready()).toBe(200);
  expect((await fetch(`${listener.url}/readyz`, { method: "POST" })).status).toBe(405);
});

test("is not ready while it is closing", async () => {
  const { promise: finished, resolve: finish } = deferred();
  const { readable, writable } = new TransformStream();
  const writer = writable.getWriter();
  const server = createDescribingServer("root", { fetch: () => new Response(readable), close: () => finished });
  const listener = await start({ "/": server });
  const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  const { socket, received } = sendRaw(listener.port, request("/stream") + request("/readyz"));
  void writer.write(new TextEncoder().encode("started"));
  await once(socket, "data");

  const closed = listener.close();
  await writer.close(); // The second request is handled when the response to the first is written.
  finish();
  await closed;

  expect((await received).match(/HTTP.1.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 503"]);
});

test("close() lets a running call finish", async () => {
  const { promise: finished, resolve: finish } = deferred();
  let started = 0;
  const server = createDescribingServer("slow", {
    fetch: async () => {
      started += 1;
      await finished;
      return new Response("done");
    },
    close: () => finished,
  });
  const listener = await start({ "/": server });
  const keepAlive = connect(listener.port, "127.0.0.1");
  let received = "";
  keepAlive.setEncoding("latin1").on("data", (chunk: string) => {
    received += chunk;
  });
  keepAlive.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const response = fetch(`${listener.url}/slow`);
  await until(async () => started === 2 && received.includes("ok\n"));

  const closed = listener.close();
  finish();
  await closed;

  expect(await (await response).text()).toBe("done");
  await once(keepAlive, "close");
  expect(received).toMatch(/\r\nconnection: close\r\n(?:.+\r\n)*\r\n4\r\ndone\r\n0\r\n\r\n$/i);
  await expect(fetch(listener.url)).rejects.toThrow("fetch failed");
});

test("routes WebSocket handshakes to the server of their path, and refuses others", async () => {
  const upgrades: unknown[] = [];
  const sockets: UpgradeHandler = {
    upgrade: ({ url }, socket, _head, info) => {
      upgrades.push({ url, basePath: info?.basePath, remoteAddress: info?.remoteAddress });
      socket.end("HTTP/1.1 101 Switching Protocols\r\n\r\n");
    },
    isUnauthenticated: false,
    close: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
  const listener = await start({ "/": createDescribingServer("root"), "/calls": sockets });
  const handshake = (path: string) =>
    sendRaw(
      listener.port,
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    ).received;

  expect(await handshake("/calls?x=1")).toBe("HTTP/1.1 101 Switching Protocols\r\n\r\n");
  expect(await handshake("/other")).toBe(
    "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\nContent-Length: 13\r\n\r\nNo such path.",
  );
  expect(upgrades).toEqual([{ url: "/calls?x=1", basePath: "/calls", remoteAddress: "127.0.0.1" }]);
  expect(await (await fetch(`${listener.url}/calls`)).json()).toMatchObject({ name: "root" });
});

test("an upgrade that a server fails to handle is refused with 500, and the process continues", async () => {
  const toSockets = (upgrade: UpgradeHandler["upgrade"]): UpgradeHandler => ({
    upgrade,
    isUnauthenticated: false,
    close: async () => {},
    [Symbol.asyncDispose]: async () => {},
  });
  const pending = deferred<Duplex>();
  const { port } = await start({
    "/throws": toSockets(() => {
      throw new Error("secret");
    }),
    "/rejects": toSockets(async () => {
      throw new Error("secret");
    }),
    "/waits": toSockets((_request, socket) => pending.resolve(socket)),
    "/": createDescribingServer("root"),
  });
  const handshake = (path: string) =>
    sendRaw(port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);

  for (const path of ["/throws", "/rejects"]) {
    expect(await handshake(path).received).toMatch(
      /^HTTP\/1\.1 500 Internal Server Error\r\n[\s\S]*\r\n\r\nThe server failed to handle the request\.$/,
    );
  }
  const { socket } = handshake("/waits");
  const served = await pending.promise;
  const closed = new Promise((resolve) => served.once("close", resolve));
  socket.resetAndDestroy();
  await closed;
  expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(200);
});

test("refuses values that are not servers", async () => {
  for (const value of [undefined, {}, () => {}]) {
    await expect(listen({ "/api": value as unknown as FetchServer })).rejects.toThrow(
      'Invalid servers of listen(): the value of "/api" must be a server, such as the result of serveHTTP().',
    );
  }
});

test("refuses invalid times and sizes", async () => {
  const servers = { "/": createDescribingServer("root") };

  for (const options of [{ closeTimeout: -1 }, { maxConnections: 0.5 }, { port: 65_536 }]) {
    await expect(listen(servers, options)).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
  }
  await expect(listen(servers, { server: { requestTimeout: -1 } })).rejects.toMatchObject({ code: "ERR_OUT_OF_RANGE" });
});

test("one address cannot have most of the connections", async () => {
  const listener = await start({ "/": createDescribingServer("root") }, { maxConnections: 10 });
  const request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const open = Array.from({ length: 6 }, () => sendRaw(listener.port, request).socket);
  await Promise.all(open.map((socket) => once(socket, "data")));

  expect(await sendRaw(listener.port, request).received).toBe("");

  open[0]!.destroy();
  const last = request.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
  await until(async () => (await sendRaw(listener.port, last).received).startsWith("HTTP/1.1 200"));
});

test("rejects if a server can never serve anyone, without listening", async () => {
  const missing = new Error("The package x is required and is not installed. Install it: npm install x");
  const unready = createDescribingServer("root", { ready: () => Promise.reject(missing) });

  await expect(listen({ "/": unready })).rejects.toBe(missing);
});

test("ignores upgrades to other protocols, with their body and the next request of the connection", async () => {
  const sockets = { upgrade: () => {}, isUnauthenticated: false, close: async () => {} };
  const listener = await start({
    "/": createDescribingServer("root"),
    "/calls": { ...sockets, [Symbol.asyncDispose]: sockets.close },
  });

  const { received } = sendRaw(
    listener.port,
    "POST /a HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n" +
      "Content-Length: 5\r\n\r\nhelloGET /b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
  );

  expect((await received).match(/"method":"\w+","url":"[^"]+","body":"\w*"/g)).toEqual([
    '"method":"POST","url":"/a","body":"hello"',
    '"method":"GET","url":"/b","body":""',
  ]);
});

test("a second Host header and a URL of another host are refused before the server", async () => {
  const listener = await start({ "/": createDescribingServer("root") });
  const send = async (head: string) => {
    const reply = await sendRaw(listener.port, `${head}\r\nConnection: close\r\n\r\n`).received;
    return reply.split("\r\n\r\n")[1];
  };

  expect(await send("GET / HTTP/1.1\r\nHost: localhost\r\nHOST: evil.test")).toBe(
    '{"title":"Bad Request","status":400,"detail":"The request has more than one Host header."}',
  );
  expect(await send("GET http://evil.test/ HTTP/1.1\r\nHost: localhost")).toBe(
    '{"title":"Bad Request","status":400,"detail":"The request has a URL and a Host header of different hosts."}',
  );
  expect(await send("GET http://localhost/a HTTP/1.1\r\nHost: localhost")).toContain('"url":"/a"');
  expect(await send("GET / HTTP/1.1\r\nHost: a b")).toBe(
    '{"title":"Bad Request","status":400,"detail":"The URL or the Host header of the request is malformed."}',
  );
});

test("a server that throws responds with 500, without the message", async () => {
  const listener = await start({
    "/": createDescribingServer("root", {
      fetch: async () => {
        throw new Error("secret");
      },
    }),
  });

  expect(await read(await fetch(listener.url))).toEqual({
    status: 500,
    body: { title: "Internal Server Error", status: 500, detail: "The server failed to handle the request." },
  });
});

test("the global classes are those of Node", async () => {
  await start({ "/": createDescribingServer("root") });

  // Hono's classes extend them.
  expect([Request, Response].map((type) => Object.getPrototypeOf(type))).toEqual([
    Function.prototype,
    Function.prototype,
  ]);
});

test("close() closes every server once, with the time for calls, and reports a server that fails", async () => {
  const [first, second] = [createDescribingServer("first"), createDescribingServer("second")];
  const failing = createDescribingServer("failing", { close: () => Promise.reject(new Error("cannot close")) });
  const listener = await listen({ "/a": first, "/b": first, "/c": second, "/d": failing }, { closeTimeout: 500 });

  await expect(listener.close()).rejects.toThrow("cannot close");
  await expect(listener.close()).rejects.toThrow("cannot close");
  await listener.closed;

  expect({ first: first.closes, second: second.closes }).toEqual({
    first: [{ timeout: 500 }],
    second: [{ timeout: 500 }],
  });
});

test("close() does not wait for clients that send no request or do not read", async () => {
  const listener = await start(
    {
      "/": createDescribingServer("endless", {
        fetch: async () =>
          new Response(new ReadableStream({ pull: (stream) => stream.enqueue(new Uint8Array(65_536)) })),
      }),
    },
    { closeTimeout: 0 },
  );
  const silent = connect(listener.port, "127.0.0.1");
  const deaf = connect(listener.port, "127.0.0.1");
  deaf.on("error", () => {}).write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await Promise.all([once(silent, "connect"), once(deaf, "readable")]);

  await listener.close();

  deaf.resume();
  silent.resume();
  await Promise.all([silent, deaf].map((socket) => socket.destroyed || once(socket, "close")));
});
