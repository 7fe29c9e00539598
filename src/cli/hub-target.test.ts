import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { listen } from "../node/index.ts";
import { CallError, defineOperation, Type } from "../operation/index.ts";
import { createRegistry } from "../registry/index.ts";
import { serveHTTP } from "../serve/http/index.ts";
import { openHub } from "./hub-target.ts";
import type { Target, TargetContext } from "./target.ts";

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

const { signal: never } = new AbortController();

function contextOf(timeout: string | undefined, signal: AbortSignal): TargetContext {
  const environment = { OPERATIONS_TOKEN: "secret" };
  return { options: { timeout }, environment, signal } as object as TargetContext;
}

async function open(respond: RequestListener, { timeout = "59500ms", signal = never } = {}): Promise<Target> {
  server = createServer(respond);
  await new Promise<void>((resolve) => server!.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return openHub(`http://127.0.0.1:${port}/base/`, contextOf(timeout, signal));
}

const meta = { source: "local", operationId: "a.b", timestamp: 0 };
const envelopeOf = (data: unknown) => JSON.stringify({ data, meta });
const envelopeType = "application/vnd.alkdev.envelope+json";

function respondWith(status: number, type: string, body: string): RequestListener {
  return (_request, response) => response.writeHead(status, { "content-type": type }).end(body);
}

async function readAll(values: AsyncIterable<{ data: unknown }>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const { data } of values) all.push(data);
  return all;
}

test("a call is a POST below the path of the URL, with the token", async () => {
  const requests: unknown[] = [];
  const target = await open(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const { authorization, accept, prefer } = request.headers;
    requests.push({ method: request.method, url: request.url, authorization, accept, prefer, body });
    response
      .writeHead(200, { "content-type": envelopeType })
      .end(JSON.stringify({ data: "aGk=", encoding: "base64", meta }));
  });

  expect(await target.call("a.b/c d", { x: 1 })).toEqual({
    data: new Uint8Array([104, 105]),
    meta,
  });
  expect(requests).toEqual([
    {
      method: "POST",
      url: "/base/a/b/c%20d",
      authorization: "Bearer secret",
      accept: envelopeType,
      prefer: "wait=60",
      body: '{"x":1}',
    },
  ]);
});

test("a page is not from a hub", async () => {
  const target = await open(respondWith(200, "text/html", "<p>"));

  await expect(target.call("a.b", {})).rejects.toMatchObject({
    code: "BAD_RESPONSE",
    message: expect.stringContaining('status 200 and content type "text/html"'),
  });
});

test("a problem is the error of the operation", async () => {
  const problem = { code: "TAKEN", detail: "It is taken.", details: { by: "ada" }, retryable: true, mayHaveRun: false };
  const target = await open(respondWith(422, "application/problem+json", JSON.stringify(problem)));

  await expect(target.call("a.b", {})).rejects.toMatchObject({
    code: "TAKEN",
    message: "It is taken.",
    details: { by: "ada" },
    retryable: true,
    mayHaveRun: false,
  });
});

test("a connection that is lost may have run the operation", async () => {
  const target = await open((request) => request.socket.destroy());

  await expect(target.call("a.b", {})).rejects.toMatchObject({
    code: "UNAVAILABLE",
    mayHaveRun: true,
    message: expect.stringContaining("the connection was reset (ECONNRESET)"),
  });
});

const stream = (...events: string[]) => respondWith(200, "text/event-stream", events.map((it) => `${it}\n\n`).join(""));

test("the values of a subscription end with its last event", async () => {
  const target = await open(
    stream(": comment", `data: ${envelopeOf(1)}`, `data: ${envelopeOf(2)}`, ": end\nevent: end"),
  );

  expect(await readAll(target.subscribe("a.b", {}))).toEqual([1, 2]);
});

test.each([
  [
    "a problem",
    'event: problem\ndata: {"code":"GONE","detail":"It is gone."}',
    { code: "GONE", message: "It is gone." },
  ],
  ["a malformed problem", "event: problem\ndata: {", { code: "BAD_RESPONSE" }],
  ["a malformed value", "data: 1", { code: "BAD_RESPONSE" }],
  ["the end of the connection", ": comment", { code: "UNAVAILABLE", mayHaveRun: true }],
])("a subscription fails with %s", async (_, event, error) => {
  const target = await open(stream(event));

  await expect(readAll(target.subscribe("a.b", {}))).rejects.toMatchObject(error);
});

test("leaving a subscription closes its connection", async () => {
  let closed!: () => void;
  const isClosed = new Promise<void>((resolve) => {
    closed = resolve;
  });
  const target = await open((_request, response) => {
    response.on("close", closed);
    response.writeHead(200, { "content-type": "text/event-stream" }).write(`data: ${envelopeOf(1)}\n\n`);
  });
  for await (const _ of target.subscribe("a.b", {})) break;

  await isClosed;
});

test("an abort ends a call", async () => {
  const controller = new AbortController();
  const target = await open(() => controller.abort(), { signal: controller.signal });

  await expect(target.call("a.b", {})).rejects.toMatchObject({ code: "ABORTED" });
});

test.each([
  ["ftp://127.0.0.1", '"ftp://127.0.0.1" is not the URL of a hub. It begins with http:// or https://.'],
  ["http://ada:x@127.0.0.1", "The URL of a hub must not contain credentials. Set OPERATIONS_TOKEN instead."],
])("%s is refused", async (url, message) => {
  await expect(openHub(url, contextOf(undefined, never))).rejects.toMatchObject({ code: "USAGE", message });
});

test("an operation whose upstream is down does not look like a hub that does not run", async () => {
  const handler = () => {
    throw new CallError("UNAVAILABLE", "The API could not be reached.", undefined, { mayHaveRun: false });
  };
  const schemas = { inputSchema: Type.Object({}), outputSchema: Type.Unknown() };
  const operation = defineOperation({ namespace: "a", name: "b", type: "query", ...schemas, handler });
  const hub = serveHTTP(createRegistry({ operations: [operation] }), {
    authenticate: () => ({ id: "ada", scopes: [] }),
  });
  await using listener = await listen({ "/": hub }, { port: 0 });
  const target = await openHub(listener.url, contextOf(undefined, never));

  await expect(target.call("a.b", {})).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: "The API could not be reached.",
  });
});
