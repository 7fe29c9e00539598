import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { operation, subscription } from "../call/testing.ts";
import { createRegistry, type IOperationDefinition } from "../index.ts";
import { listen as listenOnNode } from "../node/index.ts";
import type { Limits } from "../operation/index.ts";
import { serveHTTP } from "../serve/http/index.ts";
import { type ConnectOptions, connect } from "./index.ts";

/** A request as the server received it. */
interface Received {
  method: string | undefined;
  path: string | undefined;
  headers: IncomingMessage["headers"];
  body: string;
}

type Respond = (response: ServerResponse, received: Received) => void;

const localMeta = { source: "local", operationId: "task.create", timestamp: 1 } as const;
const envelopeHeaders = { "content-type": "application/vnd.alkdev.envelope+json" };
const problemHeaders = { "content-type": "application/problem+json" };
const streamHeaders = { "content-type": "text/event-stream" };

const sendEnvelope: Respond = (response) => {
  response.writeHead(200, envelopeHeaders).end(JSON.stringify({ data: "done", meta: localMeta }));
};

/** A server that responds as the test says, and the requests that it received. */
async function listen(respond: Respond = sendEnvelope) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { method, url: path, headers } = request;
    received.push({ method, path, headers, body });
    respond(response, received.at(-1)!);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(close);
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received, close };
}

/** A client of a server that responds as the test says. */
async function setUp(respond?: Respond, options?: ConnectOptions) {
  const { origin, received, close } = await listen(respond);
  const client = connect(`${origin}/`, options);
  onTestFinished(() => client.close());
  return { create: client["task"]!["create"]!, client, origin, received, close };
}

/** Calls and returns the error. */
async function failureOf(call: PromiseLike<unknown>): Promise<unknown> {
  return call.then(
    (value) => Promise.reject(new Error(`The call returned ${JSON.stringify(value)}.`)),
    (error: unknown) => error,
  );
}

/** Reads a subscription to its end or its failure. */
async function collect(values: AsyncIterable<unknown>): Promise<unknown[]> {
  const collected: unknown[] = [];
  for await (const value of values) collected.push(value);
  return collected;
}

describe("requests", () => {
  test("a call is a POST with the input as JSON", async () => {
    const { create, received } = await setUp(undefined, { token: "sesame", metadata: { city: "Zürich", n: 1 } });

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
          "operation-metadata": '{"city":"Z\\u00fcrich","n":1}',
          prefer: "wait=60",
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
      expect.arrayContaining([expect.stringMatching(/^(authorization|content-type|operation-metadata|prefer)$/)]),
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
      message: "The token contains characters that are not allowed in a header. Tokens consist of printable ASCII.",
      mayHaveRun: false,
    });
    expect(received).toEqual([]);
  });

  test("metadata that does not fit into a header is refused", async () => {
    const { create, received } = await setUp();

    const error = await failureOf(create({}, { metadata: { text: "x".repeat(9_000) } }));

    expect(error).toMatchObject({ code: "PAYLOAD_TOO_LARGE", mayHaveRun: false });
    expect(received).toEqual([]);
  });

  test("a token function is called for every request", async () => {
    let count = 0;
    const { create, received } = await setUp(undefined, { token: () => `token-${++count}` });

    await create({});
    await create({});

    expect(received.map(({ headers }) => headers.authorization)).toEqual(["Bearer token-1", "Bearer token-2"]);
  });
});

