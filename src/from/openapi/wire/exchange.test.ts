import { inspect } from "node:util";
import { expect, test, vi } from "vitest";
import type { CallError } from "../../../operation/index.ts";
import type { HTTPServiceConfig } from "../config.ts";
import { createEndpointHandler } from "../handler.ts";
import { callContext, callEndpoint, endpointPlan, failureOf, startRawServer, startServer } from "./testing.ts";

const body = { body: { argument: "body", required: false, media: [{ mediaType: "application/json", encoding: {} }] } };
const secrets = { auth: { type: "apiKey", token: "canary-key" } as const, headers: { "X-Extra": "canary-extra" } };

test.each([301, 302, 303, 307, 308])("a %d of GET inside the origin is followed", async (status) => {
  await using server = await startServer((request, _, response) => {
    if (request.url === "/things") return response.writeHead(status, { location: "/moved?x=1#part" }).end();
    response.setHeader("content-type", "application/json").end("[1]");
  });

  const { data, meta } = await callEndpoint({ baseUrl: server.origin }, {}, secrets);

  expect([data, meta]).toMatchObject([[1], { statusCode: 200 }]);
  expect(server.received.map(({ url, headers }) => [url, headers["x-api-key"]])).toEqual([
    ["/things", "canary-key"],
    ["/moved?x=1", "canary-key"],
  ]);
});

test.each([301, 302, 303, 307, 308])(
  "a %d to another origin is not followed: no credential and no body leave",
  async (status) => {
    await using other = await startServer();
    await using server = await startServer((_request, _message, response) => {
      response.writeHead(status, { location: `${other.origin}/steal` }).end("see there");
    });

    const read = await failureOf(callEndpoint({ baseUrl: server.origin }, {}, secrets));
    const write = await failureOf(
      callEndpoint({ baseUrl: server.origin, method: "POST", ...body }, { body: "canary" }, secrets),
    );

    expect(read).toMatchObject({
      code: "EXECUTION_ERROR",
      message: `HTTP ${status}: redirect to another origin not followed`,
      details: { status, location: `${other.origin}/steal` },
    });
    expect(write).toMatchObject({ message: `HTTP ${status}: redirect of POST not followed`, mayHaveRun: true });
    expect(other.received).toEqual([]);
    expect(JSON.stringify([read, write])).not.toContain("canary");
  },
);

test.each([
  ["http://user:pw@{host}/x", "redirect to another origin not followed"],
  ["file:///etc/passwd", "redirect to another origin not followed"],
  ["data:text/plain,x", "redirect to another origin not followed"],
  ["//evil.test/x", "redirect to another origin not followed"],
  ["http://[bad", "redirect without a usable location"],
  [undefined, "redirect without a usable location"],
])("a redirect to %j is an error", async (location, problem) => {
  await using server = await startServer((_request, message, response) => {
    const headers = location === undefined ? {} : { location: location.replace("{host}", message.headers.host!) };
    response.writeHead(302, headers).end();
  });

  expect(await failureOf(callEndpoint({ baseUrl: server.origin }))).toMatchObject({ message: `HTTP 302: ${problem}` });
  expect(server.received).toHaveLength(1);
});

test("the fourth redirect ends a loop", async () => {
  await using server = await startServer((_request, _message, response) => {
    response.writeHead(302, { location: "/again" }).end();
  });

  expect(await failureOf(callEndpoint({ baseUrl: server.origin }))).toMatchObject({
    message: "HTTP 302: more than 3 redirects",
  });
  expect(server.received).toHaveLength(4);
});

/** Resolves when the connection that a server took first is closed. */
async function untilClosed({ sockets }: Awaited<ReturnType<typeof startRawServer>>): Promise<void> {
  await vi.waitFor(() => expect(sockets[0]?.closed).toBe(true));
}

test("a call past its timeout fails with TIMEOUT, and the connection closes", async () => {
  await using server = await startRawServer(() => {});

  const failure = await failureOf(callEndpoint({ baseUrl: server.origin }, {}, { timeout: 300 }));

  expect(failure).toEqual({
    code: "TIMEOUT",
    message: '"shop.op" did not receive a complete response within 300 ms.',
    retryable: true,
    mayHaveRun: true,
  });
  await untilClosed(server);
});

test("the timeout covers a body that never ends", async () => {
  await using server = await startRawServer((socket) => {
    socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n");
  });

  expect(await failureOf(callEndpoint({ baseUrl: server.origin }, {}, { timeout: 300 }))).toMatchObject({
    code: "TIMEOUT",
  });
  await untilClosed(server);
});

test("the timeout applies to a fetch that ignores signals, and to a token that never arrives", async () => {
  const never = () => new Promise<never>(() => {});

  const [deaf, waiting] = await Promise.all([
    failureOf(callEndpoint({}, {}, { timeout: 300, fetch: never })),
    failureOf(callEndpoint({}, {}, { timeout: 300, auth: { type: "bearer", token: never } })),
  ]);

  expect([deaf, waiting]).toMatchObject([
    { code: "TIMEOUT", mayHaveRun: true },
    { code: "TIMEOUT", mayHaveRun: false },
  ]);
});

test.each([undefined, 60_000])("an abort ends the call and closes the connection (timeout %s)", async (timeout) => {
  const controller = new AbortController();
  await using server = await startRawServer(() => controller.abort(new Error("canary")));

  const failure = await failureOf(
    callEndpoint({ baseUrl: server.origin }, {}, { ...(timeout && { timeout }) }, { signal: controller.signal }),
  );

  expect(failure).toEqual({ code: "ABORTED", message: '"shop.op" was aborted.', retryable: false, mayHaveRun: true });
  await untilClosed(server);
});

