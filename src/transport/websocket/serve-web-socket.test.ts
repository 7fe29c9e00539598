import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import { WebSocket as RawSocket } from "ws";
import { bearerTokens, createToken } from "../../auth/index.ts";
import { PendingRequestMap, peerSource } from "../../call/index.ts";
import { deferred } from "../../internal/testing.ts";
import { CallError, defineOperation, httpEnvelope, OperationType } from "../../operation/index.ts";
import { createRegistry, OperationRegistry } from "../../registry/index.ts";
import type { FetchInfo } from "../../serve/server.ts";
import { createWebSocketTransport, type ServeWebSocketOptions, serveWebSocket } from "./index.ts";
import { toProtocols } from "./open-socket.ts";

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const ada = { id: "ada", scopes: ["task"] };
const base = { namespace: "task", inputSchema: {}, outputSchema: {} };
const protectedRule = { accessControl: { requiredScopes: ["task"] } };

/** A registry with an open operation, a protected one, a subscription and a call that lasts until `state.release()`. */
function registryOf(state: { release: () => void; ended: number }) {
  const whoami = defineOperation({
    ...base,
    name: "whoami",
    type: OperationType.QUERY,
    handler: (_input, { identity }) => identity?.id ?? "anonymous",
  });
  const slow = defineOperation({
    ...base,
    name: "slow",
    type: OperationType.QUERY,
    handler: () =>
      new Promise<string>((resolve) => {
        state.release = () => resolve("done");
      }),
  });
  const list = defineOperation({
    ...base,
    ...protectedRule,
    name: "list",
    type: OperationType.QUERY,
    handler: () => ["one"],
  });
  const changes = defineOperation({
    ...base,
    ...protectedRule,
    name: "changes",
    type: OperationType.SUBSCRIPTION,
    handler: async function* (_input, { signal }) {
      try {
        yield 1;
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      } finally {
        state.ended += 1;
      }
    },
  });
  return createRegistry({ operations: [whoami, slow, list, changes] });
}

