import { brotliCompressSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import type { ResponseEnvelope } from "../../../operation/index.ts";
import type { HTTPServiceConfig } from "../config.ts";
import type { EndpointPlan } from "../endpoint.ts";
import { callEndpoint, failureOf, startRawServer, startServer } from "./testing.ts";

interface Answer {
  status?: number;
  headers?: Record<string, string | string[]>;
  body?: string | Uint8Array;
}

/** Calls an endpoint whose server always returns the same response. */
async function call(
  answer: Answer,
  plan: Partial<EndpointPlan> = {},
  config: Partial<HTTPServiceConfig> = {},
): Promise<ResponseEnvelope> {
  await using server = await startServer((_request, _message, response) => {
    response.sendDate = false;
    response.writeHead(answer.status ?? 200, answer.headers).end(answer.body);
  });
  return await callEndpoint({ ...plan, baseUrl: server.origin }, {}, config);
}

const type = (value: string) => ({ "content-type": value });

test.each([
  ["application/json", '{"a":[1,null]}', { a: [1, null] }],
  ["application/json; charset=utf-8", '"ü"', "ü"],
  ["application/problem+json", "0", 0],
  ["text/json", "false", false],
  ["APPLICATION/JSON", "null", null],
  ["application/json", "\ufeff[1]", [1]],
  ["text/plain", "hi ü", "hi ü"],
  ["text/html", "<p>hi</p>", "<p>hi</p>"],
  ["application/xml", "<a/>", "<a/>"],
  ["image/svg+xml", "<svg/>", "<svg/>"],
])("%s with %j becomes %j", async (contentType, body, data) => {
  const envelope = await call({ headers: type(contentType), body });

  expect(envelope.data).toEqual(data);
  expect(envelope.meta).toMatchObject({ source: "http", statusCode: 200, contentType });
});

test("the charset of text is respected, and an unknown one is read as UTF-8", async () => {
  const latin = await call({ headers: type("text/plain; charset=iso-8859-1"), body: Buffer.from("ü", "latin1") });
  const unknown = await call({ headers: type('text/plain; charset="klingon"'), body: "ü" });

  expect([latin.data, unknown.data]).toEqual(["ü", "ü"]);
});

test("binary responses are an ArrayBuffer of exactly their bytes", async () => {
  const { data } = await call({ headers: type("image/png"), body: new Uint8Array([1, 2, 3]) });

  expect(data).toBeInstanceOf(ArrayBuffer);
  expect([...new Uint8Array(data as ArrayBuffer)]).toEqual([1, 2, 3]);
});

test("a response without a type is JSON when JSON is declared and it is, text when it is not, else binary", async () => {
  const untyped = { declaresJSON: false };

  expect((await call({ body: "[1]" })).data).toEqual([1]);
  expect((await call({ body: "plain" })).data).toBe("plain");
  expect((await call({ body: "x" }, untyped)).data).toBeInstanceOf(ArrayBuffer);
});

test.each([
  ["204", { status: 204 }, {}],
  ["205", { status: 205 }, {}],
  ["an empty JSON body", { headers: type("application/json") }, {}],
  ["HEAD", { headers: { ...type("application/json"), "content-length": "5" } }, { method: "HEAD" }],
])("%s has no data", async (_, answer, plan) => {
  const envelope = await call(answer, plan);

  expect(envelope).toHaveProperty("data", undefined);
  expect(envelope.meta).toMatchObject({ source: "http", statusCode: "status" in answer ? answer.status : 200 });
});

test("headers are joined, cookies are also kept apart", async () => {
  const headers = { ...type("application/json"), "x-many": ["a", "b"], "set-cookie": ["a=1; Path=/", "b=2, c"] };

  const { meta } = await call({ headers, body: "1" });

  expect(meta).toMatchObject({
    headers: { "x-many": "a, b", "set-cookie": "a=1; Path=/, b=2, c" },
    setCookie: ["a=1; Path=/", "b=2, c"],
  });
});

test("an error status is an error with status, headers, type and parsed body", async () => {
  const answer = {
    status: 404,
    headers: { ...type("application/json"), "x-id": "7", connection: "close" },
    body: '{"why":"gone"}',
  };

  expect(await failureOf(call(answer))).toEqual({
    code: "EXECUTION_ERROR",
    message: "HTTP 404: Not Found",
    details: {
      status: 404,
      headers: { "content-type": "application/json", "x-id": "7", connection: "close", "transfer-encoding": "chunked" },
      contentType: "application/json",
      body: { why: "gone" },
    },
    retryable: false,
    mayHaveRun: true,
  });
});

test.each([
  [400, "EXECUTION_ERROR", false, true],
  [401, "UPSTREAM_DENIED", false, false],
  [403, "UPSTREAM_DENIED", false, false],
  [408, "EXECUTION_ERROR", true, true],
  [409, "EXECUTION_ERROR", false, true],
  [429, "EXECUTION_ERROR", true, false],
  [500, "EXECUTION_ERROR", false, true],
  [502, "EXECUTION_ERROR", true, true],
  [503, "EXECUTION_ERROR", true, true],
  [304, "EXECUTION_ERROR", false, true],
])("%d fails with %s, retryable %s, mayHaveRun %s", async (status, code, retryable, mayHaveRun) => {
  expect(await failureOf(call({ status }))).toMatchObject({ code, retryable, mayHaveRun, details: { status } });
});

test("declared errors have their own codes: the status before its range, the range before default", async () => {
  const errorCodes = new Map([
    ["404", "HTTP_404"],
    ["4XX", "HTTP_4XX"],
    ["default", "HTTP_DEFAULT"],
  ]);
  const codeOf = async (status: number) =>
    ((await failureOf(call({ status }, { errorCodes }))) as { code: string }).code;

  expect([await codeOf(404), await codeOf(403), await codeOf(500)]).toEqual(["HTTP_404", "HTTP_4XX", "HTTP_DEFAULT"]);
});

test("an error body that is malformed or too large does not hide the error", async () => {
  const broken = await failureOf(call({ status: 500, headers: type("application/json"), body: "<html>" }));
  const large = await failureOf(call({ status: 500, headers: type("text/plain"), body: "x".repeat(2 ** 20 + 1) }));

  expect([broken, large]).toMatchObject([{ details: { status: 500, body: "<html>" } }, { details: { status: 500 } }]);
});

test("credentials that a server repeats are taken out of its errors", async () => {
  const secret = "canary-1234";
  const answer = {
    status: 400,
    headers: { ...type("application/json"), "x-echo": `Bearer ${secret}` },
    body: `{"got":"${secret}"}`,
  };
  const config = { auth: { type: "bearer", token: secret } as const, headers: { "X-Api-Key": `${secret}-2` } };

  const failure = await failureOf(call(answer, {}, config));
  const invalid = await failureOf(call({ headers: type("application/json"), body: `oops ${secret}` }, {}, config));

  expect(JSON.stringify([failure, invalid])).not.toContain(secret);
  expect(failure).toMatchObject({ details: { body: { got: "[redacted]" } } });
});

test("a credential is found however its error writes it: escaped, as a key, in the status line, in the type", async () => {
  const token = 'canary/"12\u00e934';
  const escaped = '{"got\\u0020canary\\/\\"12\\u00e934":["canary\\/\\"12\\u00e934"]}';
  const fetch = async () =>
    new Response(escaped, {
      status: 400,
      statusText: "no canary-5678",
      headers: { "content-type": "application/json; for=canary-5678" },
    });
  const config = { fetch, auth: { type: "bearer", token } as const, headers: { "x-api-key": "canary-5678" } };

  const failure = await failureOf(callEndpoint({}, {}, config));

  expect(failure).toMatchObject({
    message: "HTTP 400: no [redacted]",
    details: {
      contentType: "application/json; for=[redacted]",
      body: { "got [redacted]": ["[redacted]"] },
    },
  });
});

test("a credential that a server repeats in its headers is not in the envelope", async () => {
  const fetch = async () =>
    new Response("{}", {
      headers: {
        "content-type": "application/json",
        link: '<https://api.test/?key=canary-1&page=2>; rel="next"',
        "set-cookie": "token=canary-1",
      },
    });

  const { meta } = await callEndpoint(
    {},
    {},
    { fetch, auth: { type: "apiKey", in: "query", name: "key", token: "canary-1" } },
  );

  expect(meta).toEqual({
    source: "http",
    statusCode: 200,
    contentType: "application/json",
    headers: {
      "content-type": "application/json",
      link: '<https://api.test/?key=[redacted]&page=2>; rel="next"',
      "set-cookie": "token=[redacted]",
    },
    setCookie: ["token=[redacted]"],
  });
});

test("text under a JSON type is a bad response with a short excerpt", async () => {
  const failure = await failureOf(call({ headers: type("application/json"), body: `<html>${"x".repeat(1000)}` }));

  expect(failure).toEqual({
    code: "BAD_RESPONSE",
    message: 'The response to "shop.op" (HTTP 200) is not valid JSON, although its content type declares JSON.',
    details: { status: 200, excerpt: `<html>${"x".repeat(193)}…` },
    retryable: false,
    mayHaveRun: true,
  });
});

test("JSON may nest as deep as the limit and no deeper; brackets in strings do not count", async () => {
  const nested = (depth: number) => ({
    headers: type("application/json"),
    body: "[".repeat(depth) + "]".repeat(depth),
  });
  const text = { headers: type("application/json"), body: JSON.stringify(`\\"${"[{".repeat(500)}\\`) };

  expect((await call(nested(200))).data).toHaveLength(1);
  expect(await failureOf(call(nested(201)))).toMatchObject({ code: "BAD_RESPONSE" });
  expect(await failureOf(call(nested(100_000)))).toMatchObject({ code: "BAD_RESPONSE" });
  expect((await call(text)).data).toBe(`\\"${"[{".repeat(500)}\\`);
});

test.each([
  ["as it is", {}, (body: Buffer) => body],
  ["without a length", { "transfer-encoding": "chunked" }, (body: Buffer) => body],
  ["gzip", { "content-encoding": "gzip" }, (body: Buffer) => gzipSync(body)],
  ["brotli", { "content-encoding": "br" }, (body: Buffer) => brotliCompressSync(body)],
  ["gzip twice", { "content-encoding": "gzip, gzip" }, (body: Buffer) => gzipSync(gzipSync(body))],
])("a response may be as large as the limit and no larger, counted decoded: %s", async (_, headers, encode) => {
  const answer = (size: number) => ({
    headers: { ...type("text/plain"), ...headers },
    body: encode(Buffer.alloc(size, "x")),
  });
  const config = { limits: { responseBytes: 200_000 } };

  expect((await call(answer(200_000), {}, config)).data).toHaveLength(200_000);
  expect(await failureOf(call(answer(200_001), {}, config))).toMatchObject({
    code: "PAYLOAD_TOO_LARGE",
    details: { limit: 200_000 },
    mayHaveRun: true,
    retryable: false,
  });
});

test("a compressed bomb stops at the limit and its connection closes", async () => {
  const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024));
  let closed: Promise<void> | undefined;
  await using server = await startServer((_request, message, response) => {
    closed = new Promise((resolve) => message.socket.once("close", () => resolve()));
    response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
    response.write(bomb);
  });
  const before = process.memoryUsage().rss;

  const failure = await failureOf(
    callEndpoint({ baseUrl: server.origin }, {}, { limits: { responseBytes: 1024 * 1024 } }),
  );

  expect(failure).toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
  await closed;
});