test("a call that was aborted before it began sends nothing", async () => {
  await using server = await startServer();

  const failure = await failureOf(
    callEndpoint({ baseUrl: server.origin }, {}, { timeout: 1000 }, { signal: AbortSignal.abort() }),
  );

  expect(failure).toMatchObject({ code: "ABORTED", mayHaveRun: false });
  expect(server.received).toEqual([]);
});

test("the reason of a deadline becomes TIMEOUT", async () => {
  const signal = AbortSignal.abort(new DOMException("late", "TimeoutError"));

  expect(await failureOf(callEndpoint({}, {}, {}, { signal }))).toMatchObject({ code: "TIMEOUT", retryable: true });
});

test("no more requests run at a time than allowed, and the others run in order", async () => {
  const open: Array<() => void> = [];
  let most = 0;
  let running = 0;
  const order: string[] = [];
  const slow: typeof fetch = async (url) => {
    order.push(String(url).slice(-1));
    most = Math.max(most, ++running);
    await new Promise<void>((resolve) => open.push(resolve));
    running--;
    return new Response(null, { status: 204 });
  };
  const config: HTTPServiceConfig = { namespace: "shop", concurrency: 2, fetch: slow };

  const calls = [1, 2, 3, 4, 5].map((id) =>
    createEndpointHandler(endpointPlan({ path: `/${id}` }), config).handler({}, callContext()),
  );
  for (let done = 0; done < calls.length; done++) {
    await vi.waitUntil(() => open.length > 0);
    open.shift()!();
  }
  await Promise.all(calls);

  expect([most, order]).toEqual([2, ["1", "2", "3", "4", "5"]]);
});

test("a call that is aborted while it waits never runs and does not count as running", async () => {
  const open: Array<() => void> = [];
  const slow: typeof fetch = async () => {
    await new Promise<void>((resolve) => open.push(resolve));
    return new Response(null, { status: 204 });
  };
  const config: HTTPServiceConfig = { namespace: "shop", concurrency: 1, fetch: slow };
  const controller = new AbortController();
  const { handler } = createEndpointHandler(endpointPlan(), config);

  const first = handler({}, callContext());
  const second = failureOf(Promise.resolve(handler({}, callContext({ signal: controller.signal }))));
  controller.abort();
  const failure = await second;
  open.shift()!();
  await first;
  const third = handler({}, callContext());
  await vi.waitUntil(() => open.length === 1);
  open.shift()!();
  await third;

  expect(failure).toMatchObject({ code: "ABORTED", mayHaveRun: false });
});

test("nothing is compiled or requested before the first call", () => {
  const plan = endpointPlan({ baseUrl: "not a url", path: "//evil.test" });
  Object.defineProperty(plan, "outputSchema", {
    get() {
      throw new Error("read too early");
    },
  });

  expect(Object.keys(createEndpointHandler(plan, { namespace: "shop" }))).toEqual(["handler"]);
});

test("a redirect that the platform hides is an error", async () => {
  const hiding: typeof fetch = async () => Object.defineProperty(Response.error(), "type", { value: "opaqueredirect" });

  expect(await failureOf(callEndpoint({}, {}, { fetch: hiding }))).toMatchObject({
    message: "HTTP 0: redirect without a usable location",
  });
});

test("no failure reveals a secret, wherever it was sent", async () => {
  const canary = "canary/+=1234";
  await using echo = await startServer((request, message, response) => {
    const status = Number(message.headers["x-status"]);
    const said = `${request.url} ${JSON.stringify(request.headers)}`;
    response.writeHead(status, { "content-type": "application/json", location: `http://evil.test/?k=${request.url}` });
    response.end(said);
  });
  await using reset = await startRawServer((socket) => socket.resetAndDestroy());
  const places: HTTPServiceConfig["auth"][] = [
    { type: "bearer", token: canary },
    { type: "basic", username: "u", password: canary },
    { type: "apiKey", token: canary },
    { type: "apiKey", token: canary, in: "query", name: "key" },
    { type: "apiKey", token: canary, in: "cookie", name: "key" },
  ];
  const failures: unknown[] = [];

  for (const auth of places) {
    for (const status of [200, 302, 400, 401, 500]) {
      const config = { auth, headers: { "x-status": String(status), "x-secret-key": canary } };
      const call = callEndpoint({ baseUrl: echo.origin }, {}, config);
      failures.push(await call.catch((error: CallError) => [error, error.stack, error.cause, error.toJSON()]));
    }
    const lostCall = callEndpoint({ baseUrl: reset.origin }, {}, { auth });
    failures.push(await lostCall.catch((error: Error) => [error, error.stack, error.cause]));
  }

  const text = inspect(failures, { depth: 10 });
  expect(failures).toHaveLength(30);
  expect(text).not.toContain(canary);
  expect(text).not.toContain(encodeURIComponent(canary));
  expect(text).not.toContain(Buffer.from(`u:${canary}`).toString("base64"));
});

test("a call that nothing can abort reads no signal and passes none on", async () => {
  const signals: unknown[] = [];
  const watching: typeof fetch = async (_url, init) => {
    signals.push(init?.signal);
    return new Response(null, { status: 204 });
  };
  const context = Object.defineProperty(callContext({ abortable: false }), "signal", {
    get() {
      throw new Error("read in vain");
    },
  });
  const { handler } = createEndpointHandler(endpointPlan(), { namespace: "shop", fetch: watching });

  await handler({}, context);

  expect(signals).toEqual([undefined]);
});
