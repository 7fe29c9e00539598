import { expect, test, vi } from "vitest";
import { localEnvelope, OperationRegistry } from "../index.ts";
import { createInProcessTransport } from "../transport/in-process/index.ts";
import type { CallRequested, ReplyFrame, Transport } from "../transport/transport.ts";
import { buildCallHandler, PendingRequestMap } from "./index.ts";
import { operation, responded } from "./testing.ts";

/** A map whose requests the test replies to with frames. */
function setUp(limits?: { pendingCalls: number }) {
  const requests: Array<{ frame: CallRequested; reply(frame: ReplyFrame): void }> = [];
  const followUps: unknown[] = [];
  const inner = createInProcessTransport();
  const transport: Transport = {
    name: "by hand",
    request: (_id, frame, reply) => {
      requests.push({ frame, reply });
      return (followUp) => followUps.push(followUp);
    },
    serve: (ids, onRequest) => inner.serve(ids, onRequest),
    announce: async () => {},
    watchPeers: () => () => {},
    close: () => inner.close(),
  };
  return { calls: new PendingRequestMap(transport, { limits }), requests, followUps };
}

function value(frame: CallRequested, seq: number): ReplyFrame {
  return { type: "call.responded", requestId: frame.requestId, output: localEnvelope(seq, frame.operationId), seq };
}

test("a call above the limit fails immediately and does not affect the others", async () => {
  const { calls, requests } = setUp({ pendingCalls: 1 });
  const first = calls.call("test.echo", {});

  await expect(calls.call("test.echo", {})).rejects.toMatchObject({ code: "LIMIT_EXCEEDED", mayHaveRun: false });
  requests[0]!.reply(responded(requests[0]!.frame, "fine"));

  expect((await first).data).toBe("fine");
  expect(requests).toHaveLength(1);
});

test("requests carry the time that is left and ids that cannot be guessed", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  const { calls, requests } = setUp();
  void calls.call("test.echo", {}, { deadline: Date.now() + 60_000 }).catch(() => {});
  void calls.call("test.echo", {}).catch(() => {});

  const [first, second] = requests.map(({ frame }) => frame);
  vi.useRealTimers();
  expect([first!.timeout, second!.timeout]).toEqual([60_000, 30_000]);
  expect(first!.requestId).not.toBe(second!.requestId);
  expect(first!.requestId).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
  expect(Object.getPrototypeOf(first)).toBe(Object.prototype);
  await calls.close();
});

test("a timeout is the time that requests carry, unless the deadline is earlier", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  const { calls, requests } = setUp();
  void calls.call("test.echo", {}, { timeout: 500 }).catch(() => {});
  void calls.call("test.echo", {}, { timeout: 500, deadline: Date.now() + 200 }).catch(() => {});
  void calls.call("test.echo", {}, { timeout: Number.POSITIVE_INFINITY }).catch(() => {});
  const values = calls.subscribe("test.ticks", {}, { timeout: 500 });
  vi.advanceTimersByTime(100);
  void values.next().catch(() => {});

  expect(requests.map(({ frame }) => frame.timeout)).toEqual([500, 200, undefined, 400]);
  vi.useRealTimers();
  await calls.close();
});

test.each([0, Number.NaN, "5s", null])("the timeout %j is refused, and nothing is sent", async (timeout) => {
  const { calls, requests } = setUp();
  const options = { timeout: timeout as never };
  const refusal = { code: "VALIDATION_ERROR", mayHaveRun: false };

  await expect(calls.call("test.echo", {}, options)).rejects.toMatchObject(refusal);
  await expect(calls.subscribe("test.ticks", {}, options).next()).rejects.toMatchObject(refusal);
  expect(requests).toEqual([]);
});

