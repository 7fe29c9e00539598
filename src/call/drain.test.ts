import { expect, test, vi } from "vitest";
import { localEnvelope, OperationRegistry } from "../index.ts";
import { createInProcessTransport } from "../transport/in-process/index.ts";
import type { FollowUp, Transport } from "../transport/transport.ts";
import { buildCallHandler, type CallHandler, PendingRequestMap } from "./index.ts";
import { deferred, operation } from "./testing.ts";

const listed = { operations: () => [operation("work", () => 1), operation("ticks", () => 1)] };

test("a handler of your own is drained: subscriptions end, calls may finish", async () => {
  const calls = new PendingRequestMap();
  const begun: string[] = [];
  const followUps: FollowUp[] = [];
  const handler: CallHandler = Object.assign(
    ({ requestId, operationId }: { requestId: string; operationId: string }) => {
      begun.push(requestId);
      if (operationId === "test.ticks") calls.respond(requestId, localEnvelope(0, operationId));
      return (followUp: FollowUp) => void followUps.push(followUp);
    },
    listed,
  );
  const stop = calls.handle(handler);
  await stop.ready;
  const call = calls.call("test.work", {});
  const values = calls.subscribe("test.ticks", {});
  await values.next();
  let hasStopped = false;

  const stopping = stop().then(() => {
    hasStopped = true;
  });
  await expect(values.next()).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: true, mayHaveRun: true });
  const before = hasStopped;
  calls.respond(begun[0]!, localEnvelope("done", "test.work"));
  await stopping;

  expect([before, (await call).data]).toEqual([false, "done"]);
  expect(followUps).toMatchObject([{ type: "call.aborted", requestId: begun[1] }]);
  expect(calls.pendingCount).toBe(0);
});

test("calls that do not finish in time fail, and stopping does not wait longer", async () => {
  const calls = new PendingRequestMap();
  const stop = calls.handle(Object.assign(() => {}, listed));
  await stop.ready;
  const call = calls.call("test.work", {});

  await stop({ timeout: 0 });

  await expect(call).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: 'The server stopped before "test.work" had finished.',
    retryable: true,
    mayHaveRun: true,
  });
});

test("stopping does not wait for a transport that does not respond", async () => {
  const inner = createInProcessTransport();
  const transport: Transport = {
    name: "by hand",
    request: (id, frame, onReply) => inner.request(id, frame, onReply),
    serve: async (ids, onRequest) => {
      await inner.serve(ids, onRequest);
      return () => new Promise(() => {});
    },
    announce: (specs) => inner.announce(specs),
    watchPeers: (listener) => inner.watchPeers(listener),
    close: () => inner.close(),
  };
  const map = new PendingRequestMap(transport);
  const registry = new OperationRegistry();
  const signal = deferred<AbortSignal>();
  registry.register(
    operation("hang", (_input, context) => {
      signal.resolve(context.signal);
      return new Promise(() => {});
    }),
  );
  const stop = map.handle(buildCallHandler({ registry, callMap: map }));
  await stop.ready;
  const call = map.call("test.hang", {}).catch(({ code }) => code);
  const handlerSignal = await signal.promise;

  await stop({ timeout: 20 });

  expect([await call, handlerSignal.aborted]).toEqual(["UNAVAILABLE", true]);
  await inner.close();
});

test.each([Number.NaN, -1, "soon"])("a timeout of %s is refused", async (timeout) => {
  const calls = new PendingRequestMap();
  const stop = calls.handle(Object.assign(() => {}, listed));
  await stop.ready;

  await expect(stop({ timeout: timeout as number })).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
  await calls.close();
});

test("a handler that ends in time is waited for, however long stopping may take", async () => {
  vi.useFakeTimers();
  try {
    const calls = new PendingRequestMap();
    const stop = calls.handle(Object.assign(() => {}, listed));
    await stop.ready;

    await stop({ timeout: Number.POSITIVE_INFINITY });

    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
