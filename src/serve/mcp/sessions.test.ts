import { Type } from "typebox";
import { afterEach, describe, expect, test, vi } from "vitest";
import { deferred, until } from "../../internal/testing.ts";
import type { Identity, OperationContext } from "../../operation/index.ts";
import { never, operation, registryOf } from "../../registry/testing.ts";
import type { Authenticator } from "../authenticator.ts";
import type { FetchServer } from "../server.ts";
import type { ServeMCPOptions } from "./serve-mcp.ts";
import { connect, type Generation, generations, isModern, post, serve } from "./testing.ts";

afterEach(() => vi.useRealTimers());

const scopes: Record<string, string[]> = { ada: ["read", "write"], bob: ["read"], eve: [] };

/** Accepts the name of a user as its token. */
function users(overrides: Partial<Authenticator> = {}): Authenticator {
  return {
    authenticate: ({ token }) => {
      if (token === undefined) return undefined;
      const [id] = token.split("-");
      if (scopes[id!] === undefined) throw new Error("unknown user");
      return { id: id!, scopes: scopes[id!]! };
    },
    ...overrides,
  };
}

const rule = (...requiredScopes: string[]) => ({ accessControl: { requiredScopes } });
const registry = registryOf(
  operation({ name: "open" }),
  operation({ name: "read", ...rule("read") }),
  operation({ name: "write", ...rule("write"), handler: (_input, { identity }: OperationContext) => identity!.id }),
);

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};
const modernMeta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};
const list = { jsonrpc: "2.0", id: 2, method: "tools/list" };
function bearer(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

async function openSession(server: FetchServer, token?: string): Promise<string> {
  const response = await post(server, initialize, bearer(token));
  await response.text();
  return response.headers.get("mcp-session-id")!;
}

async function statusOf(server: FetchServer, session: string, token?: string): Promise<number> {
  const response = await post(server, list, { "mcp-session-id": session, ...bearer(token) });
  await response.body?.cancel();
  return response.status;
}

describe.each(generations)("a client of %s", (generation) => {
  test.each([
    ["ada", ["test_open", "test_read", "test_write"]],
    ["bob", ["test_open", "test_read"]],
    ["eve", ["test_open"]],
    [undefined, ["test_open"]],
  ])("with the token of %s sees and calls only what its scopes allow", async (token, names) => {
    const client = await connect(serve(registry, { authenticate: users(), allowAnonymous: true }), generation, {
      token,
    });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(names);
    const call = client.callTool({ name: "test_write" });
    if (token === "ada") expect((await call).content).toEqual([{ type: "text", text: "ada" }]);
    else if (token === undefined) await expect(call).rejects.toMatchObject({ status: 401 });
    else expect(await call).toMatchObject({ isError: true, content: [{ text: /^ACCESS_DENIED/ }] });
  });

  test("with an unknown token is refused", async () => {
    const server = serve(registry, { authenticate: users() });
    await expect(connect(server, generation, { token: "mallory" })).rejects.toMatchObject({ status: 401 });
  });

  test("without a token is refused if every operation requires one", async () => {
    const closed = registryOf(operation({ name: "read", ...rule("read") }));
    await expect(connect(serve(closed, { authenticate: users() }), generation)).rejects.toMatchObject({ status: 401 });
  });

  test("does not choose its identity", async () => {
    const client = await connect(serve(registry, { authenticate: users() }), generation, { token: "bob" });
    const identity: Identity = { id: "ada", scopes: ["write"] };
    const _meta = { identity, "dev.alkdev/operations": { identity, trusted: true } };
    expect(await client.callTool({ name: "test_write", arguments: {}, _meta })).toMatchObject({ isError: true });
  });
});

test("the response with 401 names the metadata of the protected resource", async () => {
  const describeIt = () => ({
    securitySchemes: { oauth: { type: "http" as const, scheme: "bearer" as const } },
    headers: ["authorization"],
    authorizationServers: ["https://issuer.example.com"],
  });
  const server = serve(registry, { authenticate: users({ describe: describeIt }), allowAnonymous: true });
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "test_read" } };
  const { status, headers } = await post(server, call);
  const url = "http://localhost/.well-known/oauth-protected-resource/mcp";
  expect([status, headers.get("www-authenticate")]).toEqual([401, `Bearer resource_metadata="${url}"`]);
  const invalid = await post(server, call, bearer("mallory"));
  expect(invalid.headers.get("www-authenticate")).toBe(`Bearer error="invalid_token", resource_metadata="${url}"`);

  const read = (path: string) =>
    server.wellKnown!(new Request(`http://localhost/.well-known/${path}`), { basePath: "/mcp" });
  // A host without `wellKnown` passes such requests to `fetch`, whether or not it knows the path of the server.
  for (const metadata of [
    await read("oauth-protected-resource/mcp"),
    await server.fetch(new Request(url), { basePath: "/mcp" }),
    await server.fetch(new Request(url)),
  ]) {
    expect(await metadata!.json()).toEqual({
      resource: "http://localhost/mcp",
      authorization_servers: ["https://issuer.example.com"],
      bearer_methods_supported: ["header"],
    });
  }
  expect((await server.fetch(new Request(`${url}/other`), { basePath: "/mcp" })).status).toBe(404);
  expect(await read("oauth-protected-resource/other")).toBeUndefined();
  expect(await read("openid-configuration")).toBeUndefined();

  const withoutOAuth = serve(registry, { authenticate: users() });
  expect((await post(withoutOAuth, call)).headers.get("www-authenticate")).toBe("Bearer");
  expect(await withoutOAuth.wellKnown!(new Request(url), { basePath: "/mcp" })).toBeUndefined();
});

