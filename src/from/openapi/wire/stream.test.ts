import { once } from "node:events";
import { Type } from "typebox";
import { expect, test } from "vitest";
import { collect, failureOf, openEndpoint, pieces, startLive, startServer } from "./testing.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const texts = { outputSchema: Type.String() };

test("each event is an envelope with the meta of the response and of the event", async () => {
  await using server = await startServer((_request, _message, response) => {
    response.sendDate = false;
    response.writeHead(200, { "content-type": "text/event-stream", connection: "close" });
    response.end('retry: 1500\nevent: tick\nid: 7\ndata: {"n":1}\n\ndata: {"n":2}\n\n');
  });

  const events = await collect(openEndpoint({ baseUrl: server.origin }));

  const meta = {
    source: "http",
    statusCode: 200,
    headers: { "content-type": "text/event-stream", connection: "close", "transfer-encoding": "chunked" },
    contentType: "text/event-stream",
  };
  expect(events).toEqual([
    { data: { n: 1 }, meta: { ...meta, event: { type: "tick", id: "7", retry: 1500 } } },
    { data: { n: 2 }, meta: { ...meta, event: { type: "message", id: "7", retry: 1500 } } },
  ]);
  expect(server.received[0]!.headers.accept).toBe("text/event-stream");
});

async function dataOf(outputSchema: unknown, ...events: string[]): Promise<unknown[]> {
  const body = encode(events.map((data) => `data: ${data}\n\n`).join(""));
  const plan = { outputSchema: outputSchema as ReturnType<typeof Type.Unknown> };
  const all = await collect(openEndpoint(plan, { fetch: pieces("text/event-stream", body) }));
  return all.map(({ data }) => data);
}

const samples = ['{"a":1}', "[1]", '"q"', "42", "true", "null", "word", "{broken"];

test.each([
  ["string", Type.String(), samples],
  ["object", Type.Object({}), [{ a: 1 }, [1], "q", 42, true, null, "word", "{broken"]],
  ["anything", Type.Unknown(), [{ a: 1 }, [1], "q", "42", "true", "null", "word", "{broken"]],
  ["string or null", { type: ["string", "null"] }, [{ a: 1 }, [1], "q", "42", "true", "null", "word", "{broken"]],
])("data declared as %s is parsed accordingly", async (_, schema, expected) => {
  expect(await dataOf(schema, ...samples)).toEqual(expected);
});

test("[DONE] ends a stream, unless its data is declared as text", async () => {
  expect(await dataOf(Type.Object({}), "{}", "[DONE]", "{}")).toEqual([{}]);
  expect(await dataOf(Type.String(), "a", "[DONE]", "b")).toEqual(["a", "[DONE]", "b"]);
});

const lines = '{"a":1}\r\n\n[2]\n"x\\ny"\n4';
const sequence = '\u001e{"a":1}\n\u001e[\n2\n]\n\u001e"x\\ny"\n\u001e4';

test.each([
  ["ndjson", "application/x-ndjson", lines],
  ["ndjson", "application/jsonl", lines],
  ["ndjson", "application/json", lines],
  ["ndjson", "", lines],
  ["json-seq", "application/json-seq", sequence],
] as const)("%s under %j is cut into its records, wherever the pieces end", async (stream, contentType, body) => {
  const bytes = encode(body);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const fetch = pieces(contentType, bytes.subarray(0, cut), bytes.subarray(cut));

    const all = await collect(openEndpoint({ stream }, { fetch }));

    expect(all.map(({ data }) => data)).toEqual([{ a: 1 }, [2], "x\ny", 4]);
  }
});

test("a record that is not JSON fails after the values before it were yielded", async () => {
  const stream = openEndpoint(
    { stream: "ndjson" },
    { fetch: pieces("application/x-ndjson", encode('1\n{"canary\n2\n')) },
  );

  expect((await stream.next()).value.data).toBe(1);
  expect(await failureOf(stream.next())).toEqual({
    code: "BAD_RESPONSE",
    message: 'The response to "shop.op" contains a record that is not JSON.',
    retryable: false,
    mayHaveRun: true,
  });
  expect(await stream.next()).toEqual({ done: true, value: undefined });
});

test("a server that responds with JSON instead of a stream yields one value", async () => {
  const all = await collect(openEndpoint({}, { fetch: pieces("application/json", encode('{"whole":true}')) }));

  expect(all.map(({ data }) => data)).toEqual([{ whole: true }]);
});

test("204 is an empty stream, and an error status an error", async () => {
  const empty: typeof fetch = async () => new Response(null, { status: 204 });
  const error: typeof fetch = async () => new Response("no", { status: 503 });

  expect(await collect(openEndpoint({}, { fetch: empty }))).toEqual([]);
  expect(await failureOf(openEndpoint({}, { fetch: error }).next())).toMatchObject({
    details: { status: 503, body: "no" },
  });
});

test("events arrive while the stream is open, and its connection closes the moment the consumer stops", async () => {
  await using live = await startLive();
  const stream = openEndpoint({ baseUrl: live.server.origin, ...texts });

  const first = stream.next();
  const answer = await live.answer();
  answer.write("data: one\n\n");
  expect((await first).value.data).toBe("one");
  const second = stream.next();
  answer.write("data: two\n\n");
  expect((await second).value.data).toBe("two");
  const pending = stream.next();
  const closed = once(answer, "close");
  await stream.return!();

  expect(await pending).toEqual({ done: true, value: undefined });
  await closed;
});

