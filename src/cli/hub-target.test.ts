import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { openHub } from "./hub-target.ts";
import type { Target } from "./target.ts";

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

async function open(respond: RequestListener): Promise<Target> {
  server = createServer(respond);
  await new Promise<void>((resolve) => server!.listen(0, "127.0.0.1", resolve));
  return openHub(`http://127.0.0.1:${(server.address() as AddressInfo).port}/base/`, { OPERATIONS_TOKEN: "secret" });
}

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
    response.writeHead(200, { "content-type": envelopeType }).end('{"data":"aGk=","encoding":"base64","meta":{}}');
  });

  expect(await target.call("a.b/c d", { x: 1 }, { timeout: 59_500 })).toEqual({
    data: new Uint8Array([104, 105]),
    meta: {},
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

test.each([
  ["a page", respondWith(200, "text/html", "<p>"), 'it responded with status 200 and content type "text/html"'],
  ["a redirect", respondWith(302, "", ""), 'it responded with status 302 and content type ""'],
  ["a foreign problem", respondWith(400, "application/problem+json", "{}"), "it responded with status 400"],
  ["a malformed envelope", respondWith(200, envelopeType, "{"), "it sent a malformed envelope"],
  [
    "an unknown encoding",
    respondWith(200, envelopeType, '{"data":"x","meta":{},"encoding":"y"}'),
    "it sent data in an unknown encoding",
  ],
])("%s is not from a hub", async (_, respond, reason) => {
  const target = await open(respond);

  await expect(target.call("a.b", {})).rejects.toMatchObject({
    code: "BAD_RESPONSE",
    message: expect.stringContaining(`${target.label} is not a hub: ${reason}`),
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
    message: expect.stringMatching(/^The connection to http:.* was lost before "a\.b" ended: the connection was reset/),
  });
});

test("an id that is not an operation is not sent", async () => {
  const target = await open(() => expect.unreachable());

  await expect(target.call("nothing", {})).rejects.toMatchObject({ code: "OPERATION_NOT_FOUND" });
  await expect(target.call("a...", {})).rejects.toMatchObject({ code: "OPERATION_NOT_FOUND" });
});

const stream = (...events: string[]) => respondWith(200, "text/event-stream", events.map((it) => `${it}\n\n`).join(""));

test("the values of a subscription end with its last event", async () => {
  const target = await open(
    stream(": comment", 'data: {"data":1,"meta":{}}', 'data: {"data":2,"meta":{}}', "event: end"),
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
    response.writeHead(200, { "content-type": "text/event-stream" }).write('data: {"data":1,"meta":{}}\n\n');
  });
  for await (const _ of target.subscribe("a.b", {})) break;

  await isClosed;
});

test("an abort ends a call", async () => {
  const controller = new AbortController();
  const target = await open(() => controller.abort());

  await expect(target.call("a.b", {}, { signal: controller.signal })).rejects.toMatchObject({ code: "ABORTED" });
});

test.each([
  ["ftp://127.0.0.1", '"ftp://127.0.0.1" is not the URL of a hub. It begins with http:// or https://.'],
  ["http://ada:x@127.0.0.1", "The URL of a hub must not contain credentials. Set OPERATIONS_TOKEN instead."],
])("%s is refused", async (url, message) => {
  await expect(openHub(url, {})).rejects.toMatchObject({ code: "USAGE", message });
});