async function serve(options: ServeWebSocketOptions, info?: FetchInfo, registry?: OperationRegistry) {
  const state = { release: () => {}, ended: 0 };
  const server = serveWebSocket(registry ?? registryOf(state), options);
  const http: Server = createServer();
  http.on("upgrade", (request, socket, head) => server.upgrade(request, socket, head, info));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  closing.push(async () => {
    await server.close({ timeout: 0 });
    await new Promise((resolve) => http.close(resolve));
  });
  return { server, state, url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}/calls` };
}

async function dial(url: string, token?: string): Promise<PendingRequestMap> {
  const calls = new PendingRequestMap(await createWebSocketTransport(url, { token, reconnect: false }));
  closing.push(() => calls.close());
  return calls;
}

/** Returns the status of the response to a handshake. */
function statusOf(url: string, headers: Record<string, string> = {}, protocols = toProtocols(undefined)) {
  const socket = new RawSocket(url, protocols, { headers });
  closing.push(() => socket.terminate());
  return new Promise<number>((resolve) => {
    socket.on("upgrade", (response) => resolve(response.statusCode ?? 0));
    socket.on("unexpected-response", (_request, response) => resolve(response.statusCode ?? 0));
    socket.on("error", () => {});
  });
}

const codeOf = (error: CallError) => error.code;

describe("who may connect", () => {
  const { token, hash } = createToken();
  const authenticate = bearerTokens([{ hash, identity: ada }]);

  test("the identity of the connection is that of every call, and a follower needs none of its own", async () => {
    const { url } = await serve({ authenticate, allowAnonymous: true });
    const [known, anonymous] = [await dial(url, token), await dial(url)];
    expect((await known.call("task.whoami", {})).data).toBe("ada");
    expect((await known.call("task.list", {})).data).toEqual(["one"]);
    expect((await anonymous.call("task.whoami", {})).data).toBe("anonymous");
    expect(await anonymous.call("task.list", {}).catch(codeOf)).toBe("ACCESS_DENIED");
    const follower = new OperationRegistry();
    await follower.follow(peerSource(known));
    expect((await follower.execute("task.list", {})).data).toEqual(["one"]);
  });

  test("a connection without a token is refused, unless allowAnonymous is set", async () => {
    expect(await statusOf((await serve({ authenticate })).url)).toBe(401);
    expect(await statusOf((await serve({ authenticate, allowAnonymous: true })).url)).toBe(101);
  });

  test("ready() rejects if the authenticator can never accept anyone", async () => {
    const failed = new TypeError("The key is malformed.");
    const broken = { authenticate: () => undefined, ready: () => Promise.reject(failed) };
    const server = serveWebSocket(createRegistry({ operations: [] }), { authenticate: broken });
    closing.push(() => server.close());
    await expect(server.ready!()).rejects.toThrow("The key is malformed.");
    await serveWebSocket(createRegistry({ operations: [] }), { authenticate }).ready!();
  });

  test("one caller cannot have all running calls of a server", async () => {
    const identify = ({ token = "" }) => ({ id: token, scopes: [] });
    const { url } = await serve({ authenticate: identify, limits: { pendingCalls: 4 } });
    const [ada, sameAda, bob] = [await dial(url, "ada"), await dial(url, "ada"), await dial(url, "bob")];
    const start = (calls: PendingRequestMap) => calls.call("task.slow", {}).catch(codeOf);
    const first = [start(ada), start(sameAda), start(ada)];
    const others = [await start(sameAda), start(bob)];
    closing.push(() => Promise.allSettled([...first, ...others]));
    expect([others[0], await start(bob)]).toEqual(["LIMIT_EXCEEDED", "LIMIT_EXCEEDED"]);
  });

  test("a token is checked before the connection is made, from the header or the sub-protocol", async () => {
    const { url } = await serve({ authenticate });
    const bearer = (value: string) => ({ authorization: `Bearer ${value}` });
    const outcomes = [
      await statusOf(url, bearer(token)),
      await statusOf(url, {}, toProtocols(token)),
      await statusOf(url, bearer(`${token}x`)),
      await statusOf(url, {}, toProtocols("unknown")),
      await statusOf(url, bearer("")),
      await statusOf(url, {}, [...toProtocols(undefined), "alkdev.operations.bearer.%%%"]),
      await statusOf(url, {}, [...toProtocols(undefined), "alkdev.operations.bearer."]),
      await statusOf(url, { authorization: "Basic YTpi" }),
      await statusOf(`${url}?token=${token}&access_token=${token}`, bearer("unknown")),
    ];
    expect(outcomes).toEqual([101, 101, 401, 401, 401, 401, 401, 401, 401]);
  });

  test("pages of other origins are refused, also with a valid token, unless cors allows them", async () => {
    const { url } = await serve({ authenticate, cors: { origins: ["https://app.example.com"] } });
    const authorization = `Bearer ${token}`;
    const own = `http://${new URL(url).host}`;
    const origins = ["https://evil.example", "null", "http://localhost:5173", own, "https://app.example.com"];
    const outcomes = [];
    for (const origin of origins) outcomes.push(await statusOf(url, { authorization, origin }));
    expect(outcomes).toEqual([403, 403, 403, 101, 101]);
  });

  test("without authentication only this machine may connect", async () => {
    const { url, server } = await serve({ authenticate: "none" });
    const hosts = ["localhost", "127.0.0.1:1", "evil.example", "localhost.evil.example"];
    const outcomes = [];
    for (const host of hosts) outcomes.push(await statusOf(url, { host }));
    expect([outcomes, server.isUnauthenticated]).toEqual([[101, 101, 403, 403], true]);
    const open = await serve({ authenticate: "none" }, { allowPublic: true });
    expect(await statusOf(open.url, { host: "api.example.com" })).toBe(101);
  });

  test("only the path of the mount is served", async () => {
    const { url } = await serve({ authenticate: "none" }, { basePath: "/calls" });
    expect([await statusOf(url), await statusOf(`${url}/`), await statusOf(`${url}/x`)]).toEqual([101, 101, 404]);
  });
});

