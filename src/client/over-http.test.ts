import { describe, expect, onTestFinished, test, vi } from "vitest";
import { operation, subscription } from "../call/testing.ts";
import { createRegistry, type IOperationDefinition } from "../index.ts";
import { listen as listenOnNode } from "../node/index.ts";
import type { Limits } from "../operation/index.ts";
import { serveHTTP } from "../serve/http/index.ts";
import { type CallError, connect } from "./index.ts";
import { collect, envelopeHeaders, failureOf, listen, setUp, streamHeaders } from "./testing.ts";

describe("requests", () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

  test("a call is a POST with the input as JSON", async () => {
    const { create, received } = await setUp(undefined, { token: "sesame", metadata: { traceparent, city: "Zürich" } });

    await create({}); // Loads what the time limit of a first call includes.

    const data = await create({ title: "Ship it", due: new Date(0), none: undefined }, { timeout: 59_500 });

    expect(data).toBe("done");
    expect(received.slice(1)).toEqual([
      {
        method: "POST",
        path: "/task/create",
        headers: expect.objectContaining({
          accept: "application/vnd.alkdev.envelope+json",
          authorization: "Bearer sesame",
          "content-type": "application/json",
          prefer: "wait=60",
          traceparent,
        }),
        body: '{"title":"Ship it","due":"1970-01-01T00:00:00.000Z"}',
      },
    ]);
  });

  test("a call without input, token, metadata and time limit has neither a body nor their headers", async () => {
    const { create, received } = await setUp();

    await create(undefined, { timeout: Number.POSITIVE_INFINITY });

    const { headers, body } = received[0]!;
    expect(body).toBe("");
    expect(Object.keys(headers)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(authorization|content-type|traceparent|prefer)$/)]),
    );
  });

  test.each([
    ["", "/task/create"],
    ["/", "/task/create"],
    ["/api", "/api/task/create"],
    ["/api/", "/api/task/create"],
    ["/a%20b/c//", "/a%20b/c/task/create"],
  ])("operations of a server at %j are below that path", async (base, path) => {
    const { origin, received } = await listen();
    await using client = connect(origin + base);

    await client["task"]!["create"]!({});

    expect(received.map((request) => request.path)).toEqual([path]);
  });

  test.each([
    ["issues/create", "/task/issues/create"],
    ["a b?c#d%2e", "/task/a%20b%3Fc%23d%252e"],
    ["ü.x", "/task/%C3%BC.x"],
    ["a//b/", "/task/a//b/"],
    ["...", "/task/..."],
  ])("the name %j becomes the path %j", async (name, path) => {
    const { client, received } = await setUp();

    await client["task"]![name]!({});

    expect(received.map((request) => request.path)).toEqual([path]);
  });

  test.each(["..", ".", "../admin/create", "a/./b", "a/..", "\ud800"])(
    "the name %j, which would reach another path, is not found",
    async (name) => {
      const { client, received } = await setUp();

      const error = await failureOf(client["task"]![name]!({}));

      expect(error).toMatchObject({ code: "OPERATION_NOT_FOUND", mayHaveRun: false });
      expect(received).toEqual([]);
    },
  );

  test.each([
    ["a bigint", { list: [{ id: 1n }] }, "/list/0/id"],
    ["bytes", { file: new Uint8Array(2) }, "/file"],
    ["a Map", { "a/b": new Map() }, "/a~1b"],
    ["NaN", [1, Number.NaN], "/1"],
    ["undefined in an array", [undefined], "/0"],
    ["a function", () => {}, ""],
    ["a Blob", new Blob(["x"]), ""],
    ["an invalid Date", { at: new Date(Number.NaN) }, "/at"],
  ])("input that contains %s fails with its path, and is not sent", async (_kind, input, path) => {
    const { create, received } = await setUp();

    const error = await failureOf(create(input));

    expect(error).toMatchObject({ code: "EXECUTION_ERROR", details: { path }, mayHaveRun: false });
    expect(received).toEqual([]);
  });

  test("input that contains itself fails, and is not sent", async () => {
    const { create, received } = await setUp();
    const input: Record<string, unknown> = {};
    input["self"] = input;

    const error = await failureOf(create(input));

    expect(error).toMatchObject({ code: "EXECUTION_ERROR", mayHaveRun: false });
    expect(received).toEqual([]);
  });

  test.each(["a\nb", "ü", "two words"])("the token %j is refused, and not part of the message", async (token) => {
    const { create, received } = await setUp(undefined, { token });

    const error = await failureOf(create({}));

    expect(error).toMatchObject({
      code: "VALIDATION_ERROR",
      message: "The token contains characters that are not allowed in a header. Use printable ASCII.",
      mayHaveRun: false,
    });
    expect(received).toEqual([]);
  });

  test("headers are sent with every request, and do not replace those of the protocol", async () => {
    const headers = { "X-API-Key": "key 1", Authorization: "Basic x", Accept: "text/html" };
    const { create, received } = await setUp(undefined, { token: "sesame", headers });

    await create({});

    expect(received.map((request) => request.headers)).toMatchObject([
      {
        "x-api-key": "key 1",
        authorization: "Bearer sesame",
        accept: "application/vnd.alkdev.envelope+json",
      },
    ]);
  });

  test.each([
    ["X-API-Key", "a\nb"],
    ["X-API-Key", "ü"],
    ["X Key", "a"],
  ])("the header %j with the value %j is refused, and the value is not part of the message", async (name, value) => {
    const { create, received } = await setUp(undefined, { headers: { [name]: value } });

    const error = await failureOf(create({}));

    expect(error).toMatchObject({
      code: "VALIDATION_ERROR",
      message: `The header "${name}" contains characters that are not allowed in a header. Use printable ASCII.`,
      mayHaveRun: false,
    });
    expect(received).toEqual([]);
  });

  test("a function of its own sends the requests, and reads the responses", async () => {
    const ids: Array<string | null> = [];
    const send = async (url: string, init: RequestInit) => {
      const response = await fetch(url, init);
      ids.push(response.headers.get("request-id"));
      return response;
    };
    const { create } = await setUp(
      (response) => response.writeHead(200, { ...envelopeHeaders, "request-id": "r1" }).end('{"data":1,"meta":{}}'),
      { fetch: send },
    );

    expect(await create({})).toBe(1);
    expect(ids).toEqual(["r1"]);
  });

  test("a token function is called for every request", async () => {
    let count = 0;
    const { create, received } = await setUp(undefined, { token: () => `token-${++count}` });

    await create({});
    await create({});

    expect(received.map(({ headers }) => headers.authorization)).toEqual(["Bearer token-1", "Bearer token-2"]);
  });
});

