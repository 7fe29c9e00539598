import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import { WebSocket as RawSocket } from "ws";
import { PendingRequestMap } from "../../call/index.ts";
import type { OperationSpec } from "../../operation/index.ts";
import type { Credentials } from "../../serve/authenticator.ts";
import { startServer, type TestServer } from "./testing.ts";
import { createWebSocketTransport, type WebSocketTransportOptions } from "./web-socket-client.ts";
import type { WebSocketServerOptions } from "./web-socket-server.ts";

const closing: Array<() => Promise<unknown>> = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function serve(options?: WebSocketServerOptions, where?: { port?: number; host?: string }): Promise<TestServer> {
  const server = await startServer(options, where);
  closing.push(() => server.close());
  return server;
}

async function dial(url: string, options?: WebSocketTransportOptions): Promise<PendingRequestMap> {
  const calls = new PendingRequestMap(await createWebSocketTransport(url, options));
  closing.push(() => calls.close());
  return calls;
}

/** What each socket that was opened by hand has heard, from the first message on. */
const heard = new WeakMap<RawSocket, string[]>();

/** The received line that contains a string. */
function untilHeard(socket: RawSocket, text: string): Promise<string> {
  return vi.waitFor(() => {
    const line = heard.get(socket)!.find((it) => it.includes(text));
    expect(line).toBeDefined();
    return line!;
  });
}

/** Opens a socket by hand and returns it when it is open, or the HTTP status of the refusal. */
async function knock(url: string, headers: Record<string, string> = {}, protocols: string[] = []) {
  const socket = new RawSocket(url, protocols, { headers });
  const lines: string[] = [];
  heard.set(socket, lines);
  socket.on("message", (data) => lines.push(...String(data).split("\n")));
  closing.push(async () => socket.terminate());
  return new Promise<RawSocket | number>((resolve) => {
    socket.on("unexpected-response", (_request, response) => {
      resolve(response.statusCode ?? 0);
      socket.terminate();
    });
    socket.on("open", () => resolve(socket));
    socket.on("error", () => {});
  });
}

describe("calls", () => {
  test("a call returns the value of the handler unchanged", async () => {
    const server = await serve();
    const calls = await dial(server.url);

    const { data, meta } = await calls.call("test.echo", {
      when: new Date(5),
      bytes: new Uint8Array([1]),
      none: undefined,
    });

    expect(data).toStrictEqual({ when: new Date(5), bytes: new Uint8Array([1]), none: undefined });
    expect(meta).toMatchObject({ source: "local", operationId: "test.echo" });
  });

  test("a thousand concurrent calls share one connection and receive their own responses", async () => {
    const server = await serve();
    const calls = await dial(server.url);

    const answers = await Promise.all(Array.from({ length: 1_000 }, (_, n) => calls.call("test.echo", { n })));

    expect(answers.map(({ data }) => data)).toEqual(Array.from({ length: 1_000 }, (_, n) => ({ n })));
    expect(server.transport.connections).toBe(1);
  });

  test("ten thousand pending calls all settle, and one more is refused immediately", async () => {
    const server = await serve();
    const calls = await dial(server.url);

    const pending = Array.from({ length: 10_000 }, () => calls.call("test.hang", {}).catch((error) => error.code));
    const refused = calls.call("test.echo", 1);

    await expect(refused).rejects.toMatchObject({ code: "LIMIT_EXCEEDED", mayHaveRun: false });
    await vi.waitFor(() => expect(server.seen.started).toBe(10_000));
    await server.close();
    expect(new Set(await Promise.all(pending))).toEqual(new Set(["UNAVAILABLE"]));
    expect(calls.pendingCount).toBe(0);
  });

  test("a subscription yields its values in order and completes", async () => {
    const server = await serve();
    const calls = await dial(server.url);

    const values: unknown[] = [];
    for await (const { data } of calls.subscribe("test.count", { to: 500 })) values.push(data);

    expect(values).toEqual(Array.from({ length: 500 }, (_, index) => index + 1));
  });

  test("leaving a subscription ends its handler", async () => {
    const server = await serve();
    const calls = await dial(server.url);

    for await (const { data } of calls.subscribe("test.count", { to: 1_000_000 })) if (data === 3) break;

    await vi.waitFor(() => expect(server.seen.aborted).toBe(1));
  });

  test("an unknown operation fails immediately", async () => {
    const server = await serve();
    const calls = await dial(server.url);

    for (const id of ["test.nothing", "__proto__.x", "constructor", "toString"]) {
      await expect(calls.call(id, {})).rejects.toMatchObject({ code: "OPERATION_NOT_FOUND", mayHaveRun: false });
    }
  });

  test("a client that may serve operations runs the server's calls, and is announced", async () => {
    const server = await serve({ acceptOperations: true });
    const client = await createWebSocketTransport(server.url);
    closing.push(() => client.close());
    const peers: string[] = [];
    server.transport.watchPeers(({ type }) => peers.push(type));

    await client.serve(["desk.notify"], (frame, reply) => {
      const meta = { source: "local" as const, operationId: frame.operationId, timestamp: 0 };
      void reply({ type: "call.responded", requestId: frame.requestId, output: { data: frame.input, meta } });
      return () => {};
    });
    await client.announce([]);
    await vi.waitFor(() => expect(peers).toEqual(["peer.announced"]));

    expect((await server.calls.call("desk.notify", "hello")).data).toBe("hello");
    await client.close();
    await vi.waitFor(() => expect(peers).toEqual(["peer.announced", "peer.left"]));
  });
});

