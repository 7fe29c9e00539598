import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Type } from "typebox";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { deferred, until } from "../../internal/testing.ts";
import { CallError, httpEnvelope, type IOperationDefinition, type OperationContext } from "../../operation/inside.ts";
import { never, operation, registryOf, subscription } from "../../registry/testing.ts";
import { mcpMetaKey } from "../../transport/mcp-form.ts";
import { connect, generations, isModern, post, postCall, serve } from "./testing.ts";

const add = operation({
  namespace: "math",
  name: "add",
  title: "Add",
  description: "Adds two numbers.",
  inputSchema: Type.Object({ a: Type.Number(), b: Type.Number() }),
  outputSchema: Type.Object({ sum: Type.Number() }),
  handler: ({ a, b }: { a: number; b: number }) => ({ sum: a + b }),
});

/** A mutation that waits until it is aborted. */
function waiting(started: (signal: AbortSignal) => void): IOperationDefinition {
  const handler = (_input: unknown, { signal }: OperationContext) => {
    started(signal);
    return never;
  };
  return operation({ name: "wait", type: "mutation", handler });
}

describe.each(generations)("a client of %s", (generation) => {
  test("lists tools with schemas and annotations", async () => {
    const registry = registryOf(add, operation({ name: "save", type: "mutation", idempotent: true, description: "" }));
    const client = await connect(serve(registry), generation);
    expect(await client.listTools()).toMatchObject({
      tools: [
        {
          name: "math_add",
          title: "Add",
          description: "Adds two numbers.",
          inputSchema: { type: "object", properties: { a: { type: "number" } }, required: ["a", "b"] },
          outputSchema: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
          annotations: { title: "Add", readOnlyHint: true },
        },
        {
          name: "test_save",
          description: "The operation test.save.",
          inputSchema: { type: "object", properties: { input: {} }, additionalProperties: false },
          annotations: { readOnlyHint: false, idempotentHint: true },
        },
      ],
    });
  });

  test("receives structured content and a text block", async () => {
    const client = await connect(serve(registryOf(add)), generation);
    await client.listTools(); // The client then checks results against the output schema.
    const { content, structuredContent, isError } = await client.callTool({
      name: "math_add",
      arguments: { a: 1, b: 2 },
    });
    expect({ content, structuredContent, isError }).toEqual({
      content: [{ type: "text", text: '{"sum":3}' }],
      structuredContent: { sum: 3 },
      isError: undefined,
    });
  });

  test.each([
    ["a number", Type.Number(), 3],
    ["a list", Type.Array(Type.Number()), [1, 2]],
    ["null", Type.Null(), null],
    ["a union", Type.Union([Type.String(), Type.Object({ a: Type.Number() })]), { a: 1 }],
    ["unknown", Type.Unknown(), [{ a: 1 }]],
  ])("receives %s, in an object if older versions require it", async (_kind, schema, data) => {
    const registry = registryOf(operation({ inputSchema: schema, outputSchema: schema }));
    const client = await connect(serve(registry), generation);
    await client.listTools();
    const { structuredContent } = await client.callTool({ name: "test_echo", arguments: { input: data } });
    expect(structuredContent).toEqual(isModern(generation) ? data : { result: data });
  });

  test("receives bytes as a resource, and nothing for undefined", async () => {
    const bytes = new Uint8Array([104, 105]);
    const registry = registryOf(
      operation({ name: "bytes", handler: () => bytes }),
      operation({ name: "nothing", outputSchema: Type.Void(), handler: () => undefined }),
    );
    const client = await connect(serve(registry), generation);
    expect((await client.callTool({ name: "test_bytes" })).content).toEqual([
      {
        type: "resource",
        resource: { uri: "operation:test.bytes", mimeType: "application/octet-stream", blob: "aGk=" },
      },
    ]);
    expect((await client.callTool({ name: "test_nothing" })).content).toEqual([]);
  });

  test.each([
    ["another type", () => ({ sum: "x" }), '{"sum":"x"}', "/sum must be a number."],
    ["a string", () => "x", "x", "it must be an object."],
    ["null", () => null, "null", "it must be an object."],
    ["nothing", () => undefined, undefined, "it must be an object."],
  ])("receives %s in place of the declared output as an error with the data", async (_kind, handler, data, problem) => {
    const outputSchema = Type.Object({ sum: Type.Number() });
    const registry = registryOf(operation({ name: "drifts", inputSchema: Type.Object({}), outputSchema, handler }));
    const client = await connect(serve(registry), generation);
    await client.listTools();
    const { content, isError, structuredContent } = await client.callTool({ name: "test_drifts" });
    const isWrapped = !isModern(generation) && data !== undefined && !data.startsWith("{");
    const text = `The operation ran, but its result does not match its output schema. Invalid output of "test.drifts": ${
      isWrapped ? 'it must have the required property "sum".' : problem
    }`;
    const blocks = [data, text].filter((block) => block !== undefined);
    expect({ content, isError, structuredContent }).toEqual({
      content: blocks.map((block) => ({ type: "text", text: block })),
      isError: true,
      structuredContent: undefined,
    });
    const { isError: isFound } = await client.callTool({
      name: "call_operation",
      arguments: { operation: "test.drifts" },
    });
    expect(isFound).toBeUndefined(); // This tool has no output schema.
  });

  test("receives malformed blocks of other MCP servers, as text if they cannot be sent", async () => {
    const image = { type: "image", data: "data:image/png;base64,aGk=", mimeType: "image/png" };
    const content = [{ type: "text", text: "fine", annotations: { priority: 5 } }, image, { type: "video" }, null];
    const handler = () => ({ data: content, meta: { source: "mcp", isError: false, content } });
    const client = await connect(serve(registryOf(operation({ name: "blocks", handler }))), generation);
    expect((await client.callTool({ name: "test_blocks" })).content).toEqual([
      { type: "text", text: "fine" },
      ...[image, { type: "video" }, null].map((block) => ({ type: "text", text: JSON.stringify(block) })),
    ]);
  });

  test("receives an object without its symbols", async () => {
    const handler = () => ({ sum: 1, [Symbol("id")]: 2 });
    const client = await connect(serve(registryOf(operation({ handler }))), generation);
    expect((await client.callTool({ name: "test_echo" })).structuredContent).toEqual({ sum: 1 });
  });

  test("receives nothing for the empty response of an HTTP API that declares it", async () => {
    const registry = registryOf(
      operation({
        name: "remove",
        inputSchema: Type.Object({}),
        outputSchema: Type.Object({ id: Type.Number() }),
        _meta: { openapi: { mayBeEmpty: true } },
        handler: () => httpEnvelope(undefined, { statusCode: 204, headers: {}, contentType: "" }),
      }),
    );
    const client = await connect(serve(registry), generation);
    await client.listTools();
    const { content, isError } = await client.callTool({ name: "test_remove" });
    expect({ content, isError }).toEqual({ content: [], isError: undefined });
  });

  test("receives data that matches the output schema only as JSON", async () => {
    const outputSchema = Type.Object({ at: Type.String() });
    const handler = () => ({ at: new Date(0) });
    const registry = registryOf(operation({ name: "now", inputSchema: Type.Object({}), outputSchema, handler }));
    const client = await connect(serve(registry), generation);
    await client.listTools();
    const { structuredContent } = await client.callTool({ name: "test_now" });
    expect(structuredContent).toEqual({ at: "1970-01-01T00:00:00.000Z" });
  });

  test("receives values of a subscription that do not match as an error", async () => {
    const handler = async function* () {
      yield { tick: "one" };
    };
    const ticks = subscription(handler, { outputSchema: Type.Object({ tick: Type.Number() }) });
    const client = await connect(serve(registryOf(ticks)), generation);
    await client.listTools();
    const { content, isError } = await client.callTool({ name: "test_ticks" });
    expect([isError, content[0]]).toEqual([
      true,
      { type: "text", text: '{"values":[{"tick":"one"}],"complete":true}' },
    ]);
  });

  test("receives errors of operations as results", async () => {
    const registry = registryOf(
      operation({
        name: "taken",
        handler: () => {
          throw new CallError("TITLE_TAKEN", "The title is taken.", { title: "a" });
        },
      }),
      operation({
        name: "broken",
        handler: () => {
          throw new Error("secret");
        },
      }),
      operation({ name: "cyclic", outputSchema: Type.Unknown(), handler: () => ({ big: 1n }) }),
    );
    const client = await connect(serve(registry), generation);
    const taken = await client.callTool({ name: "test_taken" });
    expect(taken).toMatchObject({
      isError: true,
      content: [{ type: "text", text: 'TITLE_TAKEN: The title is taken.\n{"title":"a"}' }],
    });
    expect(taken._meta?.[mcpMetaKey]).toEqual({
      error: {
        code: "TITLE_TAKEN",
        message: "The title is taken.",
        details: { title: "a" },
        retryable: false,
        mayHaveRun: true,
      },
    });
    expect(taken).not.toHaveProperty("structuredContent");
    const broken = await client.callTool({ name: "test_broken" });
    expect(JSON.stringify(broken)).toContain("EXECUTION_ERROR: The operation failed. Request id: ");
    expect(JSON.stringify(broken)).not.toContain("secret");
    const cyclic = await client.callTool({ name: "test_cyclic" });
    expect(cyclic._meta?.[mcpMetaKey]).toMatchObject({ error: { code: "EXECUTION_ERROR", details: { path: "/big" } } });
  });

  test("receives invalid arguments as a result, and an unknown tool as an error", async () => {
    const client = await connect(serve(registryOf(add, operation({}))), generation);
    const code = (result: { _meta?: object }) => JSON.parse(JSON.stringify(result._meta))[mcpMetaKey].error.code;
    expect(code(await client.callTool({ name: "math_add", arguments: { a: 1 } }))).toBe("VALIDATION_ERROR");
    expect(code(await client.callTool({ name: "test_echo", arguments: { a: 1 } }))).toBe("VALIDATION_ERROR");
    await expect(client.callTool({ name: "math_ad" })).rejects.toMatchObject({
      code: -32602,
      message: 'Unknown tool "math_ad". Did you mean "math_add"?',
    });
    for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
      await expect(client.callTool({ name })).rejects.toMatchObject({
        code: -32602,
        message: `Unknown tool "${name}".`,
      });
    }
  });

  test("receives progress that increases", async () => {
    const seenAll = deferred();
    const handler = async (_input: unknown, { progress }: OperationContext) => {
      for (const step of [1, 2, 2, 1, 3]) progress({ progress: step, total: 3, message: `step ${step}` });
      await seenAll.promise; // The client drops progress that arrives together with the result.
    };
    const client = await connect(serve(registryOf(operation({ handler }))), generation);
    const seen: unknown[] = [];
    const onprogress = (progress: unknown) => {
      if (seen.push(progress) === 3) seenAll.resolve();
    };
    await client.callTool({ name: "test_echo" }, { onprogress });
    expect(seen).toEqual([1, 2, 3].map((step) => ({ progress: step, total: 3, message: `step ${step}` })));
  });

  test("cancels a call", async () => {
    const started = deferred<AbortSignal>();
    const client = await connect(serve(registryOf(waiting(started.resolve))), generation);
    const controller = new AbortController();
    const call = client.callTool({ name: "test_wait" }, { signal: controller.signal });
    const signal = await started.promise;
    controller.abort();
    await expect(call).rejects.toThrow();
    await until(() => signal.aborted);
  });

  test("reads a long list page by page, also while it changes", async () => {
    const names = Array.from({ length: 250 }, (_, index) => `n${index}`);
    const registry = registryOf(...names.map((name) => operation({ name })));
    const client = await connect(serve(registry, { mode: "tools" }), generation);
    const first = await client.request({ method: "tools/list", params: {} });
    expect(first.tools).toHaveLength(100);
    registry.unregister("test.n3");
    const second = await client.listTools({ cursor: first.nextCursor! });
    expect(second.tools.map(({ name }) => name)).toEqual(names.slice(100, 200).map((name) => `test_${name}`));
    expect((await client.listTools()).tools).toHaveLength(249);
    await expect(client.listTools({ cursor: "nowhere" })).rejects.toMatchObject({ code: -32602 });
  });

  test("is notified when the list changes", async () => {
    const registry = registryOf(add);
    let notified = 0;
    const client = await connect(serve(registry), generation, { onTools: () => notified++ });
    await client.listTools();
    await until(() => {
      registry.replace(operation({ name: "new" })); // Again, because a legacy client opens its stream later.
      return notified > 0;
    });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["math_add", "test_new"]);
  });

  test("collects the values of a subscription", async () => {
    const registry = registryOf(
      subscription(
        async function* () {
          yield* [1, 2];
        },
        { name: "short", outputSchema: Type.Number() },
      ),
      subscription(
        async function* () {
          for (let value = 0; ; value++) yield value;
        },
        { name: "endless", outputSchema: Type.Number() },
      ),
      subscription(
        // biome-ignore lint/correctness/useYield: the subscription fails before its first value.
        async function* () {
          throw new CallError("GONE", "It is gone.");
        },
        { name: "failing" },
      ),
    );
    const client = await connect(serve(registry), generation);
    await client.listTools();
    const call = async (name: string) => (await client.callTool({ name })).structuredContent;
    expect(await call("test_short")).toEqual({ values: [1, 2], complete: true });
    expect(await call("test_endless")).toEqual({
      values: Array.from({ length: 100 }, (_, index) => index),
      complete: false,
    });
    expect(await client.callTool({ name: "test_failing" })).toMatchObject({
      isError: true,
      content: [{ text: "GONE: It is gone." }],
    });
  });

  test("receives the newest progress if it reads slowly, and then the result", async () => {
    const [reported, read] = [deferred(), deferred()];
    const handler = async (_input: unknown, { progress }: OperationContext) => {
      for (let step = 1; step <= 2_000; step++) {
        progress({ progress: step, message: "x".repeat(1_000) });
        if (step % 100 === 0) await new Promise(setImmediate);
      }
      reported.resolve();
      await read.promise;
      return "finished";
    };
    const server = serve(registryOf(operation({ name: "work", handler })));
    const response = await postCall(server, generation, { name: "test_work", _meta: { progressToken: "p" } });
    await reported.promise;
    read.resolve();
    const events = (await response.text()).split("\n").filter((line) => line.startsWith("data: "));
    const messages = events.map((line) => JSON.parse(line.slice(6)));
    expect(messages.length).toBeLessThan(200);
    expect(messages.slice(-2)).toMatchObject([
      { params: { progressToken: "p", progress: 2_000 } },
      { result: { content: [{ text: "finished" }] } },
    ]);
  });

  test("cannot choose a long progress token", async () => {
    const server = serve(registryOf(operation({})));
    const response = await postCall(server, generation, {
      name: "test_echo",
      _meta: { progressToken: "x".repeat(1_025) },
    });
    expect(await response.text()).toContain("The progress token is longer than 1024 characters.");
  });

  test("receives the first values of a subscription whose values are large", async () => {
    const endless = (name: string, size: number) => {
      const handler = async function* () {
        for (;;) yield "x".repeat(size);
      };
      return subscription(handler, { name, outputSchema: Type.String() });
    };
    const client = await connect(
      serve(registryOf(endless("large", 1_000_000), endless("huge", 70_000_000))),
      generation,
    );
    const { structuredContent } = await client.callTool({ name: "test_large" });
    expect(structuredContent).toMatchObject({ values: { length: 4 }, complete: false });
    expect(await client.callTool({ name: "test_huge" })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^LIMIT_EXCEEDED: The result is too large/) }],
    });
  });

  test.each([
    ["result", () => "x".repeat(200_000_000)],
    [
      "error",
      () => {
        throw new CallError("FULL", "It is full.", { text: "x".repeat(200_000_000) });
      },
    ],
  ])("receives an error for a %s that is too large", async (_kind, handler) => {
    const client = await connect(serve(registryOf(operation({ handler }))), generation);
    expect(await client.callTool({ name: "test_echo", arguments: {} })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^LIMIT_EXCEEDED: The result is too large/) }],
    });
  });

  test("keeps equal message ids of different clients apart", async () => {
    const echo = operation({
      handler: async ({ nonce }: { nonce: string }) => ({ nonce }),
      inputSchema: Type.Object({}),
    });
    const server = serve(registryOf(echo));
    const clients = await Promise.all(Array.from({ length: 10 }, () => connect(server, generation)));
    const results = await Promise.all(
      clients.flatMap((client, index) =>
        Array.from({ length: 10 }, async (_, call) => {
          const nonce = `${index}:${call}`;
          const { structuredContent } = await client.callTool({ name: "test_echo", arguments: { nonce } });
          return (structuredContent as { nonce: string }).nonce === nonce;
        }),
      ),
    );
    expect(results).toHaveLength(100);
    expect(results.every(Boolean)).toBe(true);
  });
});