function end(server: FetchServer, headers: Record<string, string>): Promise<Response> {
  return Promise.resolve(server.fetch(new Request("http://localhost/mcp", { method: "DELETE", headers })));
}

/** A server with an operation that runs until `finish` is called. */
function waiting(options: Partial<ServeMCPOptions> = {}) {
  const started = deferred<AbortSignal>();
  const finished = deferred();
  const handler = async (_input: unknown, { signal }: OperationContext) => {
    started.resolve(signal);
    await finished.promise;
    return "finished";
  };
  const server = serve(registryOf(operation({ name: "wait", type: "mutation", handler })), options);
  const params = { name: "test_wait", arguments: {} };
  const call = (id: string | number) => ({ jsonrpc: "2.0", id, method: "tools/call", params });
  return { server, started: started.promise, finish: () => finished.resolve(), call };
}

describe("sessions", () => {
  test("belong to the identity that opened them", async () => {
    const server = serve(registry, { authenticate: users(), allowAnonymous: true });
    const [ada, anonymous] = [await openSession(server, "ada"), await openSession(server)];
    expect(await statusOf(server, ada, "ada")).toBe(200);
    expect(await statusOf(server, ada, "ada-new")).toBe(200);
    expect(await statusOf(server, ada, "bob")).toBe(404);
    expect(await statusOf(server, ada)).toBe(404);
    expect(await statusOf(server, anonymous, "ada")).toBe(404);
    const get = new Request("http://localhost/mcp", {
      headers: { accept: "text/event-stream", "mcp-session-id": ada, ...bearer("bob") },
    });
    expect((await server.fetch(get)).status).toBe(404);
    const end = { "mcp-session-id": ada, ...bearer("bob") };
    expect((await server.fetch(new Request("http://localhost/mcp", { method: "DELETE", headers: end }))).status).toBe(
      404,
    );
    expect(await statusOf(server, ada, "ada")).toBe(200);
  });

  test("end with DELETE", async () => {
    const server = serve(registry);
    const session = await openSession(server);
    const headers = { "mcp-session-id": session };
    expect((await server.fetch(new Request("http://localhost/mcp", { method: "DELETE", headers }))).status).toBe(200);
    expect(await statusOf(server, session)).toBe(404);
  });

  test("have a maximum", async () => {
    const server = serve(registry, { sessions: { max: 1 } });
    const first = await openSession(server);
    const refused = await post(server, initialize);
    expect([refused.status, await refused.json()]).toMatchObject([
      429,
      { error: { code: -32_000, message: /^Too many sessions are open: the limit is 1/ } },
    ]);
    expect(await statusOf(server, first)).toBe(200);
    await end(server, { "mcp-session-id": first });
    expect(await statusOf(server, await openSession(server))).toBe(200);
  });

  test("are refused to the identity with the most of them, above half of the maximum", async () => {
    const server = serve(registry, { authenticate: users(), sessions: { max: 4 } });
    const open = async (user: string) => (await post(server, initialize, bearer(user))).status;
    expect([await open("ada"), await open("ada"), await open("ada"), await open("ada")]).toEqual([200, 200, 200, 429]);
    expect([await open("bob"), await open("eve")]).toEqual([200, 429]);
  });

  test("are not opened by a refused request", async () => {
    const server = serve(registry, { sessions: { max: 1 } });
    expect((await post(server, initialize, { accept: "application/json" })).status).toBe(406);
    expect(await statusOf(server, await openSession(server))).toBe(200);
  });

  test("expire when they are idle, unless a stream is open", async () => {
    const server = serve(registry, { sessions: { idleTimeout: 60_000 } });
    await server.fetch(new Request("http://localhost/mcp")); // Loads the SDK, which takes real time.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const [idle, listening] = [await openSession(server), await openSession(server)];
    const client = new AbortController();
    const headers = { accept: "text/event-stream", "mcp-session-id": listening };
    const stream = await server.fetch(new Request("http://localhost/mcp", { headers, signal: client.signal }));
    expect(stream.status).toBe(200);
    await vi.advanceTimersByTimeAsync(90_000);
    expect(await statusOf(server, idle)).toBe(404);
    expect(await statusOf(server, listening)).toBe(200);
    client.abort();
    await vi.advanceTimersByTimeAsync(90_000);
    expect(await statusOf(server, listening)).toBe(404);
  });

  test("expire when they are idle after a stream was refused", async () => {
    const server = serve(registry, { sessions: { idleTimeout: 60_000 } });
    await server.fetch(new Request("http://localhost/mcp")); // Loads the SDK, which takes real time.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const session = await openSession(server);
    const headers = { accept: "application/json", "mcp-session-id": session };
    expect((await server.fetch(new Request("http://localhost/mcp", { headers }))).status).toBe(406);
    await vi.advanceTimersByTimeAsync(90_000);
    expect(await statusOf(server, session)).toBe(404);
  });

  test("are not idle while a call is running", async () => {
    const { server, finish, call } = waiting({ sessions: { idleTimeout: 60_000 }, defaultTimeout: 600_000 });
    await server.fetch(new Request("http://localhost/mcp"));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const session = await openSession(server);
    const response = post(server, call(7), { "mcp-session-id": session });
    await vi.advanceTimersByTimeAsync(119_000);
    finish();
    expect(await (await response).text()).toContain('"text":"finished"');
    await vi.advanceTimersByTimeAsync(50_000);
    expect(await statusOf(server, session)).toBe(200);
    await vi.advanceTimersByTimeAsync(90_000);
    expect(await statusOf(server, session)).toBe(404);
  });

  test("that end let running calls finish", async () => {
    const { server, started, finish, call } = waiting();
    const headers = { "mcp-session-id": await openSession(server) };
    const response = post(server, call("a"), headers);
    const signal = await started;
    await end(server, headers);
    expect(await statusOf(server, headers["mcp-session-id"])).toBe(404);
    finish();
    expect(await (await response).text()).toContain('"text":"finished"');
    expect(signal.aborted).toBe(false);
  });

  test("refuse a second call with the id of a running one", async () => {
    const { server, started, finish, call } = waiting();
    const headers = { "mcp-session-id": await openSession(server) };
    const first = post(server, call(7), headers);
    await started;
    const second = await post(server, call(7), headers);
    expect([second.status, await second.json()]).toMatchObject([
      400,
      { id: null, error: { code: -32_600, message: expect.stringContaining("with the id 7 is running") } },
    ]);
    finish();
    expect(await (await first).text()).toContain('"text":"finished"');
    expect((await post(server, call(7), headers)).status).toBe(200);
  });

  test("respond with JSON, or with a stream if there may be progress", async () => {
    const handler = (_input: unknown, { progress }: OperationContext) => {
      progress({ progress: 1 });
      return "finished";
    };
    const server = serve(registryOf(operation({ name: "work", handler })));
    const headers = { "mcp-session-id": await openSession(server) };
    const call = (id: number, _meta?: object) => {
      return { jsonrpc: "2.0", id, method: "tools/call", params: { name: "test_work", arguments: {}, _meta } };
    };
    const typeOf = (response: Response) => response.headers.get("content-type");

    const single = await post(server, call(1), headers);
    expect(typeOf(single)).toBe("application/json");
    expect(single.headers.get("cache-control")).toBe("no-store");
    expect(await single.json()).toMatchObject({ jsonrpc: "2.0", id: 1, result: { content: [{ text: "finished" }] } });

    const stream = await post(server, call(2, { progressToken: "p" }), headers);
    expect(typeOf(stream)).toBe("text/event-stream");
    const events = (await stream.text()).split("\n").filter((line) => line.startsWith("data: "));
    expect(events.map((line) => JSON.parse(line.slice(6)))).toMatchObject([
      { method: "notifications/progress", params: { progressToken: "p", progress: 1 } },
      { id: 2, result: { content: [{ text: "finished" }] } },
    ]);

    const unknown = await post(server, { jsonrpc: "2.0", id: 5, method: "tools/uncall" }, headers);
    expect([unknown.status, await unknown.json()]).toMatchObject([200, { id: 5, error: { code: -32_601 } }]);
  });

  test.each([
    ["POST", { accept: "application/json" }, 406],
    ["POST", { "mcp-protocol-version": "1999-01-01" }, 400],
    ["GET", { accept: "text/event-stream", "mcp-protocol-version": "1999-01-01" }, 400],
    ["PUT", {}, 405],
    ["POST", {}, 400, initialize],
    ["POST", {}, 400, [initialize]],
    ["POST", {}, 400, [list, list]],
  ])("refuse %s with the headers %o, and continue", async (method, given, status, message: object = list) => {
    const server = serve(registry);
    const session = await openSession(server);
    const common = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const headers = { ...common, "mcp-session-id": session, ...given };
    const body = method === "GET" ? null : JSON.stringify(message);
    expect((await server.fetch(new Request("http://localhost/mcp", { method, headers, body }))).status).toBe(status);
    expect(await statusOf(server, session)).toBe(200);
  });

  test("have one stream of notifications, the newest", async () => {
    const changing = registryOf(operation({ name: "open" }));
    const server = serve(changing);
    const headers = { accept: "text/event-stream", "mcp-session-id": await openSession(server) };
    const open = () => server.fetch(new Request("http://localhost/mcp", { headers }));
    const [first, second] = [await open(), await open()];
    expect(await first.text()).toBe("");
    await second.body!.cancel();
    const third = await open();
    changing.register(operation({ name: "new" }));
    const { value } = await third.body!.getReader().read();
    expect(new TextDecoder().decode(value)).toContain("notifications/tools/list_changed");
  });

  test("do not send the progress of a cancelled call in response to another call", async () => {
    const started = { first: deferred(), second: deferred() };
    const [reported, finished] = [deferred(), deferred()];
    const handler = async ({ name }: { name: "first" | "second" }, { progress }: OperationContext) => {
      started[name].resolve();
      await (name === "first" ? reported : finished).promise;
      progress({ progress: 1 });
      return name;
    };
    const inputSchema = Type.Object({ name: Type.String() });
    const server = serve(registryOf(operation({ name: "wait", type: "mutation", inputSchema, handler })));
    const headers = { "mcp-session-id": await openSession(server) };
    const call = (name: string, _meta?: object) => {
      return { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "test_wait", arguments: { name }, _meta } };
    };
    const first = post(server, call("first", { progressToken: "a" }), headers);
    await started.first.promise;
    await post(server, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } }, headers);
    const second = post(server, call("second"), headers);
    await started.second.promise;
    reported.resolve();
    await Promise.resolve();
    finished.resolve();
    expect(await (await second).json()).toMatchObject({ id: 7, result: { content: [{ text: "second" }] } });
    expect(await (await first).text()).toBe("");
  });

  test.each([{}, { progressToken: 1 }])("end the response of a call with %o that the client cancels", async (_meta) => {
    const started = deferred<AbortSignal>();
    const handler = (_input: unknown, { signal }: OperationContext) => {
      started.resolve(signal);
      return never;
    };
    const server = serve(registryOf(operation({ name: "wait", type: "mutation", handler })));
    const headers = { "mcp-session-id": await openSession(server) };
    const call = { jsonrpc: "2.0", id: "a", method: "tools/call", params: { name: "test_wait", arguments: {}, _meta } };
    const response = post(server, call, headers);
    const signal = await started.promise;
    const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "a", reason: "stop" } };
    expect((await post(server, cancel, headers)).status).toBe(202);
    expect(await (await response).text()).toBe("");
    await until(() => signal.aborted);
    expect((await post(server, { ...list, id: "a" }, headers)).status).toBe(200);
  });

  test("are not opened by a request whose body ends after the server was closed", async () => {
    const server = serve(registry);
    await openSession(server);
    const body = new TransformStream<Uint8Array, Uint8Array>();
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const init = { method: "POST", headers, body: body.readable, duplex: "half" } as RequestInit;
    const response = server.fetch(new Request("http://localhost/mcp", init));
    const closed = server.close();
    const writer = body.writable.getWriter();
    await writer.write(new TextEncoder().encode(JSON.stringify(initialize)));
    await writer.close();
    expect((await response).status).toBe(503);
    await closed;
  });

  test("respond to running calls when the server is closed", async () => {
    const { server, started, call } = waiting();
    const headers = { "mcp-session-id": await openSession(server) };
    const response = post(server, call(7), headers);
    const signal = await started;
    await server.close({ timeout: 0 });
    expect(await (await response).json()).toMatchObject({ id: 7, result: { isError: true } });
    expect(signal.aborted).toBe(true);
  });

  test.each([
    [{ jsonrpc: "2.0", id: 1, method: "tools/list" }, -32_000, /^The Mcp-Session-Id header is missing/],
    [{ ...initialize, params: {} }, -32_602, /^Invalid initialize/],
  ])("are not opened by %o", async (message, code, text) => {
    const response = await post(serve(registry), message);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code, message: expect.stringMatching(text) } });
  });

  test.each([{ max: 0 }, { idleTimeout: 0 }])("refuse the option %o", (sessions) => {
    expect(() => serve(registry, { sessions })).toThrow(/^Invalid options: \/sessions\//);
  });
});

