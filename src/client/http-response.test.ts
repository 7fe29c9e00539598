import type { ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type ConnectOptions, connect } from "./index.ts";
import {
  collect,
  envelopeHeaders,
  failureOf,
  listen,
  localMeta,
  problemHeaders,
  setUp,
  streamHeaders,
} from "./testing.ts";

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
      requestId: "1",
    });
  });

  const page = { "content-type": "text/html; charset=utf-8" };
  const notOurs =
    'The response to "task.create" is not from a server of operations: it has status %s and content type %t. Check the URL of the server.';
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

    expect(error).toMatchObject({ code: "BAD_RESPONSE", details: { status } });
    expect([received.length, other.received]).toEqual([1, []]);
  });

  test.each([
    ["is not JSON", "{"],
    ["is not UTF-8", Buffer.from([0x22, 0xff, 0x22])],
    ["has data in an unknown encoding", '{"data":"AQI","encoding":"base64","meta":{}}'],
    ["has data in an unknown encoding", '{"data":{},"encoding":"base64","meta":{}}'],
    ["has data in an unknown encoding", '{"data":"x","encoding":"gzip","meta":{}}'],
  ])("a response that %s is BAD_RESPONSE", async (problem, body) => {
    const { create } = await setUp((response) => response.writeHead(200, envelopeHeaders).end(body));

    const error = await failureOf(create({}));

    expect(error).toMatchObject({ code: "BAD_RESPONSE", message: `The response to "task.create" ${problem}.` });
  });

  test.each(["null", "[]", "1", "{}", '{"data":1}', '{"data":1,"meta":null}'])(
    "%s is not an envelope",
    async (body) => {
      const { create } = await setUp((response) => response.writeHead(200, envelopeHeaders).end(body));

      const error = await failureOf(create({}));

      expect(error).toMatchObject({
        code: "BAD_RESPONSE",
        message: 'The response to "task.create" is not an envelope.',
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
  const end = ": end\nevent: end\nid: end\n\n";

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
    const text = [toEvent("Zürich"), toEvent(2, 1), end].join("").replaceAll("\n", "\r\n");
    const { changes } = await stream([...text]);

    const values = await collect(changes());

    expect(values).toEqual(["Zürich", 2]);
  });

  test.each([
    ["the comment alone", ": end\n"],
    ["an event with data", "event: end\ndata: 1\n\n"],
  ])("%s ends a stream", async (_kind, last) => {
    const { changes } = await stream([toEvent(1), last]);

    expect(await collect(changes())).toEqual([1]);
  });

  test("an event end without data and without the comment does not end a stream", async () => {
    const { changes } = await stream([toEvent(1), "event: end\nid: end\n\n"]);

    await expect(collect(changes())).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  test("a missing value is a STREAM_GAP", async () => {
    const { changes } = await stream([toEvent(1), toEvent(3, 2), end]);
    const values = changes();

    const first = await values.next();
    const error = await failureOf(values.next());

    expect(first.value).toBe(1);
    expect(error).toMatchObject({
      code: "STREAM_GAP",
      message: 'Values of "task.changes" were lost: value "2" arrived instead of value 1.',
      details: { operationId: "task.changes", expected: 1, received: "2" },
      retryable: true,
    });
  });

  test("events of an imported stream have ids of their own", async () => {
    const meta = { source: "http", statusCode: 200, headers: {}, contentType: "text/event-stream", event: { id: "a" } };
    const { changes } = await stream([`id: a\ndata: ${JSON.stringify({ data: 1, meta })}\n\n`, toEvent(2, 1), end]);

    expect(await collect(changes())).toEqual([1, 2]);
  });

  test("a client that had received the whole stream receives no value", async () => {
    const { client, received } = await setUp((response) => response.writeHead(204).end());

    expect(await collect(client["task"]!["changes"]!({}, { lastEventId: "end" }))).toEqual([]);
    expect(received[0]!.headers["last-event-id"]).toBe("end");
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
      message: expect.stringMatching(
        /^The connection to http:\/\/127.0.0.1:\d+ was lost before "task.changes" ended: the stream ended without its last event.$/,
      ),
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

  test("values are read only when the consumer requests them", async () => {
    let pulled = 0;
    const pull = (controller: ReadableStreamDefaultController) => {
      pulled += 1;
      controller.enqueue(new TextEncoder().encode(toEvent(pulled, pulled - 1)));
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
