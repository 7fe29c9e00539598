import { expect, onTestFinished, test, vi } from "vitest";
import { CallError, type IOperationDefinition, localEnvelope, OperationRegistry } from "../index.ts";
import type { CallRequested, ReplyFrame } from "../transport/transport.ts";
import { buildCallHandler, type CallHandlerOptions, PendingRequestMap } from "./index.ts";
import { deferred, operation, sleep, subscription } from "./testing.ts";

const admin = { id: "ada", scopes: ["admin"] };

function secret(handler: IOperationDefinition["handler"] = (_input, { identity }) => identity?.id ?? "anonymous") {
  return { ...operation("secret", handler), accessControl: { requiredScopes: ["admin"] } };
}

/** A handler of these operations, called with raw frames as they arrive from a network. */
function setUp(definitions: IOperationDefinition[], options: Partial<CallHandlerOptions> = {}) {
  const registry = new OperationRegistry();
  registry.registerAll(definitions);
  const callMap = new PendingRequestMap(new EventTarget());
  const handler = buildCallHandler({ registry, callMap, ...options });
  const ask = (fields: Partial<CallRequested> & Record<string, unknown>, caller?: typeof admin) => {
    const frame = {
      type: "call.requested",
      requestId: "r",
      operationId: "test.secret",
      input: {},
      ...fields,
    } as CallRequested;
    const replies: ReplyFrame[] = [];
    const ended = deferred<ReplyFrame>();
    const follow = handler(
      frame,
      (reply) => {
        replies.push(reply);
        if (reply.type !== "call.progressed" && !("seq" in reply)) ended.resolve(reply);
      },
      caller,
    );
    return { follow, replies, ended: ended.promise };
  };
  return { ask, handler, registry, callMap };
}

test("an identity that is only claimed counts for nothing", async () => {
  const start = vi.fn();
  const { ask } = setUp([secret(start)]);

  const reply = await ask({ identity: admin, trusted: true, metadata: { trusted: true } }).ended;

  expect(reply).toMatchObject({ type: "call.error", code: "ACCESS_DENIED", mayHaveRun: false });
  expect(start).not.toHaveBeenCalled();
});

test("authenticate maps a token to an identity and outranks the claim", async () => {
  const authenticate = vi.fn(async (token: string | undefined) =>
    token === "good" ? { id: "grace", scopes: ["admin"] } : undefined,
  );
  const { ask } = setUp([secret()], { authenticate });

  const good = await ask({ token: "good", identity: admin }).ended;
  const bad = await ask({ token: "bad", identity: admin }).ended;

  expect(good).toMatchObject({ type: "call.responded", output: { data: "grace" } });
  expect(bad).toMatchObject({ code: "ACCESS_DENIED" });
  const request = expect.objectContaining({ operationId: "test.secret" });
  expect(authenticate.mock.calls).toEqual([
    ["good", admin, request],
    ["bad", admin, request],
  ]);
});

test("an error of authenticate refuses the call, and its message is not sent", async () => {
  const { ask } = setUp([operation("secret", () => 1)], {
    authenticate: () => {
      throw new Error("the database password is 1234");
    },
  });

  const reply = await ask({ token: "x" }).ended;

  expect(reply).toMatchObject({ code: "ACCESS_DENIED", mayHaveRun: false });
  expect(JSON.stringify(reply)).not.toContain("1234");
});

test("the identity of a trusted bus, and of a transport that authenticates its callers, is accepted", async () => {
  const trusting = setUp([secret()], { trustedBus: true });
  const connected = setUp([secret()]);

  expect(await trusting.ask({ identity: admin }).ended).toMatchObject({ output: { data: "ada" } });
  expect(await connected.ask({ identity: { id: "eve", scopes: ["admin"] } }, admin).ended).toMatchObject({
    output: { data: "ada" },
  });
});

test.each([
  ["text", "soon"],
  ["NaN", Number.NaN],
  ["negative", -5],
  ["nothing left", 0],
])("a timeout that is %s starts nothing", async (_kind, timeout) => {
  const start = vi.fn();
  const { ask } = setUp([operation("secret", start)]);

  const reply = await ask({ timeout: timeout as number }).ended;

  expect(reply).toMatchObject({ code: "TIMEOUT", mayHaveRun: false });
  expect(start).not.toHaveBeenCalled();
});

