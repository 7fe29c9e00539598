import { describe, expect, onTestFinished, test, vi } from "vitest";
import { CallError, httpEnvelope, mcpEnvelope, type OperationHandler } from "../../index.ts";
import { deferred } from "../../internal/testing.ts";
import { holdBytes } from "../byte-budget.ts";
import { operation, read, serve } from "./testing.ts";

/** An operation that waits until the test lets it finish, or until its signal fires. */
function waiting() {
  const started = deferred();
  const finish = deferred<unknown>();
  const aborted = deferred<unknown>();
  const handler: OperationHandler = async (_input, { signal }) => {
    signal.addEventListener("abort", () => aborted.resolve(signal.reason));
    started.resolve();
    return finish.promise;
  };
  return { definition: operation("wait", { handler }), started, finish, aborted };
}

describe("a running call", () => {
  test("is aborted when its client disconnects", async () => {
    const { definition, started, aborted } = waiting();
    const events = vi.fn();
    const { send, registry } = serve([definition]);
    registry.on("call", ({ kind }) => events(kind));
    const client = new AbortController();
    const response = send("/task/wait", { signal: client.signal });
    await started.promise;
    client.abort();

    expect(await aborted.promise).toMatchObject({ code: "ABORTED" });
    expect(await read(await response)).toMatchObject({ status: 499, body: { code: "ABORTED", mayHaveRun: true } });
    expect(events.mock.calls).toEqual([["started"], ["failed"]]);
  });

  test("ends with 504 at its deadline", async () => {
    const { definition, aborted } = waiting();
    const { get } = serve([definition], { defaultTimeout: 20 });
    expect(await get("/task/wait")).toMatchObject({
      status: 504,
      body: { code: "TIMEOUT", retryable: true, mayHaveRun: true },
    });
    expect(await aborted.promise).toMatchObject({ code: "TIMEOUT" });
  });

  test("makes others wait with 429 when too many are running", async () => {
    const { definition, started, finish } = waiting();
    const { send } = serve([definition], { limits: { pendingCalls: 1 } });
    const first = send("/task/wait");
    await started.promise;
    const second = await send("/task/wait");
    expect([second.status, second.headers.get("retry-after")]).toEqual([429, "1"]);
    expect((await read(second)).body).toMatchObject({ code: "LIMIT_EXCEEDED", retryable: true, mayHaveRun: false });
    finish.resolve(1);
    expect((await first).status).toBe(200);
  });
});

describe("close()", () => {
  test("lets running calls finish and refuses others with 503", async () => {
    const { definition, started, finish } = waiting();
    const { send, server, get } = serve([definition]);
    const running = send("/task/wait");
    await started.promise;
    const closed = server.close();
    expect(await get("/task/wait")).toMatchObject({
      status: 503,
      body: { code: "UNAVAILABLE", retryable: true, mayHaveRun: false },
    });
    finish.resolve(1);
    expect((await running).status).toBe(200);
    await closed;
    expect(server.close()).toBeInstanceOf(Promise);
  });

  test.each(["query", "subscription"] as const)("refuses a %s that has not started with 503", async (type) => {
    const handler = vi.fn();
    const identified = deferred<undefined>();
    const sent = deferred();
    const body = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        await sent.promise;
        controller.enqueue(new TextEncoder().encode("{}"));
        controller.close();
      },
    });
    const authenticate = vi.fn(() => identified.promise).mockReturnValueOnce(Promise.resolve(undefined));
    const { send, server } = serve([operation("a", { type, handler })], { authenticate, allowAnonymous: true });
    const headers = { "content-type": "application/json" };
    const responses = [
      send("/task/a", { method: "POST", headers, body, duplex: "half" } as RequestInit),
      send("/task/a"),
    ];
    await server.close();
    identified.resolve(undefined);
    sent.resolve();
    for (const response of responses) {
      expect(await read(await response)).toMatchObject({
        status: 503,
        body: { code: "UNAVAILABLE", retryable: true, mayHaveRun: false },
      });
    }
    expect(handler).not.toHaveBeenCalled();
  });

  test("calls that the program aborts meanwhile are 503", async () => {
    const { definition, started, finish } = waiting();
    const { send, server } = serve([definition]);
    const running = send("/task/wait");
    await started.promise;
    const closed = server.close();
    finish.reject(new CallError("ABORTED", "The database is closing."));
    expect(await read(await running)).toMatchObject({ status: 503, body: { code: "ABORTED" } });
    await closed;
  });

  test("ends calls that do not finish in time with 503", async () => {
    const { definition, started, aborted } = waiting();
    const { send, server } = serve([definition]);
    const running = send("/task/wait");
    await started.promise;
    await server.close({ timeout: 0 });
    expect(await read(await running)).toMatchObject({ status: 503, body: { code: "UNAVAILABLE", mayHaveRun: true } });
    await aborted.promise;
  });
});