test("a lost value ends a subscription with STREAM_GAP and notifies the producer", async () => {
  const { calls, requests, followUps } = setUp();
  const values = calls.subscribe("test.ticks", {});
  const first = values.next();
  const { frame, reply } = requests[0]!;
  reply(value(frame, 0));
  reply(value(frame, 2));

  expect((await first).value.data).toBe(0);
  await expect(values.next()).rejects.toMatchObject({ code: "STREAM_GAP" });
  expect(followUps).toMatchObject([{ type: "call.aborted", requestId: frame.requestId }]);
});

test("a producer that ignores its credit ends with OVERFLOW, and no more than the credit is held", async () => {
  const { calls, requests } = setUp();
  const values = calls.subscribe("test.ticks", {});
  const first = values.next();
  const { frame, reply } = requests[0]!;
  for (let seq = 0; seq < 66; seq++) reply(value(frame, seq));

  expect([frame.credit, (await first).value.data]).toEqual([64, 0]);
  await expect(values.next()).rejects.toMatchObject({ code: "OVERFLOW" });
  expect(await values.next()).toEqual({ done: true, value: undefined });
});

test("a producer that ignores its credit in bytes ends with OVERFLOW", async () => {
  const { calls, requests } = setUp();
  const values = calls.subscribe("test.ticks", {});
  const first = values.next();
  const { frame, reply } = requests[0]!;
  for (let seq = 0; seq < 8; seq++) {
    const output = localEnvelope("x".repeat(1_048_576), frame.operationId);
    reply({ type: "call.responded", requestId: frame.requestId, output, seq });
  }

  expect([frame.creditBytes, (await first).value.data.length]).toEqual([1_048_576, 1_048_576]);
  await expect(values.next()).rejects.toMatchObject({
    code: "OVERFLOW",
    details: { operationId: "test.ticks", credit: 64, creditBytes: 1_048_576 },
  });
});

test("credit is sent as soon as a value that requires it is consumed", async () => {
  const { calls, requests, followUps } = setUp();
  const values = calls.subscribe("test.ticks", {});
  const first = values.next();
  const { frame, reply } = requests[0]!;
  for (let seq = 0; seq < 3; seq++) reply({ ...value(frame, seq), creditDue: seq === 1 } as ReplyFrame);

  await first;
  expect(followUps).toEqual([]);
  await values.next();
  await values.next();

  expect(followUps).toEqual([{ type: "call.credited", requestId: frame.requestId, count: 2 }]);
  await values.return!();
});

test("subscriptions of large values that are not read hold about 1 MiB each", async () => {
  const calls = new PendingRequestMap();
  const registry = new OperationRegistry();
  let produced = 0;
  registry.register({
    ...operation("large", async function* () {
      for (;;) {
        produced += 1;
        yield new Uint8Array(500_000);
      }
    }),
    type: "subscription",
  });
  await calls.handle(buildCallHandler({ registry, callMap: calls })).ready;
  const unread = Array.from({ length: 20 }, () => calls.subscribe("test.large", {}));
  await Promise.all(unread.map((values) => values.next()));
  await vi.waitFor(() => expect(produced).toBe(20 * 3)); // one was read, two wait
  await new Promise((resolve) => setTimeout(resolve, 20));

  expect(produced).toBe(20 * 3);
  await calls.close();
});

test("a response that is not an envelope is BAD_RESPONSE, a second one is ignored and counted", async () => {
  const { calls, requests } = setUp();
  const call = calls.call("test.echo", {});
  const { frame, reply } = requests[0]!;

  reply({ type: "call.responded", requestId: frame.requestId, output: { data: 1 } as never });
  reply(responded(frame, 2));

  await expect(call).rejects.toMatchObject({ code: "BAD_RESPONSE" });
  expect(calls.ignoredCount).toBe(1);
});

test("abort cancels a call by its id and notifies the server", async () => {
  const { calls, requests, followUps } = setUp();
  const call = calls.call("test.echo", {});
  const { requestId } = requests[0]!.frame;

  calls.abort(requestId, "enough");

  await expect(call).rejects.toMatchObject({ code: "ABORTED", cause: "enough" });
  expect(followUps).toMatchObject([{ type: "call.aborted", requestId }]);
});