/** Accepts the tokens of {@link users} until they are revoked. */
function revocable() {
  let notify = () => {};
  const revoked = new Set<string>();
  const { authenticate } = users();
  const authenticator: Authenticator = {
    authenticate: (credentials) => {
      if (revoked.has(credentials.token!)) throw new Error("revoked");
      return authenticate(credentials);
    },
    onChange: (listener) => {
      notify = listener;
      return () => {};
    },
  };
  const revoke = (token: string) => {
    revoked.add(token);
    notify();
  };
  return { authenticate: authenticator, revoke };
}

test("streams and sessions end when the credentials are removed", async () => {
  const { authenticate, revoke } = revocable();
  const server = serve(registry, { authenticate });
  const session = await openSession(server, "ada");
  const headers = { accept: "text/event-stream", "mcp-session-id": session, ...bearer("ada") };
  const stream = await server.fetch(new Request("http://localhost/mcp", { headers }));
  const modern = await connect(server, "2026-07-28", { token: "ada" });
  const subscription = await modern.listen({ toolsListChanged: true });

  revoke("ada");
  expect(await stream.text()).toBe("");
  expect(await statusOf(server, session, "ada")).toBe(401);
  expect(["remote", "graceful"]).toContain(await subscription.closed);
});

test.each(generations)("a running call of %s finishes when the credentials are removed", async (generation) => {
  const { authenticate, revoke } = revocable();
  const { server, started, finish } = waiting({ authenticate });
  const client = await connect(server, generation, { token: "ada" });
  const call = client.callTool({ name: "test_wait" });
  const signal = await started;
  revoke("ada");
  await expect(client.callTool({ name: "test_wait" })).rejects.toMatchObject({ status: 401 });
  finish();
  expect(await call).toMatchObject({ content: [{ text: "finished" }] });
  expect(signal.aborted).toBe(false);
});