describe("connections end", () => {
  test("when their token is removed, and no other ones", async () => {
    const [one, two] = [createToken(), createToken()];
    const authenticate = bearerTokens([one, two].map(({ hash }) => ({ hash, identity: ada })));
    const { url, state } = await serve({ authenticate });
    const [first, second] = [await dial(url, one.token), await dial(url, two.token)];
    const [ending, going] = [first.subscribe("task.changes", {}), second.subscribe("task.changes", {})];
    await Promise.all([ending.next(), going.next()]);
    authenticate.remove(one.hash);
    await expect(ending.next()).rejects.toMatchObject({
      code: "ACCESS_DENIED",
      details: { reason: "the credential of the caller is no longer accepted" },
    });
    await vi.waitFor(async () => expect(await first.call("task.whoami", {}).catch(codeOf)).toBe("UNAVAILABLE"));
    expect([(await second.call("task.whoami", {})).data, state.ended]).toEqual(["ada", 1]);
    expect(await statusOf(url, { authorization: `Bearer ${one.token}` })).toBe(401);
    await going.return?.();
  });

  test("when their token expires", async () => {
    const { token, hash } = createToken();
    const expiresAt = Date.now() + 500;
    const { url } = await serve({ authenticate: bearerTokens([{ hash, identity: { ...ada, expiresAt } }]) });
    const values = (await dial(url, token)).subscribe("task.changes", {});
    await values.next();
    await expect(values.next()).rejects.toMatchObject({
      code: "ACCESS_DENIED",
      details: { reason: "the credential of the caller has expired" },
    });
  });

  test("when the expiry of their token is changed and has passed", async () => {
    const { token, hash } = createToken();
    const authenticate = bearerTokens([{ hash, identity: ada }]);
    const { url } = await serve({ authenticate });
    const values = (await dial(url, token)).subscribe("task.changes", {});
    await values.next();
    authenticate.replace([{ hash, identity: { ...ada, expiresAt: Date.now() + 200 } }]);
    await expect(values.next()).rejects.toMatchObject({
      code: "ACCESS_DENIED",
      details: { reason: "the credential of the caller has expired" },
    });
  });

  test("when the server is closed, after running calls have finished", async () => {
    const { url, server, state } = await serve({ authenticate: "none" });
    const calls = await dial(url);
    const running = calls.call("task.slow", {});
    await calls.call("task.whoami", {});
    const closed = server.close();
    expect(await statusOf(url)).toBe(503);
    state.release();
    expect((await running).data).toBe("done");
    await closed;
    expect(await calls.call("task.whoami", {}).catch(codeOf)).toBe("UNAVAILABLE");
    await server[Symbol.asyncDispose]();
  });
});

test("a client that is identified after the server was closed is refused", async () => {
  const [asked, checked] = [deferred(), deferred()];
  const authenticate = async () => {
    asked.resolve();
    await checked.promise;
    return ada;
  };
  const { url, server } = await serve({ authenticate });
  const status = statusOf(url);
  await asked.promise;
  await server.close();
  checked.resolve();
  expect(await status).toBe(503);
});

test("no frame names an operation that the caller may not see", async () => {
  const { token, hash } = createToken();
  const { url } = await serve({ authenticate: bearerTokens([{ hash, identity: ada }]), allowAnonymous: true });
  /** Returns the ids in all frames up to the reply of a call. */
  const idsOf = (authorization?: string) =>
    new Promise<string[]>((resolve) => {
      const headers = authorization === undefined ? {} : { authorization };
      const socket = new RawSocket(url, toProtocols(undefined), { headers });
      closing.push(() => socket.terminate());
      let received = "";
      socket.on("open", () => socket.send('{"type":"call.requested","requestId":"r","operationId":"task.lst"}'));
      socket.on("message", (data) => {
        received += data;
        if (received.includes("call.error"))
          resolve(["list", "changes", "whoami"].filter((id) => received.includes(id)));
      });
    });
  expect(await idsOf(`Bearer ${token}`)).toEqual(["list", "changes", "whoami"]);
  expect(await idsOf()).toEqual(["whoami"]);
});

