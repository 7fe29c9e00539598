import { randomUUID } from "node:crypto";
import {
  createMcpHandler,
  isInitializeRequest,
  ProtocolError,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { expect, onTestFinished, test, vi } from "vitest";
import { openConnection } from "./index.ts";
import { call, connect, serveHTTP, serveWeb, stopHTTP } from "./testing.ts";

/** A server of the SDK with a few tools. `tools` may grow. */
function buildServer(names: string[] = ["echo", "hang", "unusual"]): Server {
  const server = new Server({ name: "web", version: "2.0.0" }, { capabilities: { tools: { listChanged: true } } });
  server.setRequestHandler("tools/list", () => ({
    tools: names.map((name) => ({ name, inputSchema: { type: "object" as const } })),
  }));
  server.setRequestHandler("tools/call", async (request, context) => {
    const { name, arguments: args } = request.params;
    if (name === "hang") {
      await new Promise((_, reject) =>
        context.mcpReq.signal.addEventListener("abort", () => reject(new Error("left"))),
      );
    }
    if (name !== "echo") throw new ProtocolError(-32602, `Unknown tool: ${name}`);
    return { content: [{ type: "text", text: JSON.stringify(args ?? {}) }] };
  });
  return server;
}

/** A server that keeps sessions, as those before 2026-07-28 do. `forget` loses them all. */
function sessions() {
  const known = new Map<string, { server: Server; transport: WebStandardStreamableHTTPServerTransport }>();
  async function handle(request: Request): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    if (id !== null) {
      const session = known.get(id);
      if (session !== undefined) return session.transport.handleRequest(request);
      return Response.json(
        { jsonrpc: "2.0", id: null, error: { code: -32001, message: "Session not found" } },
        { status: 404 },
      );
    }
    const body = await request.clone().json();
    if (!isInitializeRequest(body)) return new Response("no session", { status: 400 });
    const server = buildServer();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (session) => void known.set(session, { server, transport }),
      onsessionclosed: (session) => void known.delete(session),
    });
    await server.connect(transport);
    return transport.handleRequest(request);
  }
  return { handle, known };
}

test.each([
  ["auto" as const, "modern", "2026-07-28"],
  ["2026-07-28" as const, "modern", "2026-07-28"],
  ["legacy" as const, "legacy", "2025-11-25"],
])("with protocol %s a server of both generations uses %s", async (protocol, era, version) => {
  const handler = createMcpHandler(() => buildServer());
  const { url } = await serveWeb((request) => handler.fetch(request));

  const connection = await connect({ url, protocol });

  expect(connection.state).toMatchObject({
    status: "ready",
    protocol: { era, version },
    server: { name: "web", version: "2.0.0" },
  });
  expect((await connection.listTools()).map(({ name }) => name)).toEqual(["echo", "hang", "unusual"]);
  expect(await call(connection, "echo", { a: 1 })).toBe('{"a":1}');
  await expect(call(connection, "nothing")).rejects.toMatchObject({ name: "ProtocolError", code: -32602 });
});

test("functions for headers and tokens are called for every request, and their values do not appear in errors", async () => {
  const handler = createMcpHandler(() => buildServer());
  const seen: unknown[] = [];
  let refuse = false;
  const { url } = await serveWeb(
    async (request) =>
      refuse
        ? new Response(`bad token ${request.headers.get("authorization")}`, { status: 418 })
        : handler.fetch(request),
    ({ headers }) => seen.push([headers["authorization"], headers["x-tenant"]]),
  );
  let count = 0;
  const connection = await connect({
    url,
    auth: { type: "bearer", token: () => `s3cr3t-${++count}` },
    headers: () => ({ "X-Tenant": "t1", Authorization: "never" }),
  });
  seen.length = 0;

  await call(connection, "echo");
  refuse = true;
  const error = await call(connection, "echo").catch((reason) => reason);

  expect(seen.at(0)).toEqual([expect.stringMatching(/^Bearer s3cr3t-\d+$/), "t1"]);
  expect(new Set(seen.map(String)).size).toBe(seen.length);
  expect(error).toMatchObject({ code: "BAD_RESPONSE", details: { status: 418, body: "bad token Bearer [redacted]" } });
  expect(`${error.message}${JSON.stringify(error)}`).not.toContain("s3cr3t");
});