test("a subscription as a tool ends after 20 seconds", async () => {
  const ended = deferred();
  const slow = subscription(
    async function* (_input, { signal }: OperationContext) {
      signal.addEventListener("abort", () => ended.resolve());
      yield 1;
      await never;
    },
    { name: "slow" },
  );
  const client = await connect(serve(registryOf(slow)), "2026-07-28");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const call = client.callTool({ name: "test_slow" });
  await vi.advanceTimersByTimeAsync(20_000);
  expect((await call).structuredContent).toEqual({ values: [1], complete: false });
  await ended.promise;
});

test.each([
  ["in this process", (envelope: unknown) => envelope],
  ["of a peer", (envelope: unknown) => JSON.parse(JSON.stringify(envelope))],
])("results of other MCP servers %s keep their blocks, and only them", async (_place, transfer) => {
  const define = (name: string, isError: boolean, content: unknown[]) =>
    operation({ name, handler: () => transfer({ data: content, meta: { source: "mcp", isError, content } }) });
  const registry = registryOf(
    define("picture", false, [{ type: "image", data: "aGk=", mimeType: "image/png" }]),
    define("fails", true, [{ type: "text", text: "It failed." }]),
  );
  const client = await connect(serve(registry), "2026-07-28");
  const resultOf = async (name: string) => {
    const { _meta, ...result } = await client.callTool({ name });
    return { ...result, own: _meta?.["dev.alkdev/operations"] };
  };
  expect(await resultOf("test_picture")).toEqual({
    content: [{ type: "image", data: "aGk=", mimeType: "image/png" }],
  });
  expect(await resultOf("test_fails")).toEqual({ content: [{ type: "text", text: "It failed." }], isError: true });
});