test("a response that cannot be decompressed is a bad response", async () => {
  const headers = { ...type("text/plain"), "content-encoding": "gzip" };

  expect(await failureOf(call({ headers, body: "not gzip" }))).toMatchObject({
    code: "BAD_RESPONSE",
    mayHaveRun: true,
  });
});

test("a connection that is reset before the headers may have run the call", async () => {
  await using server = await startRawServer((socket) => socket.resetAndDestroy());

  expect(await failureOf(callEndpoint({ baseUrl: server.origin }))).toMatchObject({
    code: "UNAVAILABLE",
    retryable: true,
    mayHaveRun: true,
  });
});

test.each([
  ["reset in the middle", "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 9\r\n\r\nhalf"],
  ["short of its length", "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n[1]"],
  [
    "without its last chunk",
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n3\r\n[1]\r\n",
  ],
])("a body %s is an error and never a part of it", async (_, text) => {
  await using server = await startRawServer((socket) => socket.end(text, "latin1"));

  expect(await failureOf(callEndpoint({ baseUrl: server.origin }))).toMatchObject({
    code: "UNAVAILABLE",
    mayHaveRun: true,
  });
});

test("data that is not HTTP is an error that does not quote it", async () => {
  await using server = await startRawServer((socket) => socket.end("canary\r\n\r\n"));

  const failure = await failureOf(callEndpoint({ baseUrl: server.origin }));

  expect(failure).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });
  expect(JSON.stringify(failure)).not.toContain("canary");
});