test("a subscription that is closed while no consumer waits reports it at the next value", async () => {
  const calls = new PendingRequestMap();
  const registry = new OperationRegistry();
  registry.register({
    ...operation("ticks", async function* () {
      yield 1;
      await new Promise(() => {});
    }),
    type: "subscription",
  });
  calls.handle(buildCallHandler({ registry, callMap: calls }));
  const values = calls.subscribe("test.ticks", {});
  await values.next();

  await calls.close();

  await expect(values.next()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(await values.next()).toEqual({ done: true, value: undefined });
});

test("the default timeout is sent where an abort could get lost, and stops the handler everywhere", async () => {
  class Bridge extends EventTarget {}
  const run = async (target: EventTarget, options?: { defaultTimeout: number }) => {
    const sent: unknown[] = [];
    target.addEventListener("call.requested", (event) => sent.push((event as CustomEvent).detail.timeout));
    const map = new PendingRequestMap(target, options);
    const registry = new OperationRegistry();
    let hasStarted = false;
    const stopped = new Promise((resolve) => {
      const hang = operation("hang", (_input, { signal }) => {
        hasStarted = true;
        return new Promise(() => signal.addEventListener("abort", resolve));
      });
      registry.register(hang);
    });
    await map.handle(buildCallHandler({ registry, callMap: map })).ready;
    const outcome = map.call("test.hang", {}).catch(({ code }) => code);
    if (options === undefined) await map.close();
    const result = { sent, outcome: await outcome, hasStarted };
    if (hasStarted) await stopped;
    await map.close();
    return result;
  };

  const expected = { sent: [undefined], outcome: "UNAVAILABLE", hasStarted: true };
  expect(await run(new EventTarget())).toEqual(expected);
  expect(await run(new Bridge())).toEqual({ ...expected, sent: [30_000] });
  // Long enough for the handler to start on a busy machine: a call that is out of time is not run.
  const inTime = await run(new EventTarget(), { defaultTimeout: 4_000 });
  expect(inTime).toEqual({ ...expected, sent: [4_000], outcome: "TIMEOUT" });
});

test("a subscription that a listener of the events serves receives all its values", async () => {
  const target = new EventTarget();
  const answering = new PendingRequestMap(target);
  target.addEventListener("call.requested", (event) => {
    const { requestId, operationId } = (event as CustomEvent<CallRequested>).detail;
    for (const n of [1, 2, 3]) answering.respond(requestId, localEnvelope(n, operationId));
    answering.complete(requestId);
  });
  const asking = new PendingRequestMap(target);

  for (const calls of [asking, answering]) {
    const values: unknown[] = [];
    for await (const { data } of calls.subscribe("test.ticks", {})) values.push(data);
    expect(values).toEqual([1, 2, 3]);
  }
  await asking.close();
  await answering.close();
});

test("a map names the argument that it requires when it receives another one", () => {
  const make = (transport: unknown) => () => new PendingRequestMap(transport as Transport);

  expect(make(Promise.resolve(createInProcessTransport()))).toThrow("Await the transport first");
  expect(make({})).toThrow("requires a transport or an EventTarget");
  expect(make(null)).toThrow("requires a transport or an EventTarget");
});

test.each([
  ["in process", undefined],
  ["over an EventTarget", new EventTarget()],
])("invalid arguments are distinguished from failures of the call, %s", async (_, target) => {
  const calls = new PendingRequestMap(target);
  const registry = new OperationRegistry();
  registry.register(operation("echo", (input) => input));
  await calls.handle(buildCallHandler({ registry, callMap: calls })).ready;

  for (const id of [7, undefined, null, {}]) {
    const failed = calls.call(id as never, 1);
    await expect(failed).rejects.toMatchObject({ code: "OPERATION_NOT_FOUND", mayHaveRun: false });
  }
  expect((await calls.call("test.echo", 1, null as never)).data).toBe(1);
  await calls.close();
});