describe("network", () => {
  test("a server that is not there is UNAVAILABLE, and nothing ran", async () => {
    const { create, origin, close } = await setUp();
    await close();

    const error = await failureOf(create({}));

    expect(error).toMatchObject({
      code: "UNAVAILABLE",
      message: `The server at ${origin} could not be reached: the connection was refused (ECONNREFUSED).`,
      retryable: true,
      mayHaveRun: false,
    });
  });

  test("a connection that is lost after the request was sent is UNAVAILABLE, and the call may have run", async () => {
    const { create } = await setUp((response) => response.destroy());

    const error = await failureOf(create({}));

    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true, mayHaveRun: true });
  });

  test("a connection that is lost in the middle of a response or stream is UNAVAILABLE", async () => {
    const { client } = await setUp((response, { path }) => {
      response.writeHead(200, path === "/task/changes" ? streamHeaders : envelopeHeaders);
      response.write("{", () => response.destroy());
    });
    const lost = { code: "UNAVAILABLE", retryable: true, mayHaveRun: true };

    expect(await failureOf(client["task"]!["create"]!({}))).toMatchObject(lost);
    expect(await failureOf(client["task"]!["changes"]!().next())).toMatchObject(lost);
  });

  test("a failure while the response is read never claims that nothing ran", async () => {
    vi.stubGlobal("fetch", async () => {
      const cause = Object.assign(new Error(), { code: "ENETUNREACH" });
      const pull = (controller: ReadableStreamDefaultController) => controller.error(new TypeError("x", { cause }));
      return new Response(new ReadableStream({ pull }), { headers: envelopeHeaders });
    });
    onTestFinished(() => void vi.unstubAllGlobals());
    await using client = connect("http://127.0.0.1:9/");

    const error = await failureOf(client["task"]!["create"]!({}));

    expect(error).toMatchObject({
      code: "UNAVAILABLE",
      message:
        'The connection to http://127.0.0.1:9 was lost before "task.create" ended: the network cannot be reached (ENETUNREACH).',
      mayHaveRun: true,
    });
  });

  test("an error without a known cause, as browsers and other runtimes report it, is UNAVAILABLE", async () => {
    vi.stubGlobal("fetch", () => Promise.reject(new Error("Bearer sesame is not liked")));
    onTestFinished(() => void vi.unstubAllGlobals());
    await using client = connect("http://127.0.0.1:9/", { token: "sesame" });

    const error = await failureOf(client["task"]!["create"]!({}));

    expect(error).toMatchObject({
      code: "UNAVAILABLE",
      message: "The server at http://127.0.0.1:9 could not be reached.",
      mayHaveRun: true,
    });
    expect((error as Error).cause).toBeUndefined();
  });

  test("a function that fails without an error is UNAVAILABLE", async () => {
    const { client } = await setUp(undefined, { fetch: () => Promise.reject() });
    const lost = { code: "UNAVAILABLE", mayHaveRun: true };

    expect(await failureOf(client["task"]!["create"]!({}))).toMatchObject(lost);
    expect(await failureOf(client["task"]!["changes"]!().next())).toMatchObject(lost);
  });

  test("one signal may be that of many calls", async () => {
    const warned = vi.fn();
    process.on("warning", warned);
    onTestFinished(() => void process.off("warning", warned));
    const { create, received } = await setUp(() => {});
    const { signal } = new AbortController();

    for (let calls = 0; calls < 20; calls++) void failureOf(create({}, { signal }));
    await vi.waitFor(() => expect(received).toHaveLength(20));

    expect(warned).not.toHaveBeenCalled();
  });

  test("aborting, leaving and closing end the requests", async () => {
    let open = 0;
    const { client } = await setUp((response, { path }) => {
      open += 1;
      response.on("close", () => (open -= 1));
      if (path === "/task/changes") response.writeHead(200, streamHeaders).flushHeaders();
    });
    const { create, changes } = client["task"] as Record<string, (typeof client)[string][string]>;
    const controller = new AbortController();
    const aborted = failureOf(create!({}, { signal: controller.signal }));
    const left = changes!();
    const next = left.next();
    const closed = failureOf(create!({}));
    const closedStream = failureOf(changes!().next());
    await vi.waitFor(() => expect(open).toBe(4));

    const timedOut = await failureOf(create!({}, { timeout: 300 }));
    controller.abort();
    await left.return?.();
    expect(await aborted).toMatchObject({ code: "ABORTED", mayHaveRun: true });
    expect(timedOut).toMatchObject({ code: "TIMEOUT", mayHaveRun: true });
    expect(await next).toEqual({ done: true, value: undefined });
    await vi.waitFor(() => expect(open).toBe(2));
    await client.close();

    expect(await closed).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });
    expect(await closedStream).toMatchObject({ code: "UNAVAILABLE" });
    await vi.waitFor(() => expect(open).toBe(0));
  });

  test("more calls than pendingCalls are refused", async () => {
    const { create } = await setUp(() => {}, { limits: { pendingCalls: 1 } });
    void failureOf(create({}));

    const error = await failureOf(create({}));

    expect(error).toMatchObject({ code: "LIMIT_EXCEEDED", details: { limit: "pendingCalls" }, mayHaveRun: false });
  });
});