describe("authentication", () => {
  const authenticate = ({ token }: Credentials) => (token === "sesame" ? { id: "ali", scopes: ["admin"] } : undefined);

  test.each([
    ["callable", false],
    ["all", true],
  ] as const)(
    "a client without scopes receives announcements of operations that are %s",
    async (announces, isShown) => {
      const server = await serve({ authenticate, allowAnonymous: true, announces });
      const told = async (calls: PendingRequestMap) => {
        const specs = await new Promise<readonly OperationSpec[]>((resolve) => {
          calls.transport.watchPeers((event) => event.type === "peer.announced" && resolve(event.specs));
        });
        return specs.map(({ name }) => name);
      };

      const known = await told(await dial(server.url, { token: "sesame" }));
      const anonymous = await told(await dial(server.url));

      expect(known).toContain("admin");
      expect(anonymous).toEqual(known.filter((name) => isShown || name !== "admin"));
    },
  );

  test("the token of the handshake is the identity of every call, whatever frames claim", async () => {
    const server = await serve({ authenticate, allowAnonymous: true });
    const known = await dial(server.url, { token: "sesame" });
    const anonymous = await dial(server.url);
    const socket = (await knock(server.url)) as RawSocket;
    const forged = {
      type: "call.requested",
      requestId: "forged",
      operationId: "test.admin",
      identity: { id: "x", scopes: ["admin"] },
      trusted: true,
    };

    expect((await known.call("test.whoami", {})).data).toEqual({ id: "ali", scopes: ["admin"] });
    expect((await known.call("test.admin", {})).data).toBe("done");
    await expect(anonymous.call("test.admin", {})).rejects.toMatchObject({ code: "ACCESS_DENIED" });
    socket.send(JSON.stringify(forged));
    expect(await untilHeard(socket, "forged")).toContain("ACCESS_DENIED");
  });

  test("an invalid or missing token is refused before the connection is made", async () => {
    const server = await serve({ authenticate });

    expect(await knock(server.url)).toBe(401);
    expect(await knock(server.url, { authorization: "Bearer wrong" })).toBe(401);
    expect(await knock(server.url, { authorization: "Bearer " })).toBe(401);
    expect(await knock(server.url, { authorization: "Bearer sesame" })).toBeInstanceOf(RawSocket);
    await expect(dial(server.url, { token: "wrong" })).rejects.toMatchObject({ code: "UPSTREAM_DENIED" });
    expect(server.transport.connections).toBe(1);
  });

  test("a foreign Host or Origin is refused on loopback, localhost in all its forms is not", async () => {
    const server = await serve();
    const local = `127.0.0.1:${server.port}`;

    expect(await knock(server.url, { host: `evil.test:${server.port}` })).toBe(403);
    expect(await knock(server.url, { host: `localhost.evil.test` })).toBe(403);
    expect(await knock(server.url, { origin: "https://evil.test" })).toBe(403);
    expect(await knock(server.url, { origin: "null" })).toBe(403);
    expect(await knock(server.url, { origin: "http://localhost.evil.test" })).toBe(403);
    expect(await knock(server.url, { host: "localhost:9", origin: "http://localhost:5173" })).toBe(403);
    expect(await knock(server.url, { host: "localhost:9", origin: "http://localhost:9" })).toBeInstanceOf(RawSocket);
    expect(await knock(server.url, { host: "[::1]", origin: "http://[::1]" })).toBeInstanceOf(RawSocket);
    expect(await knock(server.url, { origin: `http://${local}` })).toBeInstanceOf(RawSocket);
    expect(await knock(server.url)).toBeInstanceOf(RawSocket);
  });

  test("another path is not found", async () => {
    const server = await serve({ path: "/operations" });

    expect(await knock(server.url)).toBe(404);
    expect(await knock(`${server.url}operations?x=1`)).toBeInstanceOf(RawSocket);
  });
});