test.each(["x-session", "x-signature", "x-api-key", "cookie"])(
  "the value of the header %s does not appear in an error that repeats it",
  async (name) => {
    const { url } = await serveHTTP((request, response) => {
      response.writeHead(418).end(`refused ${request.headers[name]}`);
    });

    const opening = openConnection("echoing", { url, transport: "http", headers: { [name]: "s3cr3t-value" } });

    await expect(opening).rejects.toMatchObject({ details: { status: 418, body: "refused [redacted]" } });
  },
);

test("a refused token is UPSTREAM_DENIED", async () => {
  const { url } = await serveHTTP((_, response) => void response.writeHead(401).end());

  const opening = openConnection("locked", { url, auth: { type: "bearer", token: "wrong" } });

  await expect(opening).rejects.toMatchObject({
    code: "UPSTREAM_DENIED",
    message: 'The MCP server "locked" requires credentials, or refused those it received. Check "auth" and "headers".',
    mayHaveRun: false,
  });
});

test("a token function is called again after a refusal", async () => {
  const handler = createMcpHandler(() => buildServer());
  const { url } = await serveWeb(async (request) =>
    request.headers.get("authorization") === "Bearer fresh"
      ? handler.fetch(request)
      : new Response(null, { status: 401 }),
  );
  const tokens = ["stale"];

  const connection = await connect({ url, auth: { type: "bearer", token: () => tokens.shift() ?? "fresh" } });

  expect(await call(connection, "echo", {})).toBe("{}");
});

test("client credentials are exchanged for a token, which is reused", async () => {
  const handler = createMcpHandler(() => buildServer());
  const asked: string[] = [];
  const { url } = await serveWeb(async (request) => {
    const { pathname, origin } = new URL(request.url);
    if (pathname.startsWith("/.well-known/oauth-protected-resource")) {
      return Response.json({ resource: `${origin}/mcp`, authorization_servers: [origin] });
    }
    if (pathname.startsWith("/.well-known/oauth-authorization-server")) {
      return Response.json({
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        response_types_supported: ["code"],
        grant_types_supported: ["client_credentials"],
        token_endpoint_auth_methods_supported: ["client_secret_basic"],
      });
    }
    if (pathname === "/token") {
      asked.push(`${request.headers.get("authorization")} ${request.headers.get("x-tenant")}`);
      return Response.json({ access_token: "granted", token_type: "Bearer", expires_in: 3600 });
    }
    if (request.headers.get("authorization") === "Bearer granted") return handler.fetch(request);
    return new Response(null, {
      status: 401,
      headers: { "www-authenticate": `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"` },
    });
  });

  const connection = await connect({
    url,
    auth: { type: "clientCredentials", clientId: "machine", clientSecret: "hush", expectedIssuer: new URL(url).origin },
  });
  await call(connection, "echo");
  await connection.reconnect();

  expect(await call(connection, "echo", {})).toBe("{}");
  expect(asked).toEqual([`Basic ${btoa("machine:hush")} null`]);
});

test("an expired session is replaced, and the call runs in the new one", async () => {
  const { handle, known } = sessions();
  const { url } = await serveWeb(handle);
  const connection = await connect({ url, protocol: "legacy" });
  await call(connection, "echo");
  const changed = new Promise<void>((resolve) => void connection.onToolsChanged(resolve));

  known.clear();
  const results = await Promise.all([1, 2, 3].map((n) => call(connection, "echo", { n })));

  expect(results).toEqual(['{"n":1}', '{"n":2}', '{"n":3}']);
  await changed;
  expect(connection.state).toMatchObject({ status: "ready", restarts: 1 });
  expect(known.size).toBe(1);
  await connection.close();
  expect(known.size).toBe(0);
});