const modernHeaders = { "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen" };

/** Opens a stream of notifications. The returned object has what was received so far. */
async function openStream(server: FetchServer, generation: Generation, token: string) {
  const headers: Record<string, string> = { accept: "text/event-stream", ...bearer(token) };
  const params = { notifications: { toolsListChanged: true }, _meta: modernMeta };
  const response = isModern(generation)
    ? await post(
        server,
        { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params },
        { ...headers, ...modernHeaders },
      )
    : await server.fetch(
        new Request("http://localhost/mcp", {
          headers: { ...headers, "mcp-session-id": await openSession(server, token) },
        }),
      );
  const received = { text: "", ended: Promise.resolve() };
  const read = async () => {
    for await (const chunk of response.body!) received.text += new TextDecoder().decode(chunk);
  };
  received.ended = read();
  return received;
}

test.each(generations)("a client of %s is notified only of changes that it sees", async (generation) => {
  const changing = registryOf(operation({ name: "open" }));
  const server = serve(changing, { authenticate: users() });
  const [ada, bob] = [await openStream(server, generation, "ada"), await openStream(server, generation, "bob")];
  changing.register(operation({ name: "write", ...rule("write") }));
  await until(() => ada.text.includes("notifications/tools/list_changed"));
  await server.close({ timeout: 0 });
  await Promise.all([ada.ended, bob.ended]);
  expect(bob.text).not.toContain("list_changed");
});

test("a client in search mode is not notified, because its list does not change", async () => {
  const changing = registryOf(operation({ name: "open" }));
  const server = serve(changing, { mode: "search" });
  const listing = serve(changing);
  const [searching, other] = [
    await openStream(server, "2026-07-28", "ada"),
    await openStream(listing, "2026-07-28", "ada"),
  ];
  changing.register(operation({ name: "new" }));
  await until(() => other.text.includes("list_changed"));
  await server.close({ timeout: 0 });
  await searching.ended;
  expect(searching.text).not.toContain("list_changed");
});

test("above half of the maximum, a further stream of the identity with the most of them is refused", async () => {
  const server = serve(registry, { authenticate: users() });
  const bob = await openStream(server, "2026-07-28", "bob");
  for (let count = 1; count <= 512; count++) await openStream(server, "2026-07-28", "ada");
  const refused = await openStream(server, "2026-07-28", "ada");
  await refused.ended;
  expect(refused.text).toContain("Too many streams of notifications are open");
  const eve = await openStream(server, "2026-07-28", "eve");
  await until(() => eve.text.includes("acknowledged"));
  await server.close({ timeout: 0 });
  await Promise.all([bob.ended, eve.ended]);
  expect(bob.text).toContain("acknowledged");
});
