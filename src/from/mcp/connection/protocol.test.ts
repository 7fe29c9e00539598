import { InMemoryTransport } from "@modelcontextprotocol/client";
import { Server as OldServer } from "@modelcontextprotocol/sdk/server/index.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { CallToolRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Server } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { openConnection } from "./index.ts";
import { call, connect, modern, program, serveHTTP } from "./testing.ts";

test("2026-07-28 is used for a program that refuses the handshake, at restarts immediately", async () => {
  const connection = await connect(program(`${modern} calls.die = () => process.exit(1);`));
  const { state } = connection;

  await expect(call(connection, "die")).rejects.toMatchObject({ code: "UNAVAILABLE" });

  expect(state).toMatchObject({
    protocol: { era: "modern", version: "2026-07-28" },
    server: { name: "new", version: "3" },
  });
  expect(await call(connection, "echo", { a: 1 })).toBe('{"a":1}');
  expect(connection.state.protocol).toEqual({ era: "modern", version: "2026-07-28" });
});

test("a program that refuses the handshake fails with protocol legacy", async () => {
  const opening = openConnection("new", { ...program(modern), protocol: "legacy" });

  await expect(opening).rejects.toMatchObject({
    code: "BAD_RESPONSE",
    message: 'The handshake with the MCP server "new" failed: Method not found.',
  });
});

test("the error of a program that refuses the handshake is reported without secrets", async () => {
  const refusing = `
    const refuse = { code: -32000, message: "wrong key " + process.env.API_KEY };
    process.stdin.removeAllListeners("data").on("data", (chunk) => {
      for (const line of chunk.split("\\n").filter(Boolean)) send({ id: JSON.parse(line).id, error: refuse });
    });
  `;
  const opening = openConnection("picky", { ...program(refusing), env: { API_KEY: "s3cr3t-key" } });

  await expect(opening).rejects.toMatchObject({
    code: "BAD_RESPONSE",
    message: 'The handshake with the MCP server "picky" failed: wrong key [redacted].',
  });
});

test("an older program fails with protocol 2026-07-28", async () => {
  const opening = openConnection("old", { ...program(), protocol: "2026-07-28" });

  await expect(opening).rejects.toMatchObject({ code: "BAD_RESPONSE", mayHaveRun: false });
});

test.each([
  ["legacy", ""],
  ["modern", modern],
])("malformed tools and results of a %s server are returned unchanged", async (_, source) => {
  const tools = [
    { name: "no schema" },
    { name: "wrong", inputSchema: { type: "array" }, annotations: { readOnlyHint: "yes" } },
    null,
    7,
    { name: "good", inputSchema: { type: "object" }, outputSchema: { type: "number" }, future: { field: true } },
  ];
  const result = {
    content: [{ type: "hologram", data: 1 }, { type: "text", text: "x", extra: true }, { type: "image" }],
    structuredContent: 0,
    future: "field",
  };
  const connection = await connect(
    program(`
      handlers["tools/list"] = () => ({ tools: ${JSON.stringify(tools)} });
      calls.malformed = () => (${JSON.stringify(result)});
      calls.bare = () => ({});
      ${source}
    `),
  );

  expect(await connection.listTools()).toEqual([tools[0], tools[1], {}, {}, tools[4]]);
  expect(await connection.callTool({ name: "malformed" }, { tool: {} })).toMatchObject(result);
  expect(Object.keys(await connection.callTool({ name: "bare" }, { tool: {} }))).not.toContain("content");
});

test("all pages are read", async () => {
  const connection = await connect(
    program(`
      handlers["tools/list"] = ({ params }) => {
        const page = params.cursor === undefined ? 0 : Number(params.cursor || 1);
        return { tools: [tool("t" + page)], ...(page < 3 && { nextCursor: page === 0 ? "" : String(page + 1) }) };
      };
    `),
  );

  expect((await connection.listTools()).map(({ name }) => name)).toEqual(["t0", "t1", "t2", "t3"]);
});

