import { describe, expect, test } from "vitest";
import type { EndpointPlan } from "../endpoint.ts";
import { callEndpoint, collect, failureOf, openEndpoint, parameterPlan, pieces, startServer } from "./testing.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const bytes = (...parts: Array<string | number[]>) =>
  new Uint8Array(parts.flatMap((part) => (typeof part === "string" ? [...encode(part)] : part)));

describe("a response that is not valid in its charset", () => {
  test.each([
    ["application/json", bytes('{"a":"', [0xff], '"}'), "UTF-8"],
    ["application/problem+json; charset=utf-8", bytes('"', [0xc3, 0x28], '"'), "UTF-8"],
    ["text/plain", bytes("a", [0xe2, 0x82]), "UTF-8"],
    ["text/csv; charset=unknown", bytes([0xff]), "UTF-8"],
    ["text/plain; charset=shift_jis", bytes([0x81]), "SHIFT_JIS"],
  ])("is BAD_RESPONSE: %s", async (contentType, body, charset) => {
    expect(await failureOf(callEndpoint({}, {}, { fetch: pieces(contentType, body) }))).toMatchObject({
      code: "BAD_RESPONSE",
      message: `The response to "shop.op" is not valid ${charset}.`,
    });
  });

  test("is bytes where it has no type, and what can be read of it in an error", async () => {
    const untyped = async () => new Response(bytes([0xff, 0x41]));
    const failing = async () =>
      new Response(bytes("no ", [0xff]), { status: 500, headers: { "content-type": "text/plain" } });

    const { data } = await callEndpoint({}, {}, { fetch: untyped });
    expect([...new Uint8Array(data as ArrayBuffer)]).toEqual([0xff, 0x41]);
    expect(await failureOf(callEndpoint({}, {}, { fetch: failing }))).toMatchObject({
      code: "EXECUTION_ERROR",
      details: { status: 500, body: "no \ufffd" },
    });
  });

  test("keeps U+FFFD that was sent", async () => {
    const { data } = await callEndpoint({}, {}, { fetch: pieces("application/json", encode('"\ufffd"')) });

    expect(data).toBe("\ufffd");
  });

  test.each([
    ["text/event-stream", "sse", bytes('data: "ä"\n\ndata: "', [0xff], '"\n\n'), ["ä"]],
    ["text/event-stream", "sse", bytes('data: "a"\n\n', [0xc3]), ["a"]],
    ["application/x-ndjson", "ndjson", bytes('"a"\n"', [0xff], '"\n'), ["a"]],
  ] as const)(
    "ends a stream with BAD_RESPONSE after what came before: %s",
    async (contentType, stream, body, before) => {
      const data: unknown[] = [];
      const read = async () => {
        const fetch = pieces(contentType, body);
        for await (const envelope of openEndpoint({ stream }, { fetch, reconnect: true })) data.push(envelope.data);
      };

      expect(await failureOf(read())).toMatchObject({
        code: "BAD_RESPONSE",
        message: 'The response to "shop.op" is not valid UTF-8.',
      });
      expect(data).toEqual(before);
      const whole = pieces("text/event-stream", encode('data: "\ufffd"\n\n'));
      expect((await collect(openEndpoint({}, { fetch: whole }))).map((envelope) => envelope.data)).toEqual(["\ufffd"]);
    },
  );
});

const half = "a\ud800b";
const body = (mediaType: string): Partial<EndpointPlan> => ({
  method: "POST",
  body: { argument: "body", required: true, media: [{ mediaType, encoding: {} }] },
});