test("nothing is sent before the first value is requested", async () => {
  await using server = await startServer();
  const stream = openEndpoint({ baseUrl: server.origin });

  await stream.return!();

  expect(await stream.next()).toEqual({ done: true, value: undefined });
  expect(server.received).toEqual([]);
});

test("concurrent calls of next() resolve in order", async () => {
  const stream = openEndpoint(texts, {
    fetch: pieces("text/event-stream", encode("data: 1\n\ndata: 2\n\n"), encode("data: 3\n\n")),
  });

  const answers = await Promise.all([stream.next(), stream.next(), stream.next(), stream.next(), stream.next()]);

  expect(answers.map(({ value }) => value?.data)).toEqual(["1", "2", "3", undefined, undefined]);
});

test("an abort from outside throws and closes the connection", async () => {
  await using live = await startLive();
  const controller = new AbortController();
  const stream = openEndpoint({ baseUrl: live.server.origin }, {}, { signal: controller.signal });

  const pending = failureOf(stream.next());
  const answer = await live.answer();
  const closed = once(answer, "close");
  controller.abort();

  expect(await pending).toMatchObject({ code: "ABORTED" });
  await closed;
});

test("a stream without events ends by its idle timeout; the timeout of the call only covers its headers", async () => {
  const open = async (idleTimeout: number) => {
    await using live = await startLive();
    const stream = openEndpoint({ baseUrl: live.server.origin, ...texts }, { idleTimeout, timeout: 30_000 });
    const first = stream.next().catch(() => undefined);
    const answer = await live.answer();
    const closed = once(answer, "close");
    answer.write("data: x\n\n");
    const hasFirst = (await first) !== undefined;
    const failure = await failureOf(stream.next());
    await closed;
    return { hasFirst, failure };
  };

  // On a busy machine, the first event may take longer than a short time.
  let idleTimeout = 300;
  let outcome = await open(idleTimeout);
  while (!outcome.hasFirst) {
    idleTimeout *= 2;
    outcome = await open(idleTimeout);
  }

  expect(outcome.failure).toEqual({
    code: "TIMEOUT",
    message: `"shop.op" did not receive an event within ${idleTimeout} ms.`,
    retryable: true,
    mayHaveRun: true,
  });
});

test("headers that do not come in time are a TIMEOUT", async () => {
  await using server = await startServer(() => {});

  expect(await failureOf(openEndpoint({ baseUrl: server.origin }, { timeout: 20 }).next())).toMatchObject({
    code: "TIMEOUT",
  });
});

test.each([
  ["sse", "text/event-stream", (size: number) => `data: ${"x".repeat(size)}\n\n`, texts],
  ["sse", "text/event-stream", (size: number) => `data: ${"ü".repeat(size / 2)}${"x".repeat(size % 2)}\n\n`, texts],
  ["ndjson", "application/x-ndjson", (size: number) => `"${"x".repeat(size - 2)}"\n`, {}],
] as const)("a %s event may be as large as the limit and no larger", async (stream, contentType, body, plan) => {
  const config = (size: number) => ({ fetch: pieces(contentType, encode(body(size))), limits: { eventBytes: 10_000 } });

  expect(await collect(openEndpoint({ stream, ...plan }, config(10_000)))).toHaveLength(1);
  expect(await failureOf(openEndpoint({ stream, ...plan }, config(10_001)).next())).toMatchObject({
    code: "PAYLOAD_TOO_LARGE",
    details: { limit: 10_000 },
  });
});

test.each([
  ["a line without an end", "sse", "x"],
  ["data without a blank line", "sse", "data: xxxxxxxxxx\n"],
  ["a comment without an end", "sse", ": xxxxxxxxxxxxx"],
  ["a record without an end", "ndjson", "1"],
  ["a sequence without an end", "json-seq", "[\n"],
] as const)("%s stops at the limit and closes the connection", async (_, stream, unit) => {
  const contentType = { sse: "text/event-stream", ndjson: "application/x-ndjson", "json-seq": "application/json-seq" }[
    stream
  ];
  let sent = 0;
  let closed: Promise<unknown> | undefined;
  await using server = await startServer((_request, message, response) => {
    closed = new Promise((resolve) => message.socket.once("close", resolve));
    response.writeHead(200, { "content-type": contentType });
    const block = unit.repeat(16_384 / unit.length);
    const more = () => {
      while (!response.destroyed && response.write(block)) sent += block.length;
      response.once("drain", more);
    };
    more();
  });

  const failure = await failureOf(openEndpoint({ baseUrl: server.origin, stream }).next());

  expect(failure).toMatchObject({ code: "PAYLOAD_TOO_LARGE", details: { limit: 1024 * 1024 } });
  await closed;
  expect(sent).toBeLessThan(64 * 1024 * 1024);
});

test("a consumer that does not read slows the server down", async () => {
  let sent = 0;
  let blocked: () => void = () => {};
  const full = new Promise<void>((resolve) => {
    blocked = resolve;
  });
  await using server = await startServer((_request, _message, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const block = "data: 0123456789\n\n".repeat(1000);
    const more = () => {
      while (response.write(block)) sent += block.length;
      sent += block.length;
      const timer = setTimeout(blocked, 100);
      response.once("drain", () => {
        clearTimeout(timer);
        more();
      });
    };
    more();
  });
  const stream = openEndpoint({ baseUrl: server.origin, ...texts });

  await stream.next();
  await full;

  expect(sent).toBeLessThan(32 * 1024 * 1024);
  await stream.return!();
});