describe("what callers receive", () => {
  const headers = { "set-cookie": "sid=1", "x-api-key": "k", "www-authenticate": "Basic", etag: "1" };
  const response = { statusCode: 200, headers, contentType: "text/plain", setCookie: ["sid=1"] };
  const expectedMeta = { source: "http", statusCode: 200, headers: { etag: "1" }, contentType: "text/plain" };
  const at = new Date(0);
  const operations = [
    defineOperation({
      ...base,
      name: "fetch",
      type: OperationType.QUERY,
      handler: () => httpEnvelope({ at }, response),
    }),
    defineOperation({
      ...base,
      name: "poll",
      type: OperationType.SUBSCRIPTION,
      handler: async function* () {
        yield httpEnvelope({ at }, response);
        throw new Error("the disk of db-1 is full");
      },
    }),
    defineOperation({
      ...base,
      name: "crash",
      type: OperationType.QUERY,
      handler: () => {
        throw new Error("the disk of db-1 is full");
      },
    }),
    defineOperation({
      ...base,
      name: "refuse",
      type: OperationType.QUERY,
      handler: () => {
        throw new CallError("HTTP_404", "Not found.", { status: 404, headers });
      },
    }),
    defineOperation({
      ...base,
      name: "late",
      type: OperationType.QUERY,
      handler: () => {
        throw new CallError("TOO_LATE", "It has ended.", { at });
      },
    }),
  ];
  const connectTo = async (options: ServeWebSocketOptions) => {
    const { url } = await serve(options, undefined, createRegistry({ operations }));
    return dial(url);
  };

  test("has no cookies and no headers with secrets, and keeps the data", async () => {
    const calls = await connectTo({ authenticate: "none" });
    expect(await calls.call("task.fetch", {})).toEqual({ data: { at }, meta: expectedMeta });
    const values = calls.subscribe("task.poll", {});
    expect((await values.next()).value).toEqual({ data: { at }, meta: expectedMeta });
    await values.return?.();
    await expect(calls.call("task.refuse", {})).rejects.toMatchObject({
      code: "HTTP_404",
      message: "Not found.",
      details: { status: 404, headers: { etag: "1" } },
    });
    await expect(calls.call("task.late", {})).rejects.toMatchObject({ code: "TOO_LATE", details: { at } });
  });

  test("hides the messages of unexpected errors, unless exposeErrors is set", async () => {
    const calls = await connectTo({ authenticate: "none" });
    const hidden = expect.stringMatching(/^The operation failed\. Request id: [\w-]+\.$/);
    await expect(calls.call("task.crash", {})).rejects.toMatchObject({ code: "EXECUTION_ERROR", message: hidden });
    const values = calls.subscribe("task.poll", {});
    await values.next();
    await expect(values.next()).rejects.toMatchObject({ code: "EXECUTION_ERROR", message: hidden });
    const exposed = await connectTo({ authenticate: "none", exposeErrors: true });
    await expect(exposed.call("task.crash", {})).rejects.toMatchObject({ message: "the disk of db-1 is full" });
  });
});

test("include and exclude select the operations that are served", async () => {
  const { url } = await serve({ authenticate: "none", include: ["task.*"], exclude: ["task.slow"] });
  const calls = await dial(url);
  expect((await calls.call("task.whoami", {})).data).toBe("anonymous");
  expect(await calls.call("task.slow", {}).catch(codeOf)).toBe("OPERATION_NOT_FOUND");
});

test("invalid options are refused immediately", () => {
  const registry = createRegistry({ operations: [] });
  const start = (options: object) => () => serveWebSocket(registry, options as ServeWebSocketOptions);
  expect(start({})).toThrow(/authenticate is missing or invalid/);
  expect(start({ authenticate: "none", limits: { maxMessage: 0 } })).toThrow(/limits/);
  expect(start({ authenticate: "none", defaultTimeout: -1 })).toThrow(/defaultTimeout/);
  expect(start({ authenticate: "none", include: "task" })).toThrow(/"include" must be an array/);
});