describe("responses", () => {
  test.each([
    ["data", '{"data":{"a":[1]},"meta":META}', { a: [1] }],
    ["no data", '{"meta":META}', undefined],
    ["bytes", '{"data":"AQID","encoding":"base64","meta":META}', new Uint8Array([1, 2, 3])],
    ["unknown properties", '{"data":1,"later":2,"meta":META}', 1],
  ])("an envelope with %s", async (_kind, body, data) => {
    const { create } = await setUp((response) => {
      response.writeHead(200, envelopeHeaders).end(body.replace("META", JSON.stringify(localMeta)));
    });

    const envelope = await create.envelope({});

    expect(envelope).toStrictEqual({ data, meta: localMeta });
  });

  test("a property __proto__ is data", async () => {
    const { create } = await setUp((response) => {
      const body = `{"data":{"__proto__":{"isAdmin":true}},"meta":${JSON.stringify(localMeta)}}`;
      response.writeHead(200, envelopeHeaders).end(body);
    });

    const data = (await create({})) as Record<string, unknown>;

    expect([Object.keys(data), data["isAdmin"], Object.getPrototypeOf(data)]).toEqual([
      ["__proto__"],
      undefined,
      Object.prototype,
    ]);
  });

  test("a problem is the original error, whatever its status", async () => {
    const problem = {
      title: "Conflict",
      status: 409,
      detail: "There is a task with this title.",
      code: "TITLE_TAKEN",
      details: { title: "x" },
      retryable: true,
      mayHaveRun: false,
      requestId: "1",
    };
    const { create } = await setUp((response) => {
      response.writeHead(200, problemHeaders).end(JSON.stringify(problem));
    });

    const error = await failureOf(create({}));

    expect(error).toMatchObject({
      name: "CallError",
      code: "TITLE_TAKEN",
      message: "There is a task with this title.",
      details: { title: "x" },
      retryable: true,
      mayHaveRun: false,
    });
  });

  const page = { "content-type": "text/html; charset=utf-8" };
  const notOurs =
    'The response to "task.create" is not from a server of operations: it has status %s and content type %t. Check the URL that you passed to connect().';
  test.each([
    [200, page, "BAD_RESPONSE", false],
    [200, {}, "BAD_RESPONSE", false],
    [200, { "content-type": "application/json" }, "BAD_RESPONSE", false],
    [200, streamHeaders, "BAD_RESPONSE", false],
    [204, {}, "BAD_RESPONSE", false],
    [404, page, "BAD_RESPONSE", false],
    [404, problemHeaders, "BAD_RESPONSE", false],
    [500, envelopeHeaders, "BAD_RESPONSE", false],
    [401, page, "UPSTREAM_DENIED", false],
    [403, page, "UPSTREAM_DENIED", false],
    [413, page, "PAYLOAD_TOO_LARGE", false],
    [429, page, "LIMIT_EXCEEDED", true],
    [502, page, "UNAVAILABLE", true],
    [503, page, "UNAVAILABLE", true],
    [504, page, "UNAVAILABLE", true],
  ])("a response with status %i and headers %j that is not ours is %s", async (status, headers, code, retryable) => {
    const { create } = await setUp((response) => {
      response.writeHead(status, headers).end(status === 204 ? undefined : '{"title":"not ours"}');
    });
    const contentType = (headers as Record<string, string>)["content-type"] ?? "";

    const error = await failureOf(create({}));

    expect(error).toMatchObject({
      code,
      message: notOurs.replace("%s", String(status)).replace("%t", JSON.stringify(contentType)),
      details: { operationId: "task.create", status, contentType },
      retryable,
      mayHaveRun: true,
    });
  });

  test.each([301, 302, 303, 307, 308])("a redirect with status %i is not followed", async (status) => {
    const other = await listen();
    const { create, received } = await setUp(
      (response) => response.writeHead(status, { location: `${other.origin}/task/create` }).end(),
      { token: "sesame" },
    );

    const error = await failureOf(create({}));

    expect(error).toMatchObject({
      code: "BAD_RESPONSE",
      message:
        'The server redirects "task.create". Redirects are not followed, because the token must not reach another server. Pass the final URL to connect().',
    });
    expect([received.length, other.received]).toEqual([1, []]);
  });

  const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  test.each([
    ["is not JSON", "{"],
    ["is not UTF-8", Buffer.from([0x22, 0xff, 0x22])],
    ["is nested more than 200 levels deep", `{"data":${deep(202)},"meta":{}}`],
    ["is nested more than 200 levels deep", deep(1_000_000)],
    ["has data in an unknown encoding", '{"data":"AQI","encoding":"base64","meta":{}}'],
    ["has data in an unknown encoding", '{"data":{},"encoding":"base64","meta":{}}'],
    ["has data in an unknown encoding", '{"data":"x","encoding":"gzip","meta":{}}'],
  ])("a response that %s is BAD_RESPONSE", async (problem, body) => {
    const { create } = await setUp((response) => response.writeHead(200, envelopeHeaders).end(body));

    const error = await failureOf(create({}));

    expect(error).toMatchObject({ code: "BAD_RESPONSE", message: `The response to "task.create" ${problem}.` });
  });

  test.each(["null", "[]", "1", "{}", '{"data":1}', '{"data":1,"meta":{"source":"local"}}'])(
    "%s is not an envelope",
    async (body) => {
      const { create } = await setUp((response) => response.writeHead(200, envelopeHeaders).end(body));

      const error = await failureOf(create({}));

      expect(error).toMatchObject({
        code: "BAD_RESPONSE",
        message: 'Invalid reply to "task.create": the response is not an envelope.',
      });
    },
  );

  test.each([
    [
      "with its length",
      (response: ServerResponse) => response.setHeader("content-length", 2_000).end(" ".repeat(2_000)),
    ],
    ["without an end", (response: ServerResponse) => keepWriting(response, " ".repeat(1_000))],
    [
      "that is compressed",
      (response: ServerResponse) => response.setHeader("content-encoding", "gzip").end(gzipSync(" ".repeat(5_000_000))),
    ],
  ])("a response %s that is too large fails, and is not read to its end", async (_kind, send) => {
    const { create } = await setUp(
      (response) => send(response.setHeader("content-type", envelopeHeaders["content-type"])),
      { limits: { responseBytes: 1_000 } },
    );

    const error = await failureOf(create({}));

    expect(error).toMatchObject({
      code: "PAYLOAD_TOO_LARGE",
      details: { limit: "responseBytes", allowed: 1_000 },
      mayHaveRun: true,
    });
  });

  test.each([
    ["cannot be decompressed", { ...envelopeHeaders, "content-encoding": "gzip" }],
    ["has headers that are too large", { ...envelopeHeaders, "x-filler": "x".repeat(60_000) }],
  ])("a response that %s is BAD_RESPONSE", async (problem, headers) => {
    const { create } = await setUp((response) => response.writeHead(200, headers).end("not compressed"));

    const error = await failureOf(create({}));

    expect(error).toMatchObject({ code: "BAD_RESPONSE", message: `The response to "task.create" ${problem}.` });
  });
});

