import { afterEach, describe, expect, test, vi } from "vitest";
import { CallError, defineOperation, httpEnvelope, type IOperationDefinition, Type } from "../../index.ts";
import { deferred } from "../../internal/testing.ts";
import type { ServeHTTPOptions } from "./index.ts";
import { serve } from "./testing.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** A subscription `task.changes` with this handler. */
function changes(handler: IOperationDefinition["handler"]): IOperationDefinition {
  return defineOperation({
    namespace: "task",
    name: "changes",
    type: "subscription",
    inputSchema: Type.Object({ count: Type.Integer({ default: 2 }) }),
    outputSchema: Type.Unknown(),
    handler: handler as never,
  });
}

const counting = changes(async function* ({ count }: { count: number }) {
  for (let index = 0; index < count; index++) yield { index };
});

function setUp(definition: IOperationDefinition, options: Partial<ServeHTTPOptions> = {}) {
  const { server, send } = serve([definition], options);
  return { server, open: (query = "", init: RequestInit = {}) => send(`/task/changes${query}`, init) };
}

/** Reads the chunks of a stream one at a time. */
function reading(response: Response) {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  return { next: async () => (await reader.read()).value, cancel: () => reader.cancel() };
}

describe("a stream", () => {
  test("has an event per value and ends with an event without data", async () => {
    const { open } = setUp(counting);
    const response = await open("?count=3");

    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    // Otherwise compression and Nginx hold events back.
    expect(response.headers.get("cache-control")).toBe("no-store, no-transform");
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    expect(await response.text()).toBe(
      'id: 0\ndata: {"index":0}\n\nid: 1\ndata: {"index":1}\n\nid: 2\ndata: {"index":2}\n\n: end\nevent: end\nid: end\n\n',
    );
  });

  test("has the ids of an imported stream, except those that would end it or add fields to it", async () => {
    const { open } = setUp(
      changes(async function* () {
        for (const id of ["a b", "end", "x\nevent: end", "x\rdata: 1", "\0"]) {
          yield httpEnvelope(id.length, { statusCode: 200, headers: {}, contentType: "a/b", event: { id } });
        }
      }),
    );
    const text = await (await open()).text();
    expect(text.match(/^id: .*$/gm)).toEqual(["id: a b", "id: 1", "id: 2", "id: 3", "id: 4", "id: end"]);
    expect(text.match(/^(?!id: |data: \d+$).+$/gm)).toEqual([": end", "event: end"]);
  });

  test("contains envelopes on request", async () => {
    const { open } = setUp(counting);
    const accept = "text/event-stream, application/vnd.alkdev.envelope+json";
    const text = await (await open("?count=1", { headers: { accept } })).text();

    const data = JSON.parse(/^data: (.*)$/m.exec(text)![1]!);
    expect(data).toEqual({
      data: { index: 0 },
      meta: { source: "local", operationId: "task.changes", timestamp: expect.any(Number) },
    });
  });

  test("starts before the first value", async () => {
    const { open } = setUp(
      changes(async function* (_input, { signal }) {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        yield 1;
      }),
    );
    const response = await open();
    expect(response.status).toBe(200);
    await response.body!.cancel();
  });

  test("ends with a problem when the handler fails", async () => {
    const { open } = setUp(
      changes(async function* () {
        yield 1;
        throw new CallError("LOST", "The connection to the database was lost.", { at: 1 });
      }),
    );
    const text = await (await open()).text();
    const [, problem] = /^event: problem\ndata: (.*)$/m.exec(text)!;
    expect(JSON.parse(problem!)).toEqual({
      title: "Unprocessable Content",
      status: 422,
      detail: "The connection to the database was lost.",
      code: "LOST",
      details: { at: 1 },
      retryable: false,
      mayHaveRun: true,
      requestId: expect.any(String),
    });
  });

  test("has a status of its own when the handler fails before its first value", async () => {
    const { open } = setUp(
      // biome-ignore lint/correctness/useYield: it fails before its first value
      changes(async function* () {
        throw new CallError("LOST", "There is no database.");
      }),
    );
    expect((await open()).status).toBe(422);
    expect((await open("?count=x")).status).toBe(400);
  });

  test("is a problem response when the first value cannot be sent", async () => {
    let isEnded = false;
    const { open } = setUp(
      changes(async function* () {
        try {
          yield () => {};
        } finally {
          isEnded = true;
        }
      }),
    );
    const response = await open();

    expect([response.status, response.headers.get("content-type")]).toEqual([500, "application/problem+json"]);
    expect(await response.json()).toMatchObject({ code: "EXECUTION_ERROR" });
    expect(isEnded).toBe(true);
  });

  test("ends with a problem at a value that JSON cannot carry", async () => {
    const { open } = setUp(
      changes(async function* () {
        yield 1;
        yield { size: 3n };
        yield 2;
      }),
    );
    const text = await (await open()).text();
    expect(text).toContain("id: 0\ndata: 1\n\nevent: problem\n");
    expect(text).toContain('"details":{"path":"/size"');
  });

  test("passes the id of the last event to the handler", async () => {
    const { open } = setUp(
      changes(async function* (_input, { lastEventId }) {
        yield lastEventId ?? "none";
      }),
    );
    const sent = async (id: string) => (await open("", { headers: { "last-event-id": id } })).text();
    expect(await sent("41")).toContain('data: "41"');
    expect(await sent("4".repeat(256))).toContain(`data: "${"4".repeat(256)}"`);
    expect(await sent("4".repeat(257))).toContain('data: "none"'); // Calls of peers cannot have a longer one.
  });

  test("is not started again after its end", async () => {
    const start = vi.fn();
    const { open } = setUp(
      changes(async function* () {
        start();
        yield 1;
      }),
    );
    const response = await open("", { headers: { "last-event-id": "end" } });
    expect([response.status, await response.text()]).toEqual([204, ""]);
    expect(start).not.toHaveBeenCalled();
  });

  test("sends comments while it is idle", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { open } = setUp(
      changes(async function* (_input, { signal }) {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        yield 1;
      }),
    );
    const stream = reading(await open());
    const next = stream.next();
    await vi.advanceTimersByTimeAsync(15_000);
    expect(await next).toBe(":\n\n");
    await stream.cancel();
  });
});