test.each([
  [
    "pages",
    64,
    'The list of tools of the MCP server "tiny" does not end: the limit is 64. Raise limits.pages if you need more.',
  ],
  [
    "operations",
    10,
    'The MCP server "tiny" has too many tools: the limit is 10. Raise limits.operations if you need more.',
  ],
])("a list without end stops at limits.%s", async (limit, allowed, message) => {
  const connection = await connect({
    ...program('let n = 0; handlers["tools/list"] = () => ({ tools: [tool("t" + n)], nextCursor: String(n++) });'),
    limits: { [limit]: allowed },
  });

  await expect(connection.listTools()).rejects.toMatchObject({ code: "LIMIT_EXCEEDED", message, details: { limit } });
});

test("a list that is not an array is BAD_RESPONSE", async () => {
  const connection = await connect(program('handlers["tools/list"] = () => ({ tools: "many" });'));

  await expect(connection.listTools()).rejects.toMatchObject({ code: "BAD_RESPONSE" });
});

test("a server without tools has an empty list", async () => {
  const source = `
    const greet = handlers.initialize;
    handlers.initialize = (message) => ({ ...greet(message), capabilities: {} });
  `;
  const connection = await connect(program(source));

  expect(await connection.listTools()).toEqual([]);
});

test("other requests return their results unchanged", async () => {
  const connection = await connect(program('handlers["resources/list"] = () => ({ resources: [{ unusual: 1 }] });'));

  expect(await connection.request("resources/list")).toEqual({ resources: [{ unusual: 1 }] });
  await expect(connection.request("prompts/list")).rejects.toMatchObject({ name: "ProtocolError", code: -32601 });
});

test("requests of a server are refused", async () => {
  const source = `
    const methods = ["sampling/createMessage", "roots/list", "elicitation/create", "tools/call", "nonsense"];
    const results = {};
    calls.ask = (args, { id }) => {
      handlers.response = (response) => {
        results[response.id] = response.error?.code ?? response.result;
        if (Object.keys(results).length === methods.length) send({ id, result: text(JSON.stringify(results)) });
      };
      for (const method of methods) send({ id: method, method, params: { name: "echo", messages: [], message: "?" } });
    };
  `;
  const connection = await connect(program(source));

  expect(JSON.parse(await call(connection, "ask"))).toEqual({
    "sampling/createMessage": -32601,
    "roots/list": -32601,
    "elicitation/create": -32601,
    "tools/call": -32601,
    nonsense: -32601,
  });
});

test("progress is reported and does not extend the timeout", async () => {
  const source = `
    calls.work = (args, { params }) => {
      const { progressToken } = params._meta;
      let progress = 0;
      setInterval(() => send({ method: "notifications/progress", params: { progressToken, progress: ++progress } }), 10);
    };
  `;
  const connection = await connect(program(source));
  const received: number[] = [];

  const work = (timeout: number) => {
    received.length = 0;
    const onprogress = ({ progress }: { progress: number }) => void received.push(progress);
    return connection.callTool({ name: "work" }, { tool: {}, timeout, onprogress });
  };

  // On a busy machine, little may arrive in that time.
  for (let timeout = 300; received.length < 2; timeout *= 2) {
    await expect(work(timeout)).rejects.toMatchObject({ code: "TIMEOUT", mayHaveRun: true });
  }
  expect(received.slice(0, 2)).toEqual([1, 2]);
});

test("an aborted call is cancelled at the server, and its late response is ignored", async () => {
  const source = `
    let open, cancelled = [];
    calls.hang = (args, message) => { open = message.id; send({ method: "notifications/tools/list_changed" }); };
    handlers["notifications/cancelled"] = ({ params }) => {
      cancelled.push(params.requestId === open);
      send({ id: open, result: text("late") });
      send({ id: open, result: text("twice") });
    };
    calls.cancelled = () => text(JSON.stringify(cancelled));
  `;
  const connection = await connect(program(source));
  const leaving = new AbortController();
  const started = new Promise<void>((resolve) => void connection.onToolsChanged(resolve));

  const hanging = connection.callTool({ name: "hang" }, { tool: {}, signal: leaving.signal });
  await started;
  leaving.abort();

  await expect(hanging).rejects.toMatchObject({ code: "ABORTED", mayHaveRun: true });
  expect(await call(connection, "cancelled")).toBe("[true]");
});