describe("hostile clients", () => {
  const request = (id: string, input: unknown = 1) =>
    JSON.stringify({ type: "call.requested", requestId: id, operationId: "test.echo", input });

  test.each([
    ["a message that is not JSON", "hello"],
    ["a null", "null"],
    ["an id of null", '{"type":"call.requested","requestId":null,"operationId":"test.echo"}'],
    [
      "nesting of 50,000",
      `{"type":"call.requested","requestId":"r","operationId":"test.echo","input":${"[".repeat(50_000)}`,
    ],
    ["bytes", new Uint8Array([0, 255, 254])],
    ["a wrong version", '{"type":"link.opened","version":99}'],
  ])("%s ends that connection and no other", async (_, message) => {
    const server = await serve();
    const calls = await dial(server.url);
    const socket = (await knock(server.url)) as RawSocket;

    socket.send(message);
    const [code] = await once(socket, "close");

    expect(code).toBeGreaterThanOrEqual(4000);
    expect((await calls.call("test.echo", 1)).data).toBe(1);
  });

  test("unknown frames, unexpected fields and replies to unknown calls are ignored", async () => {
    const server = await serve();
    const socket = (await knock(server.url)) as RawSocket;

    socket.send('{"type":"later.thing","x":1}');
    socket.send('{"type":"call.completed","requestId":"unknown"}');
    socket.send('{"type":"call.aborted","requestId":"unknown"}');
    socket.send('{"type":"link.serves","operationIds":{"length":9}}');
    socket.send(request("r1"));

    expect(await untilHeard(socket, '"r1"')).toContain("call.responded");
  });

  test("a request that is sent twice starts once", async () => {
    const server = await serve();
    const socket = (await knock(server.url)) as RawSocket;
    const hang = '{"type":"call.requested","requestId":"h","operationId":"test.hang"}';

    socket.send(`${hang}\n${hang}\n${request("after")}`);
    await untilHeard(socket, '"after"');

    expect(server.seen.started).toBe(1);
  });

  test("another client's calls cannot be touched by their id", async () => {
    const server = await serve();
    const calls = await dial(server.url);
    const sent = vi.spyOn(calls.transport, "request");
    const call = calls.call("test.hang", {}).catch((error) => error.code);
    const { requestId } = sent.mock.calls[0]![1];
    await vi.waitFor(() => expect(server.seen.started).toBe(1));
    const socket = (await knock(server.url)) as RawSocket;

    socket.send(`{"type":"call.aborted","requestId":"${requestId}"}\n${request("after")}`);
    await untilHeard(socket, '"after"');

    expect(server.seen.aborted).toBe(0);
    await calls.close();
    expect(await call).toBe("UNAVAILABLE");
  });

  test("two hundred thousand fragments of one byte end the connection", async () => {
    const server = await serve();
    const calls = await dial(server.url);
    const socket = (await knock(server.url)) as RawSocket;

    for (let index = 0; index < 200_000 && socket.readyState === RawSocket.OPEN; index++) {
      socket.send("x", { fin: false });
    }
    const [code] = await once(socket, "close");

    expect([1008, 1009, 1006]).toContain(code);
    expect((await calls.call("test.echo", 1)).data).toBe(1);
  });

  test("a connection that is not a WebSocket, or ends in the handshake, affects no other client", async () => {
    const server = await serve();
    const calls = await dial(server.url);
    const raw = connect(server.port, "127.0.0.1");

    raw.write("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    raw.resetAndDestroy();
    const broken = connect(server.port, "127.0.0.1");
    broken.write(
      "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n",
    );
    const [answer] = await once(broken, "data");

    expect(String(answer)).toContain("400");
    expect((await calls.call("test.echo", 1)).data).toBe(1);
    broken.destroy();
  });

  test("a message over the limit is PAYLOAD_TOO_LARGE immediately, and the connection stays open", async () => {
    const server = await serve();
    const calls = await dial(server.url);

    // The server accepts 1 MiB from clients without an identity, and announces that limit.
    const tooLarge = calls.call("test.echo", "x".repeat(1024 * 1024));

    await expect(tooLarge).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE", mayHaveRun: false });
    expect((await calls.call<string>("test.echo", "x".repeat(1024 * 1000))).data).toHaveLength(1024 * 1000);
  });

  test("a response over the limit is PAYLOAD_TOO_LARGE for the caller", async () => {
    const server = await serve({ limits: { maxMessage: 2_000 } });
    const calls = await dial(server.url, { limits: { maxMessage: 2_000 } });

    const call = calls.call("test.echo", "x".repeat(1_850));

    await expect(call).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
  });

  test("limits that are undefined are the defaults, and Infinity lifts them", async () => {
    const server = await serve({ limits: { maxMessage: undefined } });
    const calls = await dial(server.url, { limits: { maxMessage: Number.POSITIVE_INFINITY } });

    const tooLarge = calls.call("test.echo", "x".repeat(1024 * 1024));
    await expect(tooLarge).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE", mayHaveRun: false });

    // Clients without an identity keep their limit.
    const authenticate = () => ({ id: "ali", scopes: [] });
    const lifted = await serve({ authenticate, limits: { maxMessage: Number.POSITIVE_INFINITY } });
    const free = await dial(lifted.url, { limits: { maxMessage: Number.POSITIVE_INFINITY } });
    const data = "x".repeat(17 * 1024 * 1024);
    expect((await free.call<string>("test.echo", data)).data).toHaveLength(data.length);
  });

  test("a subscription above the limit is refused", async () => {
    const server = await serve();
    const calls = await dial(server.url);
    const open = Array.from({ length: 1_024 }, () => calls.subscribe("test.count", { to: 1_000_000 }));
    await Promise.all(open.map((subscription) => subscription.next()));

    const another = calls.subscribe("test.count", { to: 3 }).next();

    await expect(another).rejects.toMatchObject({ code: "LIMIT_EXCEEDED", mayHaveRun: false });
    for (const subscription of open) await subscription.return?.();
  });
});