describe("a lone surrogate in a request", () => {
  test.each<[string, Partial<EndpointPlan>, unknown]>([
    ["text", body("text/plain"), { body: half }],
    ["text as bytes", body("application/octet-stream"), { body: half }],
    ["a multipart value", body("multipart/form-data"), { body: { a: half } }],
    ["a multipart name", body("multipart/form-data"), { body: { [half]: "a" } }],
    ["a file name", body("multipart/form-data"), { body: { a: { base64: "AA==", filename: half } } }],
    ["a form", body("application/x-www-form-urlencoded"), { body: { a: half } }],
    ["a query", { parameters: [parameterPlan({ name: "q", location: "query" })] }, { q: half }],
    ["a path", { path: "/{q}", parameters: [parameterPlan({ name: "q", location: "path" })] }, { q: half }],
    ["a header", { parameters: [parameterPlan({ name: "q", location: "header" })] }, { q: half }],
    ["a cookie", { parameters: [parameterPlan({ name: "q", location: "cookie" })] }, { q: half }],
  ])("is VALIDATION_ERROR in %s, and nothing is sent", async (_, plan, input) => {
    await using server = await startServer();

    expect(await failureOf(callEndpoint({ baseUrl: server.origin, ...plan }, input))).toMatchObject({
      code: "VALIDATION_ERROR",
      mayHaveRun: false,
    });
    expect(server.received).toEqual([]);
  });

  test("is written with an escape in JSON, which keeps it", async () => {
    await using server = await startServer();

    await callEndpoint({ baseUrl: server.origin, ...body("application/json") }, { body: { a: half } });

    expect(server.received[0]!.body.toString()).toBe('{"a":"a\\ud800b"}');
    expect(JSON.parse(server.received[0]!.body.toString())).toEqual({ a: half });
  });
});

describe("blanks at the ends of a header value", () => {
  const parameters = [parameterPlan({ name: "x-name", location: "header" })];

  test.each([" a", "a ", "\ta", "a\t", " "])("would be lost, so that %j is VALIDATION_ERROR", async (value) => {
    await using server = await startServer();
    const plan = { baseUrl: server.origin, parameters };
    const asMetadata = { metadata: { http: { headers: { "x-name": value } } } };

    expect(await failureOf(callEndpoint(plan, { "x-name": value }))).toMatchObject({
      code: "VALIDATION_ERROR",
      details: { errors: [{ path: "/x-name", message: "it is not a valid header value" }] },
    });
    expect(await failureOf(callEndpoint(plan, {}, {}, asMetadata))).toMatchObject({ code: "VALIDATION_ERROR" });
    expect(server.received).toEqual([]);
  });

  test("are lost in a cookie that is not encoded, too", async () => {
    const cookie = [parameterPlan({ name: "c", location: "cookie", style: "cookie" })];

    expect(await failureOf(callEndpoint({ parameters: cookie }, { c: "a " }))).toMatchObject({
      code: "VALIDATION_ERROR",
    });
  });

  test("inside of it are kept, and an empty value is sent", async () => {
    await using server = await startServer();

    await callEndpoint({ baseUrl: server.origin, parameters }, { "x-name": "a  b" });
    await callEndpoint({ baseUrl: server.origin, parameters }, { "x-name": "" });

    expect(server.received.map(({ headers }) => headers["x-name"])).toEqual(["a  b", ""]);
  });
});

test.each(["query", "header", "cookie", "path"] as const)(
  "null is a value of a %s parameter that is written as JSON",
  async (location) => {
    await using server = await startServer();
    const parameters = [parameterPlan({ name: "q", location, required: true, contentType: "application/json" })];
    const path = location === "path" ? "/things/{q}" : "/things";

    await callEndpoint({ baseUrl: server.origin, path, parameters }, { q: null });

    const { url, headers } = server.received[0]!;
    expect([url, headers["q"], headers.cookie]).toEqual([
      location === "query" ? "/things?q=null" : location === "path" ? "/things/null" : "/things",
      location === "header" ? "null" : undefined,
      location === "cookie" ? "q=null" : undefined,
    ]);
  },
);

test("a port that fetch refuses cannot have run anything", async () => {
  expect(await failureOf(callEndpoint({ baseUrl: "http://127.0.0.1:6667", method: "POST" }))).toEqual({
    code: "UNAVAILABLE",
    message: 'The request of "shop.op" failed: fetch blocks connections to port 6667.',
    retryable: false,
    mayHaveRun: false,
  });
});