test("several changes in a row are reported as one", async () => {
  const source = `calls.change = () => {
    for (let i = 0; i < 100; i++) send({ method: "notifications/tools/list_changed" });
    return text("done");
  }`;
  const connection = await connect(program(source));
  let received = 0;
  const changed = new Promise<void>((resolve) => {
    connection.onToolsChanged(() => {
      received++;
      resolve();
    });
  });

  await call(connection, "change");
  await changed;

  expect(received).toBe(1);
});

/** An HTTP+SSE server of 2024-11-05, created by the SDK of that time. */
async function serveSSE() {
  const open = new Map<string, SSEServerTransport>();
  const served = await serveHTTP(async (request, response, body) => {
    const url = new URL(request.url!, "http://localhost");
    if (request.method === "GET" && url.pathname === "/mcp") {
      const transport = new SSEServerTransport("/messages", response);
      open.set(transport.sessionId, transport);
      const server = new OldServer({ name: "ancient", version: "0.1" }, { capabilities: { tools: {} } });
      server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
        content: [{ type: "text", text: JSON.stringify(params.arguments) }],
      }));
      return server.connect(transport);
    }
    const transport = open.get(url.searchParams.get("sessionId") ?? "");
    if (transport === undefined) return void response.writeHead(404).end();
    await transport.handlePostMessage(request as never, response, JSON.parse(body));
  });
  return { ...served, open };
}

test("an HTTP+SSE server is detected, and reconnected when its stream breaks off", async () => {
  const { url, open } = await serveSSE();
  const connection = await connect({ url });
  expect(await call(connection, "echo", { a: 1 })).toBe('{"a":1}');
  const changed = new Promise<void>((resolve) => void connection.onToolsChanged(resolve));

  for (const transport of open.values()) await transport.close();
  await changed;

  expect(connection.state).toMatchObject({ status: "ready", restarts: 1, server: { name: "ancient" } });
  expect(await call(connection, "echo", { b: 2 })).toBe('{"b":2}');
});

test("an HTTP+SSE server can be configured as such", async () => {
  const { url } = await serveSSE();

  const connection = await connect({ url, transport: "sse" });

  expect(await call(connection, "echo", {})).toBe("{}");
});

test("a custom transport is used, and created again for a reconnect", async () => {
  let made = 0;
  const connection = await connect({
    async transport() {
      made++;
      const [ours, theirs] = InMemoryTransport.createLinkedPair();
      const server = new Server({ name: "inside", version: "1" }, { capabilities: { tools: {} } });
      server.setRequestHandler("tools/call", () => ({ content: [{ type: "text", text: "here" }] }));
      await server.connect(theirs);
      return ours;
    },
  });

  expect(await call(connection, "any")).toBe("here");
  await connection.reconnect();

  expect(await call(connection, "any")).toBe("here");
  expect(made).toBe(2);
});

test.each([
  ["neither command nor url", {}, 'Set either "command" for a program or "url"'],
  ["both", { command: "a", url: "https://a.example.com" }, 'Set either "command" for a program or "url"'],
  ["no URL", { url: "s3cr3t" }, '"url" must be an absolute URL'],
  ["a file", { url: "file:///etc/passwd" }, '"url" must use http or https'],
  ["credentials in the URL", { url: "https://u:s3cr3t@a.example.com" }, '"url" must not contain credentials'],
])("%s is refused before anything is started", async (_, config, problem) => {
  const error = await openConnection("malformed", config).catch((reason) => reason);

  expect(error).toMatchObject({ code: "VALIDATION_ERROR", mayHaveRun: false });
  expect(error.message).toContain(`The configuration of the MCP server "malformed" is invalid. ${problem}`);
  expect(error.message).not.toContain("s3cr3t");
});

test("a response whose id has another type than its request's is ignored and counted", async () => {
  const source = `calls.twice = (args, { id }) => {
    send({ id: String(id), result: text("wrong") });
    send({ id: String(id), error: { code: -32000, message: "wrong" } });
    send({ id, result: text("right") });
  }`;
  const connection = await connect(program(source));
  expect(Object.keys(connection.state)).not.toContain("ignoredResponses");

  expect(await call(connection, "twice")).toBe("right");

  expect(connection.state).toMatchObject({ status: "ready", ignoredResponses: 2 });
});