test("values that were not sent count in the budget of the server, which ends a stream that exceeds it", async () => {
  const { open } = setUp(
    changes(async function* () {
      yield "x".repeat(65 * 1024 * 1024);
    }),
  );
  const text = await (await open()).text();
  expect(text).toMatch(/^event: problem\ndata: .*"code":"LIMIT_EXCEEDED"/);
});

describe("the end of a stream", () => {
  test("a client that leaves ends the handler", async () => {
    const ended = deferred();
    const { open } = setUp(
      changes(async function* () {
        try {
          for (let index = 0; ; index++) yield index;
        } finally {
          ended.resolve();
        }
      }),
    );
    const stream = reading(await open());
    await stream.next();
    await stream.cancel();
    await ended.promise;
  });

  test("a client that leaves before the first value ends the handler, whether or not the body is read", async () => {
    const aborted = deferred();
    const { open } = setUp(
      changes(async function* (_input, { signal }) {
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        aborted.resolve();
        yield 1;
      }),
    );
    const client = new AbortController();
    await open("", { signal: client.signal });
    client.abort();
    await aborted.promise;
  });

  test("a client may leave at any time, also while a value waits to be sent", async () => {
    const uncaught = vi.fn();
    process.on("uncaughtException", uncaught);
    const { open } = setUp(
      changes(async function* () {
        for (let index = 0; ; index++) yield index;
      }),
    );

    for (let turns = 0; turns < 20; turns++) {
      const reader = (await open()).body!.getReader();
      await reader.read();
      const pending = reader.read();
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      await reader.cancel();
      await pending;
    }
    await new Promise(setImmediate);

    process.off("uncaughtException", uncaught);
    expect(uncaught).not.toHaveBeenCalled();
  });

  test("a client that does not read pauses the handler", async () => {
    let produced = 0;
    const { open } = setUp(
      changes(async function* () {
        for (; ; produced++) yield "x".repeat(1_000);
      }),
    );
    const response = await open();
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(produced).toBeLessThanOrEqual(65);
    await response.body!.cancel();
  });

  test("close() ends it with UNAVAILABLE and lets calls finish", async () => {
    const { open, server } = setUp(
      changes(async function* (_input, { signal }) {
        yield 1;
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      }),
    );
    const stream = reading(await open());
    expect(await stream.next()).toBe("id: 0\ndata: 1\n\n");
    await server.close();
    expect(await stream.next()).toMatch(/^event: problem\ndata: \{"title":"Service Unavailable","status":503,/);
    expect((await open()).status).toBe(503);
  });

  test("a removed credential ends it with ACCESS_DENIED, and is not checked after the end", async () => {
    let isValid = true;
    let checks = 0;
    const listeners: Array<() => void> = [];
    const authenticate = {
      authenticate: () => {
        checks += 1;
        if (!isValid) throw new Error("unknown token");
        return { id: "ada", scopes: [] };
      },
      onChange: (listener: () => void) => {
        listeners.push(listener);
        return () => {};
      },
    };
    const { open } = setUp(
      changes(async function* ({ count }: { count: number }, { signal }) {
        yield 1;
        if (count > 0) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      }),
      { authenticate },
    );
    await (await open("?count=0")).text();
    const stream = reading(await open());
    expect(await stream.next()).toBe("id: 0\ndata: 1\n\n");
    isValid = false;
    for (const listener of listeners) listener();
    expect(await stream.next()).toMatch(/^event: problem\ndata: .*"code":"ACCESS_DENIED"/);
    const known = checks;
    for (const listener of listeners) listener();
    expect(checks).toBe(known);
  });
});