/** Stops the clock, so that a test decides when time passes. */
function stopClock(): void {
  vi.useFakeTimers({ toFake: ["Date", "performance", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
}

test("the operator's maximum applies to every deadline, and a default applies without one", async () => {
  stopClock();
  const { ask } = setUp([operation("secret", (_input, { deadline }) => deadline! - Date.now())], {
    defaultTimeout: 1_000,
    maxTimeout: 5_000,
  });
  const left = async (timeout?: number) => ((await ask({ timeout }).ended) as { output: { data: number } }).output.data;

  expect([await left(Number.POSITIVE_INFINITY), await left(253_402_300_799_999), await left()]).toEqual([
    5_000, 5_000, 1_000,
  ]);
});

test("a call that was aborted while its caller was authenticated never starts", async () => {
  const start = vi.fn();
  const known = deferred<undefined>();
  const { ask, handler } = setUp([operation("secret", start)], { authenticate: () => known.promise });
  const { follow, replies } = ask({ token: "x" });

  follow({ type: "call.aborted", requestId: "r" });
  known.resolve(undefined);
  await handler.settled!();
  await sleep(0);

  expect([start.mock.calls.length, replies]).toEqual([0, []]);
});

test("more calls than the limit are refused before they run", async () => {
  const { ask } = setUp([operation("secret", () => new Promise(() => {}))], { limits: { pendingCalls: 2 } });
  ask({});
  ask({});

  expect(await ask({}).ended).toMatchObject({ code: "LIMIT_EXCEEDED", mayHaveRun: false });
});

test("metadata and the parent's id reach the handler, malformed ones do not", async () => {
  const { ask } = setUp([
    operation("secret", (_input, { requestId, parentRequestId, metadata }) => [requestId, parentRequestId, metadata]),
  ]);

  expect(await ask({ parentRequestId: "p", metadata: { a: 1 } }).ended).toMatchObject({
    output: { data: ["r", "p", { a: 1 }] },
  });
  expect(await ask({ parentRequestId: 7 as never, metadata: "x" as never }).ended).toMatchObject({
    output: { data: ["r", undefined, {}] },
  });
});

test("a response that cannot be sent is an error, without the value that cannot be sent", async () => {
  const { handler } = setUp([
    operation("secret", () => {
      throw new CallError("UNUSUAL", "unusual", { code: () => 1 });
    }),
  ]);
  const sent: ReplyFrame[] = [];
  const told = deferred<void>();

  handler({ type: "call.requested", requestId: "r", operationId: "test.secret", input: {} }, (frame) => {
    if ("details" in frame && typeof (frame.details as { code?: unknown }).code === "function") {
      throw new CallError("EXECUTION_ERROR", "A function cannot be sent.");
    }
    sent.push(frame);
    told.resolve();
  });
  await told.promise;

  expect(sent).toEqual([
    {
      type: "call.error",
      requestId: "r",
      code: "UNUSUAL",
      message: "unusual",
      details: {},
      retryable: false,
      mayHaveRun: true,
    },
  ]);
});

test("credit that is not a count allows no value, and each value costs one", async () => {
  const { ask } = setUp([
    subscription("secret", async function* () {
      yield 1;
      yield 2;
      yield 3;
    }),
  ]);
  const { follow, replies } = ask({ credit: 1 });
  const data = () =>
    replies.map((reply) => (reply.type === "call.responded" ? [reply.seq, reply.output.data] : reply.type));

  await vi.waitFor(() => expect(data()).toEqual([[0, 1]]));
  follow({ type: "call.credited", requestId: "r", count: Number.NaN });
  follow({ type: "call.credited", requestId: "r", count: -1 });
  follow({ type: "call.credited", requestId: "r", count: 5 });

  await vi.waitFor(() => expect(data()).toEqual([[0, 1], [1, 2], [2, 3], "call.completed"]));
});

test("events of the registry report a timeout when it happens", async () => {
  const { ask, registry } = setUp([operation("secret", () => new Promise(() => {}))]);
  const kinds: string[] = [];
  registry.on("call", (event) => kinds.push(event.kind === "failed" ? event.error.code : event.kind));

  await ask({ timeout: 300 }).ended;
  await sleep(0);

  expect(kinds).toEqual(["started", "TIMEOUT"]);
});

test.each([
  ["with a deadline", { timeout: 60_000 }, () => sleep(0)],
  ["with a deadline, in the same turn", { timeout: 60_000 }, () => {}],
  ["without a deadline", { timeout: Number.POSITIVE_INFINITY }, () => sleep(0)],
])("an abort %s fires the signal, and events report that the handler may have run", async (_, fields, wait) => {
  const aborted = deferred<void>();
  const isAborted = deferred<boolean>();
  const secret = operation("secret", async (_input, context) => {
    await aborted.promise; // The signal is first read after that.
    isAborted.resolve(context.signal.aborted);
  });
  const { ask, registry } = setUp([secret], { maxTimeout: Number.POSITIVE_INFINITY });
  const events: unknown[] = [];
  registry.on("call", (event) =>
    events.push("error" in event ? [event.error.code, event.error.mayHaveRun] : event.kind),
  );

  const { follow, replies } = ask(fields);
  await wait();
  follow({ type: "call.aborted", requestId: "r" });
  aborted.resolve();

  expect(await isAborted.promise).toBe(true);
  expect({ events, replies }).toEqual({ events: ["started", ["ABORTED", true]], replies: [] });
});

test("an abort in the turn of the call fires the signal with its reason", async () => {
  const aborted = deferred<void>();
  const reason = deferred<unknown>();
  const secret = operation("secret", async (_input, context) => {
    await aborted.promise;
    reason.resolve(context.signal.reason);
  });
  const { ask } = setUp([secret]);

  ask({}).follow({ type: "call.aborted", requestId: "r", reason: "The user left." });
  aborted.resolve();

  expect(await reason.promise).toMatchObject({ code: "ABORTED", cause: "The user left.", mayHaveRun: true });
});

test("a listener that aborts a call when it starts prevents its handler from running", async () => {
  const start = vi.fn();
  const known = deferred<undefined>();
  const { ask, handler, registry } = setUp([operation("secret", start)], { authenticate: () => known.promise });
  const events: unknown[] = [];
  registry.on("call", (event) => {
    events.push("error" in event ? [event.error.code, event.error.mayHaveRun, event.duration >= 0] : event.kind);
    if (event.kind === "started") follow({ type: "call.aborted", requestId: "r" });
  });

  const { follow, replies } = ask({ token: "x" });
  known.resolve(undefined);
  await handler.settled!();
  await sleep(0);

  expect({ events, replies }).toEqual({ events: ["started", ["ABORTED", false, true]], replies: [] });
  expect(start).not.toHaveBeenCalled();
});

test("a call that a handler makes after its own call has ended keeps the deadline", async () => {
  const [replied, late] = [deferred<void>(), deferred<unknown>()];
  const child = operation("child", () => new Promise(() => {}));
  const secret = operation("secret", (_input, { env }) => {
    replied.promise.then(() => env["test"]!["child"]!({})).catch((error) => late.resolve(error));
  });
  const { ask } = setUp([secret, child]);

  await ask({ timeout: 100 }).ended;
  replied.resolve();

  expect(await late.promise).toMatchObject({ code: "TIMEOUT", mayHaveRun: true });
});

test("a handler can be connected to an EventTarget by hand, and responds with events", async () => {
  const target = new EventTarget();
  const registry = new OperationRegistry();
  registry.register(operation("echo", (input) => input));
  const callMap = new PendingRequestMap(target);
  const handler = buildCallHandler({ registry, callMap });
  target.addEventListener("call.requested", (event) => void handler((event as CustomEvent).detail));

  expect((await callMap.call("test.echo", { a: 1 })).data).toEqual({ a: 1 });
});

test("respond accepts envelopes only, and late responses are ignored", async () => {
  const calls = new PendingRequestMap();
  const heard = deferred<string>();
  const note = (frame: CallRequested) => {
    heard.resolve(frame.requestId);
    return () => {};
  };
  calls.handle(Object.assign(note, { operations: () => [operation("echo", () => 1)], onChange: () => () => {} }));
  const call = calls.call("test.echo", {});
  const requestId = await heard.promise;

  expect(() => calls.respond(requestId, 5 as never)).toThrow("respond() requires an envelope");
  calls.respond(requestId, localEnvelope("answer", "test.echo"));
  calls.respond(requestId, localEnvelope("again", "test.echo"));

  expect((await call).data).toBe("answer");
  expect([calls.pendingCount, calls.ignoredCount]).toEqual([0, 1]);
});

test.each([
  ["a call", {}],
  ["a subscription", { credit: 8 }],
])("%s whose time ran out between its arrival and its start is not started", async (_, more) => {
  const callMap = new PendingRequestMap();
  const registry = new OperationRegistry();
  let starts = 0;
  registry.register(operation("echo", () => (starts += 1)));
  registry.register(
    subscription("ticks", async function* () {
      starts += 1;
      yield starts;
    }),
  );
  const handler = buildCallHandler({ registry, callMap });
  const operationId = "credit" in more ? "test.ticks" : "test.echo";
  const request = { type: "call.requested", operationId, input: {}, timeout: 60_000, ...more } as const;
  const ask = (expiresAt: number) =>
    new Promise<ReplyFrame>(
      (resolve) => void handler({ ...request, requestId: crypto.randomUUID(), expiresAt }, resolve),
    );

  expect(await ask(performance.now() - 1)).toMatchObject({ type: "call.error", code: "TIMEOUT", mayHaveRun: false });
  expect(starts).toBe(0);
  expect((await ask(performance.now() + 60_000)).type).not.toBe("call.error");
  expect((await ask(Number.NaN)).type).not.toBe("call.error");
  expect(starts).toBe(2);
  await callMap.close();
});

test("a subscription ends with ACCESS_DENIED when the credential of its caller expires", async () => {
  const ended = deferred<boolean>();
  const ticks = subscription("secret", async function* (_input, { signal, identity }) {
    try {
      yield identity;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    } finally {
      ended.resolve(signal.aborted);
    }
  });
  stopClock();
  const authenticate = () => ({ ...admin, expiresAt: Date.now() + 50 });
  const { ask, handler } = setUp([ticks], { authenticate });
  const { replies, ended: end } = ask({ token: "x", credit: 8 });
  while (replies.length === 0) await new Promise(setImmediate);

  await vi.advanceTimersByTimeAsync(50);
  const reply = await end;

  expect(replies[0]).toMatchObject({ type: "call.responded", output: { data: admin } });
  expect(reply).toMatchObject({
    type: "call.error",
    code: "ACCESS_DENIED",
    message: 'Access to "test.secret" denied: the credential of the caller has expired. Authenticate again.',
    mayHaveRun: true,
  });
  expect(await ended.promise).toBe(true);
  await handler.settled();
});

test.each([
  ["has passed", 1],
  ["is not a time", "soon"],
])("a request whose credential expires at a time that %s starts nothing", async (_, expiresAt) => {
  const start = vi.fn();
  const authenticate = () => ({ ...admin, expiresAt: expiresAt as number });
  const { ask } = setUp([operation("secret", start)], { authenticate });

  const replies = [await ask({ token: "x" }).ended, await ask({ token: "x", credit: 8 }).ended];

  expect(replies).toMatchObject(replies.map(() => ({ code: "ACCESS_DENIED", mayHaveRun: false })));
  expect(start).not.toHaveBeenCalled();
});

test("a call that runs when the credential of its caller expires may finish", async () => {
  stopClock();
  const authenticate = () => ({ ...admin, expiresAt: Date.now() + 20 });
  const { ask } = setUp([operation("secret", () => vi.advanceTimersByTimeAsync(60).then(() => "done"))], {
    authenticate,
  });

  expect(await ask({ token: "x" }).ended).toMatchObject({ type: "call.responded", output: { data: "done" } });
});