describe("serveHTTP", () => {
  const bytes = new Uint8Array([0, 255, 1]);

  /** A client of a server with these operations. */
  async function serve(operations: IOperationDefinition[], limits?: Limits) {
    const server = serveHTTP(createRegistry({ operations }), { authenticate: "none", limits });
    const listener = await listenOnNode({ "/": server }, { closeTimeout: 0 });
    const client = connect(listener.url);
    onTestFinished(async () => {
      await client.close();
      await listener.close();
    });
    return client["test"]!;
  }

  test.each(["issues/create", "a b", "ü.x", "a%2fb", "a?b#c", "a//b", "/a", "a/", "...", "@x:y;z=1", "'()*!~\\"])(
    "an operation with the name %j is called",
    async (name) => {
      const operations = await serve([operation(name, () => name)]);

      expect(await operations[name]!()).toBe(name);
    },
  );

  test.each([
    ["undefined", undefined, undefined],
    ["null", null, null],
    ["a date", { at: new Date(0) }, { at: "1970-01-01T00:00:00.000Z" }],
    ["bytes", bytes, bytes],
    ["a buffer", bytes.buffer, bytes],
    ["no bytes", new Uint8Array(), new Uint8Array()],
    ["__proto__", JSON.parse('{"__proto__":{"x":1}}'), JSON.parse('{"__proto__":{"x":1}}')],
  ])("%s arrives, as a result and in a stream", async (_kind, value, expected) => {
    const operations = await serve([
      operation("call", () => value),
      subscription("stream", async function* () {
        yield value;
      }),
    ]);

    expect(await operations["call"]!()).toStrictEqual(expected);
    expect(await collect(operations["stream"]!())).toStrictEqual([expected]);
  });

  test("the error of a call has the id of its request", async () => {
    const operations = await serve([
      operation("call", () => {
        throw new Error("secret");
      }),
    ]);

    const error = (await failureOf(operations["call"]!())) as CallError;

    expect(error).toMatchObject({ code: "EXECUTION_ERROR", requestId: expect.stringMatching(/./) });
    expect(error.message).toContain(error.requestId);
    expect(error.toJSON()).not.toHaveProperty("requestId");
  });

  test("a handler receives the id of the last event that its caller has", async () => {
    const operations = await serve([
      subscription("stream", async function* (_input, { lastEventId }) {
        yield lastEventId;
      }),
    ]);

    expect(await collect(operations["stream"]!({}, { lastEventId: "7" }))).toEqual(["7"]);
  });

  test("input that is too large is refused by the server, and not run", async () => {
    const handler = vi.fn();
    const operations = await serve([operation("call", handler)], { requestBytes: 1_000 });

    const error = await failureOf(operations["call"]!({ text: "x".repeat(5_000_000) }));

    expect(error).toMatchObject({ code: "PAYLOAD_TOO_LARGE", details: { limit: "requestBytes" }, mayHaveRun: false });
    expect(handler).not.toHaveBeenCalled();
  });
});