describe("results", () => {
  test("undefined is 204", async () => {
    const { send } = serve([operation("none", { handler: () => undefined })]);
    const response = await send("/task/none");
    expect([response.status, response.headers.get("content-type"), await response.text()]).toEqual([204, null, ""]);
  });

  test.each([
    ["a Uint8Array", new Uint8Array([1, 2, 3])],
    ["a view of a larger buffer", new Uint8Array([0, 1, 2, 3, 4]).subarray(1, 4)],
    ["an ArrayBuffer", new Uint8Array([1, 2, 3]).buffer],
    ["a DataView", new DataView(new Uint8Array([1, 2, 3]).buffer)],
  ])("bytes are bytes: %s", async (_kind, bytes) => {
    const { send } = serve([operation("bytes", { handler: () => bytes })]);
    const response = await send("/task/bytes");
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "application/octet-stream",
      "content-disposition": "attachment",
      "x-content-type-options": "nosniff",
    });
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(new Uint8Array([1, 2, 3]));
  });

  test("bytes in an envelope are base64", async () => {
    const { get } = serve([operation("bytes", { handler: () => new Uint8Array([1, 2, 3]) })]);
    const { body } = await get("/task/bytes", { accept: "application/vnd.alkdev.envelope+json" });
    expect(body).toMatchObject({ data: "AQID", encoding: "base64", meta: { source: "local" } });
  });

  test.each(["query", "subscription"] as const)(
    "cookies and secret headers of an API do not leave a %s",
    async (type) => {
      const meta = {
        statusCode: 200,
        headers: { "set-cookie": "a=secret", "www-authenticate": "secret", "x-api-key": "secret", "x-page": "2" },
        setCookie: ["a=secret"],
        contentType: "application/json",
      };
      const result = httpEnvelope(1, meta);
      const stream = async function* () {
        yield result;
      };
      const handler = type === "query" ? () => result : stream;
      const { send } = serve([operation("a", { type, handler })]);
      const accept = `${type === "query" ? "" : "text/event-stream, "}application/vnd.alkdev.envelope+json`;
      const response = await send("/task/a", { headers: { accept } });
      const text = await response.text();
      expect(text).toContain('"headers":{"x-page":"2"},"contentType":"application/json"');
      expect([text, ...response.headers.values()].join()).not.toContain("secret");
    },
  );

  test("a value that JSON cannot carry fails with its path", async () => {
    const { get } = serve([operation("big", { handler: () => ({ size: 3n }) })]);
    expect(await get("/task/big")).toMatchObject({
      status: 500,
      body: { code: "EXECUTION_ERROR", details: { path: "/size" } },
    });
  });

  test("drift is counted in a header", async () => {
    const outputSchema = { type: "object", properties: { id: { type: "integer" } } } as never;
    const { send } = serve([operation("drift", { outputSchema, handler: () => ({ id: "7", extra: 1 }) })]);
    const response = await send("/task/drift");
    expect([response.headers.get("drift-total"), (await read(response)).body]).toEqual(["2", { id: 7 }]);
  });

  test("the error of an MCP tool is 500 with its content, unless the client accepts envelopes", async () => {
    const content = [{ type: "text" as const, text: "No such file." }];
    const tool = operation("tool", { handler: () => mcpEnvelope("No such file.", { isError: true, content }) });
    const { get } = serve([tool]);
    expect(await get("/task/tool")).toMatchObject({
      status: 500,
      body: { code: "EXECUTION_ERROR", detail: "No such file.", details: { content } },
    });
    expect(await get("/task/tool", { accept: "application/vnd.alkdev.envelope+json" })).toMatchObject({
      status: 200,
      body: { data: "No such file.", meta: { source: "mcp", isError: true, content } },
    });
  });

  test("a name that is not ASCII is encoded in the header with the id", async () => {
    const { send } = serve([operation("größe")]);
    expect((await send("/task/größe")).headers.get("operation-id")).toBe("task.gr%C3%B6%C3%9Fe");
  });

  test("a typed client that calls a subscription, or subscribes to a query, has no effect", async () => {
    const handler = vi.fn();
    const stream = operation("stream", { type: "subscription", handler: handler as never });
    const { get } = serve([operation("query", { handler }), stream]);
    const envelope = "application/vnd.alkdev.envelope+json";
    const wrong = { status: 405, body: { code: "WRONG_OPERATION_TYPE", mayHaveRun: false } };
    expect(await get("/task/stream", { accept: envelope })).toMatchObject(wrong);
    expect(await get("/task/query", { accept: `text/event-stream, ${envelope}` })).toMatchObject(wrong);
    expect(handler).not.toHaveBeenCalled();
  });

  test("Retry-After is that of the error", async () => {
    const limited = operation("limited", {
      handler: () => {
        throw new CallError("LIMIT_EXCEEDED", "Too many calls.", { retryAfter: 2_500 });
      },
    });
    const { send } = serve([limited]);
    expect((await send("/task/limited")).headers.get("retry-after")).toBe("3");
  });

  test.each([
    ["7", "7"],
    ["soon", "1"],
    ["9".repeat(400), "1"],
  ])("Retry-After of an imported API that responds with 429 is passed on", async (sent, expected) => {
    const limited = operation("limited", {
      _meta: { openapi: {} },
      handler: () => {
        throw new CallError("EXECUTION_ERROR", "HTTP 429", { status: 429, headers: { "retry-after": sent } });
      },
    });
    const { send } = serve([limited]);
    const { status, headers } = await send("/task/limited");
    expect([status, headers.get("retry-after")]).toEqual([429, expected]);
  });

  test("a large result is refused while the process holds as many bytes as it may, and a small one is sent", async () => {
    const { get } = serve([
      operation("large", { handler: () => "x".repeat(64 * 1024) }),
      operation("small", { handler: () => "x" }),
    ]);
    for (const owner of ["ada", "bob", "cy", "dee"]) onTestFinished(holdBytes(owner, 64 * 1024 * 1024));

    const large = await get("/task/large");
    const small = await get("/task/small");

    const problem = { code: "LIMIT_EXCEEDED", retryable: true, mayHaveRun: true };
    expect([large, small]).toMatchObject([
      { status: 429, body: problem },
      { status: 200, body: "x" },
    ]);
  });
});
