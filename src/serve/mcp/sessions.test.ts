import { afterEach, describe, expect, test, vi } from "vitest";
import { deferred, until } from "../../internal/testing.ts";
import type { Identity, OperationContext } from "../../operation/index.ts";
import { never, operation, registryOf } from "../../registry/testing.ts";
import type { Authenticator } from "../authenticator.ts";
import type { FetchServer } from "../server.ts";
import { connect, generations, post, serve } from "./testing.ts";

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
    const client = await connect(serve(registry, { authenticate: users() }), generation, { token });
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
  const server = serve(registry, { authenticate: users({ describe: describeIt }) });
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "test_read" } };
  const { status, headers } = await post(server, call);
  const url = "http://localhost/.well-known/oauth-protected-resource/mcp";
  expect([status, headers.get("www-authenticate")]).toEqual([401, `Bearer resource_metadata="${url}"`]);
  const invalid = await post(server, call, bearer("mallory"));
  expect(invalid.headers.get("www-authenticate")).toBe(`Bearer error="invalid_token", resource_metadata="${url}"`);

  const read = (path: string, method = "GET") =>
    server.wellKnown!(new Request(`http://localhost/.well-known/${path}`, { method }), { basePath: "/mcp" });
  const metadata = await read("oauth-protected-resource/mcp");
  expect(await metadata!.json()).toEqual({
    resource: "http://localhost/mcp",
    authorization_servers: ["https://issuer.example.com"],
    bearer_methods_supported: ["header"],
  });
  expect((await read("oauth-protected-resource/mcp", "POST"))!.status).toBe(405);
  expect(await read("oauth-protected-resource/other")).toBeUndefined();
  expect(await read("openid-configuration")).toBeUndefined();

  const withoutOAuth = serve(registry, { authenticate: users() });
  expect((await post(withoutOAuth, call)).headers.get("www-authenticate")).toBe("Bearer");
  expect(await withoutOAuth.wellKnown!(new Request(url), { basePath: "/mcp" })).toBeUndefined();
});

describe("sessions", () => {
  test("belong to the identity that opened them", async () => {
    const server = serve(registry, { authenticate: users() });
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

  test("have a maximum, above which the least recently used one ends", async () => {
    const server = serve(registry, { sessions: { max: 2 } });
    const [first, second] = [await openSession(server), await openSession(server)];
    expect(await statusOf(server, first)).toBe(200);
    const third = await openSession(server);
    expect(await Promise.all([first, second, third].map((session) => statusOf(server, session)))).toEqual([
      200, 404, 200,
    ]);
  });

  test("have a maximum for each identity", async () => {
    const server = serve(registry, { authenticate: users(), sessions: { maxPerIdentity: 1 } });
    const bob = await openSession(server, "bob");
    const [first, second] = [await openSession(server, "ada"), await openSession(server, "ada")];
    expect(await statusOf(server, first, "ada")).toBe(404);
    expect(await statusOf(server, second, "ada")).toBe(200);
    expect(await statusOf(server, bob, "bob")).toBe(200);
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

  test.each([{ max: 0 }, { maxPerIdentity: -1 }, { idleTimeout: 0 }])("refuse the option %o", (sessions) => {
    expect(() => serve(registry, { sessions })).toThrow(/^Invalid options: \/sessions\//);
  });
});

test("streams and sessions end when the credentials are removed", async () => {
  let remove = () => {};
  const revoked = new Set<string>();
  const { authenticate } = users();
  const server = serve(registry, {
    authenticate: {
      authenticate: (credentials) => {
        if (revoked.has(credentials.token!)) throw new Error("revoked");
        return authenticate(credentials);
      },
      onChange: (listener) => {
        remove = listener;
        return () => {};
      },
    },
  });
  const session = await openSession(server, "ada");
  const headers = { accept: "text/event-stream", "mcp-session-id": session, ...bearer("ada") };
  const stream = await server.fetch(new Request("http://localhost/mcp", { headers }));
  const modern = await connect(server, "2026-07-28", { token: "ada" });
  const subscription = await modern.listen({ toolsListChanged: true });

  revoked.add("ada");
  remove();
  expect(await stream.text()).toBe("");
  expect(await statusOf(server, session, "ada")).toBe(401);
  expect(["remote", "graceful"]).toContain(await subscription.closed);
});

test.each(generations)("a client of %s that disconnects aborts its calls", async (generation) => {
  const started = deferred<AbortSignal>();
  const handler = (_input: unknown, { signal }: OperationContext) => {
    started.resolve(signal);
    return never;
  };
  const server = serve(registryOf(operation({ handler })));
  const client = new AbortController();
  const params = { name: "test_echo" };
  const request = { jsonrpc: "2.0", id: 7, method: "tools/call", params };
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const common = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const [body, headers] =
    generation === "legacy"
      ? [request, { "mcp-session-id": await openSession(server) }]
      : [
          { ...request, params: { ...params, _meta: meta } },
          { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "test_echo" },
        ];
  void server.fetch(
    new Request("http://localhost/mcp", {
      method: "POST",
      headers: { ...common, ...headers } as Record<string, string>,
      body: JSON.stringify(body),
      signal: client.signal,
    }),
  );
  const signal = await started.promise;
  client.abort();
  await until(() => signal.aborted);
});