/** Writes until the connection is closed. */
function keepWriting(response: ServerResponse, part: string): void {
  const write = () => {
    while (!response.destroyed && response.write(part));
  };
  response.on("drain", write);
  write();
}

describe("streams", () => {
  const toEvent = (data: unknown, id = 0) => `id: ${id}\ndata: ${JSON.stringify({ data, meta: localMeta })}\n\n`;
  const end = "event: end\nid: end\n\n";

  /** A client whose server sends these parts of a stream. The last part ends it. */
  async function stream(parts: readonly string[], options?: ConnectOptions) {
    const { client, received } = await setUp((response) => {
      response.writeHead(200, streamHeaders);
      for (const part of parts) response.write(part);
      response.end();
    }, options);
    return { changes: client["task"]!["changes"]!, received };
  }

  test("values arrive in order until the end, and comments and ids are ignored", async () => {
    const { changes, received } = await stream([toEvent(1), ": alive\n\n", toEvent(2, 1), "id: 7\n\n", end]);

    const values = await collect(changes({ from: 1 }));

    expect(values).toEqual([1, 2]);
    expect(received).toMatchObject([
      {
        method: "POST",
        path: "/task/changes",
        headers: { accept: "text/event-stream, application/vnd.alkdev.envelope+json" },
        body: '{"from":1}',
      },
    ]);
  });

  test("a stream may be split anywhere, and have lines that end with CRLF", async () => {
    const text = [toEvent("Zürich"), toEvent(2), end].join("").replaceAll("\n", "\r\n");
    const { changes } = await stream([...text]);

    const values = await collect(changes());

    expect(values).toEqual(["Zürich", 2]);
  });

  test("data in several lines is one value", async () => {
    const { changes } = await stream([`data: {"data":1,\ndata:"meta":${JSON.stringify(localMeta)}}\n\n`, end]);

    expect(await collect(changes())).toEqual([1]);
  });

  test("bytes arrive as bytes", async () => {
    const { changes } = await stream([
      `data: {"data":"AQID","encoding":"base64","meta":${JSON.stringify(localMeta)}}\n\n`,
      end,
    ]);

    expect(await collect(changes.envelope())).toStrictEqual([{ data: new Uint8Array([1, 2, 3]), meta: localMeta }]);
  });

  test("a problem fails the subscription after the values before it", async () => {
    const problem = { detail: "Gone.", code: "GONE", details: { a: 1 }, retryable: false, mayHaveRun: true };
    const { changes } = await stream([toEvent(1), `event: problem\ndata: ${JSON.stringify(problem)}\n\n`]);
    const values = changes();

    const first = await values.next();
    const error = await failureOf(values.next());

    expect(first).toEqual({ done: false, value: 1 });
    expect(error).toMatchObject({ code: "GONE", message: "Gone.", details: { a: 1 }, mayHaveRun: true });
  });

  test("a stream that ends without its last event was lost", async () => {
    const { changes } = await stream([toEvent(1), toEvent(2).slice(0, -1)]);
    const values = changes();
    await values.next();

    const error = await failureOf(values.next());

    expect(error).toMatchObject({
      code: "UNAVAILABLE",
      message:
        'The connection to the server was lost before "task.changes" ended: the stream ended without its last event.',
      retryable: true,
      mayHaveRun: true,
    });
  });

  test.each([
    ["an envelope", envelopeHeaders],
    ["a page", { "content-type": "text/html" }],
  ])("%s instead of a stream is BAD_RESPONSE", async (_kind, headers) => {
    const { client } = await setUp((response) => response.writeHead(200, headers).end("{}"));

    const error = await failureOf(client["task"]!["changes"]!().next());

    expect(error).toMatchObject({ code: "BAD_RESPONSE", message: expect.stringContaining("is not from a server") });
  });

  test.each([
    ["is not JSON", "data: {\n\n"],
    ["contains a problem without a code", "event: problem\ndata: {}\n\n"],
    ["is nested more than 200 levels deep", `data: ${"[".repeat(1_000)}\n\n`],
  ])("a stream that %s is BAD_RESPONSE", async (problem, part) => {
    const { changes } = await stream([part]);

    const error = await failureOf(changes().next());

    expect(error).toMatchObject({ code: "BAD_RESPONSE", message: `The response to "task.changes" ${problem}.` });
  });

  test.each([
    ["one endless line", "x"],
    ["endless data", "data: x\n"],
  ])("an event with %s fails", async (_kind, part) => {
    const { client } = await setUp(
      (response) => keepWriting(response.writeHead(200, streamHeaders), part.repeat(500)),
      {
        limits: { eventBytes: 10_000 },
      },
    );

    const error = await failureOf(client["task"]!["changes"]!().next());

    expect(error).toMatchObject({ code: "PAYLOAD_TOO_LARGE", details: { limit: "eventBytes", allowed: 10_000 } });
  });

  test("a server that is silent for a minute is lost, and comments count as data", async () => {
    vi.useFakeTimers();
    let controller: ReadableStreamDefaultController | undefined;
    const isAborted = vi.fn();
    const body = new ReadableStream({
      start(created) {
        controller = created;
      },
    });
    vi.stubGlobal("fetch", async (_url: string, { signal }: RequestInit) => {
      signal!.addEventListener("abort", isAborted);
      return new Response(body, { headers: streamHeaders });
    });
    onTestFinished(() => {
      vi.useRealTimers();
      vi.unstubAllGlobals();
    });
    const client = connect("http://127.0.0.1:9/");
    const failing = failureOf(client["task"]!["changes"]!().next());

    for (let beats = 0; beats < 10; beats++) {
      await vi.advanceTimersByTimeAsync(50_000);
      expect(isAborted).not.toHaveBeenCalled();
      controller!.enqueue(new TextEncoder().encode(":\n\n"));
    }
    await vi.advanceTimersByTimeAsync(60_000);

    expect(await failing).toMatchObject({ code: "UNAVAILABLE", retryable: true, mayHaveRun: true });
    expect(isAborted).toHaveBeenCalledTimes(1);
    await client.close();
  });

  test("no more is read than the consumer takes", async () => {
    let pulled = 0;
    const pull = (controller: ReadableStreamDefaultController) => {
      pulled += 1;
      controller.enqueue(new TextEncoder().encode(toEvent(pulled)));
    };
    vi.stubGlobal("fetch", async () => {
      return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), { headers: streamHeaders });
    });
    onTestFinished(() => void vi.unstubAllGlobals());
    await using client = connect("http://127.0.0.1:9/");
    const values = client["task"]!["changes"]!();

    for (let taken = 1; taken <= 10; taken++) expect((await values.next()).value).toBe(taken);
    await new Promise(setImmediate);

    expect(pulled).toBeLessThanOrEqual(12);
    await values.return?.();
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

    const timedOut = await failureOf(create!({}, { timeout: 50 }));
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

  test("input that is too large is refused by the server, and not run", async () => {
    const handler = vi.fn();
    const operations = await serve([operation("call", handler)], { requestBytes: 1_000 });

    const error = await failureOf(operations["call"]!({ text: "x".repeat(5_000_000) }));

    expect(error).toMatchObject({ code: "PAYLOAD_TOO_LARGE", details: { limit: "requestBytes" }, mayHaveRun: false });
    expect(handler).not.toHaveBeenCalled();
  });
});