test("refused connections, unknown hosts and failed handshakes never ran the call", async () => {
  await using plain = await startServer();
  const gone = await startServer();
  await gone[Symbol.asyncDispose]();
  const lookup: typeof fetch = () =>
    Promise.reject(
      new TypeError("fetch failed", { cause: Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" }) }),
    );

  const refusedCall = await failureOf(callEndpoint({ baseUrl: gone.origin }));
  const unknown = await failureOf(callEndpoint({ baseUrl: "http://nowhere.test" }, {}, { fetch: lookup }));
  const tls = await failureOf(callEndpoint({ baseUrl: plain.origin.replace("http:", "https:") }));

  expect(refusedCall).toMatchObject({ code: "UNAVAILABLE", retryable: true, mayHaveRun: false });
  expect(unknown).toMatchObject({ code: "UNAVAILABLE", retryable: true, mayHaveRun: false });
  expect(tls).toMatchObject({ code: "UNAVAILABLE", retryable: false, mayHaveRun: false });
});

test("a message of fetch is never passed on", async () => {
  const leaky: typeof fetch = (_url, init) =>
    Promise.reject(new TypeError(`bad header ${JSON.stringify(init?.headers)}`));

  const failure = await failureOf(callEndpoint({}, {}, { fetch: leaky, auth: { type: "bearer", token: "canary" } }));

  expect(failure).toMatchObject({ code: "UNAVAILABLE" });
  expect(JSON.stringify(failure)).not.toContain("canary");
});

test("connections are kept alive from call to call", async () => {
  const ports = new Set<number | undefined>();
  await using server = await startServer((_request, message, response) => {
    ports.add(message.socket.remotePort);
    response.setHeader("content-type", "application/json").end("{}");
  });

  for (let count = 0; count < 3; count++) {
    await callEndpoint({ baseUrl: server.origin });
    await new Promise(setImmediate); // the platform releases a connection shortly after its last byte
  }

  expect(ports.size).toBe(1);
});