test("a server that returns 404 to everything in a session does not cause endless sessions", async () => {
  let sessionsMade = 0;
  const { url } = await serveHTTP((request, response, body) => {
    if (request.method !== "POST" || request.headers["mcp-session-id"] !== undefined) {
      return void response.writeHead(body.includes("notifications/initialized") ? 202 : 404).end();
    }
    sessionsMade++;
    response.writeHead(200, { "content-type": "application/json", "mcp-session-id": String(sessionsMade) });
    const { id, params } = JSON.parse(body);
    const result = {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "x", version: "1" },
    };
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
  const connection = await connect({ url, protocol: "legacy", transport: "http" });

  await expect(call(connection, "echo")).rejects.toMatchObject({ code: "BAD_RESPONSE", details: { status: 404 } });

  await expect.poll(() => connection.state.status).not.toBe("restarting");
  expect(sessionsMade).toBeLessThanOrEqual(8);
});

test("a redirect within the origin is followed", async () => {
  const handler = createMcpHandler(() => buildServer());
  const { url } = await serveWeb(async (request) =>
    request.url.endsWith("/mcp")
      ? new Response(null, { status: 307, headers: { location: "/elsewhere" } })
      : handler.fetch(request),
  );

  const connection = await connect({ url });

  expect(await call(connection, "echo", {})).toBe("{}");
});

test("a server that cannot be reached is UNAVAILABLE until it is back", async () => {
  const { handle } = sessions();
  const first = await serveWeb(handle);
  const connection = await connect({ url: first.url, protocol: "legacy" });
  await stopHTTP(first.server);

  const error = await call(connection, "echo").catch((reason) => reason);
  expect(error).toMatchObject({
    code: "UNAVAILABLE",
    message: `The MCP server "tiny" cannot be reached at ${new URL(first.url).origin} (ECONNREFUSED).`,
    retryable: true,
    mayHaveRun: false,
  });

  await new Promise<void>((resolve) => first.server.listen(Number(new URL(first.url).port), "127.0.0.1", resolve));
  expect(await call(connection, "echo", {})).toBe("{}");
});

test("a server that does not exist is UNAVAILABLE", async () => {
  const { url, server } = await serveHTTP(() => {});
  await stopHTTP(server);

  await expect(openConnection("gone", { url })).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
});

test("an aborted call is ABORTED and reaches the server", async () => {
  const handler = createMcpHandler(() => buildServer());
  const arrived = new EventTarget();
  const started = new Promise((resolve) => arrived.addEventListener("call", resolve));
  const { url } = await serveWeb(
    (request) => handler.fetch(request),
    (_, body) => {
      if (body.includes('"hang"')) arrived.dispatchEvent(new Event("call"));
    },
  );
  const connection = await connect({ url });
  const leaving = new AbortController();

  const hanging = connection.callTool({ name: "hang" }, { tool: {}, signal: leaving.signal });
  await started;
  leaving.abort("enough");

  await expect(hanging).rejects.toMatchObject({ code: "ABORTED", cause: "enough", mayHaveRun: true });
  const early = connection.callTool({ name: "hang" }, { tool: {}, signal: leaving.signal });
  await expect(early).rejects.toMatchObject({ code: "ABORTED", mayHaveRun: false });
});

test.each([["auto" as const], ["legacy" as const]])(
  "with protocol %s changes of the tools are reported",
  async (protocol) => {
    const names = ["echo"];
    const { handle, known } = sessions();
    const modern = createMcpHandler(() => buildServer(names), { legacy: "reject" });
    onTestFinished(() => modern.close());
    const { url } = await serveWeb((request) => (protocol === "auto" ? modern.fetch(request) : handle(request)));
    const connection = await connect({ url, protocol });
    let received = 0;
    connection.onToolsChanged(() => void received++);

    await expect
      .poll(async () => {
        modern.notify.toolsChanged();
        for (const { server } of known.values()) await server.sendToolListChanged();
        return received;
      })
      .toBeGreaterThan(0);
  },
);

test("a stream of changes that ended is opened again and reports a possible change", async () => {
  let modern = createMcpHandler(() => buildServer());
  const { url } = await serveWeb((request) => modern.fetch(request));
  const connection = await connect({ url });
  const changed = new Promise<void>((resolve) => void connection.onToolsChanged(resolve));

  const old = modern;
  modern = createMcpHandler(() => buildServer());
  onTestFinished(() => modern.close());
  await old.close();

  await changed;
  expect(await call(connection, "echo", {})).toBe("{}");
});

test.each([
  [0, 500], // A server that requests no delay is not flooded.
  [700, 700],
])("a stream that requests a delay of %i ms is reopened after at least %i ms", async (requested, expected) => {
  const random = vi.spyOn(Math, "random").mockReturnValue(0);
  onTestFinished(() => random.mockRestore());
  const { handle } = sessions();
  const times: number[] = [];
  const { url } = await serveWeb(async (request) => {
    if (request.method !== "GET") return handle(request);
    times.push(performance.now());
    return new Response(`retry: ${requested}\nid: ${times.length}\ndata:\n\n`, {
      headers: { "content-type": "text/event-stream" },
    });
  });

  await connect({ url, protocol: "legacy" });

  await expect.poll(() => times.length).toBeGreaterThanOrEqual(3);
  const pauses = times.slice(1).map((time, index) => time - times[index]!);
  // Timers may be a few ms early by this clock.
  expect(Math.min(...pauses)).toBeGreaterThan(expected - 10);
});