test("a client of version 1 of the SDK lists and calls tools", async () => {
  const server = serve(registryOf(add, operation({ name: "numbers", outputSchema: Type.Array(Type.Number()) })));
  const client = new OlderClient({ name: "test", version: "1.0.0" });
  const fetch = async (url: string | URL, init?: RequestInit) => server.fetch(new Request(url, init));
  await client.connect(new OlderTransport(new URL("http://localhost/mcp"), { fetch }) as never);
  onTestFinished(() => client.close());
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["math_add", "test_numbers"]);
  const sum = await client.callTool({ name: "math_add", arguments: { a: 1, b: 2 } });
  expect(sum.structuredContent).toEqual({ sum: 3 });
  const numbers = await client.callTool({ name: "test_numbers", arguments: { input: [1] } });
  expect(numbers.structuredContent).toEqual({ result: [1] });
  expect(await client.callTool({ name: "math_add", arguments: {} })).toMatchObject({ isError: true });
});

describe("requests", () => {
  const modern = (method: string, params: object = {}) => ({
    jsonrpc: "2.0",
    id: 1,
    method,
    params: {
      ...params,
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
      },
    },
  });
  const modernHeaders = (method: string, name?: string) => ({
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    ...(name !== undefined && { "mcp-name": name }),
  });

  test.each([
    ["a different method in the header", modern("tools/list"), modernHeaders("tools/call"), 400, -32020],
    [
      "a different name in the header",
      modern("tools/call", { name: "math_add", arguments: {} }),
      modernHeaders("tools/call", "other"),
      400,
      -32020,
    ],
    ["an unknown method", modern("nothing/known"), modernHeaders("nothing/known"), 404, -32601],
    ["a removed method", modern("ping"), modernHeaders("ping"), 404, -32601],
    ["invalid JSON", "{", {}, 400, -32700],
    ["JSON that is too deep", `${"[".repeat(300)}${"]".repeat(300)}`, {}, 400, -32700],
    ["another content type", "{}", { "content-type": "text/plain" }, 415, -32000],
    ["a body that is too large", `"${"x".repeat(3000)}"`, {}, 413, -32000],
    ["a message without a session", { jsonrpc: "2.0", id: 1, method: "tools/list" }, {}, 400, -32000],
    [
      "an unknown session",
      { jsonrpc: "2.0", id: 1, method: "tools/list" },
      { "mcp-session-id": "unknown" },
      404,
      -32001,
    ],
    ["a foreign host", modern("tools/list"), { ...modernHeaders("tools/list"), host: "evil.test" }, 403, -32000],
    [
      "a foreign page",
      modern("tools/list"),
      { ...modernHeaders("tools/list"), origin: "https://evil.test" },
      403,
      -32000,
    ],
  ])("with %s are refused", async (_problem, message, headers, status, code) => {
    const response = await post(serve(registryOf(add), { limits: { requestBytes: 2_000 } }), message, headers);
    expect({ status: response.status, code: (await response.json()).error.code }).toEqual({ status, code });
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  });

  test("of older versions receive invalid arguments as an error", async () => {
    const server = serve(registryOf(add));
    const start = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "old", version: "1" } };
    const opened = await post(server, { jsonrpc: "2.0", id: 1, method: "initialize", params: start });
    await opened.text();
    const headers = {
      "mcp-session-id": opened.headers.get("mcp-session-id")!,
      "mcp-protocol-version": "2025-06-18",
    };
    const params = { name: "math_add", arguments: { a: 1 } };
    const response = await post(server, { jsonrpc: "2.0", id: 2, method: "tools/call", params }, headers);
    const message = 'Invalid input of "math.add": it must have the required property "b".';
    const data = { "dev.alkdev/operations": { error: { code: "VALIDATION_ERROR", message, mayHaveRun: false } } };
    expect(await response.json()).toMatchObject({ id: 2, error: { code: -32_602, message, data } });
  });

  test.each(["GET", "DELETE", "PUT"])("with %s and without a session are refused", async (method) => {
    const response = await serve(registryOf(add)).fetch(new Request("http://localhost/mcp", { method }));
    expect({ status: response.status, allow: response.headers.get("allow") }).toEqual({ status: 405, allow: "POST" });
  });

  test("to a path below the mounted server are not found", async () => {
    const server = serve(registryOf(add));
    const request = () => new Request("http://localhost/mcp/other", { method: "POST" });
    expect((await server.fetch(request(), { basePath: "/mcp" })).status).toBe(404);
  });
});
