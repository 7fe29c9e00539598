import { expect, test } from "vitest";
import { defaultLimits, unavailable } from "../../operation/inside.ts";
import { type CallRequested, toFailedFrame } from "../transport.ts";
import { FrameSender } from "./batch-writer.ts";
import type { BrokerAdapter } from "./broker-adapter.ts";
import { BrokerServer } from "./broker-server.ts";
import { createAdapter } from "./testing.ts";

/** The serving half of a peer, with an adapter that only notes what is sent. */
function setUp(more: Partial<BrokerAdapter> = {}) {
  const { adapter, sent } = createAdapter(more);
  const sender = new FrameSender(adapter, { maxMessage: 1_000_000, jsonDepth: 200 });
  const server = new BrokerServer(adapter, sender, defaultLimits);
  /** Waits for the end of the turn, at which frames leave. */
  const flush = () => new Promise((resolve) => setImmediate(resolve));
  return { server, sent, flush };
}

function request(requestId: string, operationId: string, more: Partial<CallRequested> = {}): CallRequested {
  return { type: "call.requested", requestId, operationId, input: {}, ...more };
}

test("a subscription that arrives while the connection is lost fails when it is back", async () => {
  const { server, sent, flush } = setUp();
  const heard: string[] = [];
  await server.serve(["test.ticks"], () => (followUp) => heard.push(followUp.type));

  server.onLinkLost(unavailable("The server", { mayHaveRun: true }));
  server.take(request("r-1", "test.ticks", { credit: 8 }), "caller");
  server.onLinkRestored();
  await flush();

  expect(heard).toEqual(["call.aborted"]);
  expect(sent.filter(({ type }) => type === "call.error")).toMatchObject([{ requestId: "r-1", code: "UNAVAILABLE" }]);
});

test("stopping an operation acknowledges its pending calls, and no others", async () => {
  const { server, sent, flush } = setUp();
  const stopOne = await server.serve(["test.one"], () => () => {});
  await server.serve(["test.other"], () => () => {});
  server.take(request("r-1", "test.one"), "caller");
  server.take(request("r-2", "test.other"), "caller");

  await stopOne();
  await flush();

  const taken = { type: "link.taken", to: "caller", address: "here", calls: [{ requestId: "r-1" }] };
  expect(sent.filter(({ type }) => type === "link.taken")).toEqual([taken]);
});

test("an operation that the broker refused to serve is not run", async () => {
  const { server, sent, flush } = setUp({ serve: () => Promise.reject(new Error("no")) });
  let runs = 0;
  const onRequest = () => {
    runs += 1;
    return () => {};
  };

  await expect(server.serve(["test.one"], onRequest)).rejects.toThrow("no");
  server.take(request("r-1", "test.one"), "caller");
  await flush();

  expect(runs).toBe(0);
  expect(sent).toMatchObject([
    { type: "call.error", requestId: "r-1", code: "UNAVAILABLE", retryable: true, mayHaveRun: false },
  ]);
});

test("a request that arrives twice runs once, one of another caller with the same id is not affected", async () => {
  const { server } = setUp();
  const callers: string[] = [];
  await server.serve(["test.one"], (frame, reply) => {
    callers.push(String(frame.input));
    void reply(toFailedFrame(frame.requestId, unavailable("It", { mayHaveRun: true })));
    return () => {};
  });

  for (const from of ["a", "b", "a", "b"]) server.take(request("r-1", "test.one", { input: from }), from);

  expect(callers).toEqual(["a", "b"]);
});

test("a request is acknowledged after one heartbeat, and again at each one that follows", async () => {
  const { server, sent } = setUp();
  await server.serve(["test.slow", "test.quick"], (frame, reply) => {
    if (frame.operationId === "test.quick")
      void reply(toFailedFrame(frame.requestId, unavailable("It", { mayHaveRun: true })));
    return () => {};
  });
  server.take(request("slow", "test.slow"), "caller");
  server.take(request("quick", "test.quick"), "caller");

  const signs = Array.from({ length: 12 }, (_, n) => {
    const before = sent.length;
    server.tick((n + 1) % 4 === 0);
    return sent.length - before;
  });

  expect(signs).toEqual([0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1]);
  const taken = { type: "link.taken", to: "caller", address: "here", calls: [{ requestId: "slow" }] };
  expect(sent).toEqual([taken, taken, taken]);
});

test("a caller that sends a query receives the running calls, and which of them another worker may run", async () => {
  const { server, sent, flush } = setUp();
  await server.serve(["test.one", "test.again"], () => () => {});
  server.setIdempotent(["test.again"]);
  server.take(request("here", "test.one"), "caller");
  const [here, elsewhere] = [{ requestId: "here" }, { requestId: "elsewhere" }];

  server.confirm("test.one", [here, elsewhere], "caller");
  server.confirm("test.one", [here], "another caller");
  server.confirm("test.again", [elsewhere], "caller");
  server.confirm("test.unknown", [elsewhere], "caller");
  await flush();

  expect(sent).toEqual([
    { type: "link.taken", to: "caller", address: "here", calls: [here] },
    { type: "link.offered", to: "caller", operationId: "test.again" },
  ]);
});

test("the next attempt of an idempotent call runs after its caller confirmed it, that of other calls never", async () => {
  const { server, sent, flush } = setUp();
  const runs: string[] = [];
  await server.serve(["test.one", "test.again"], (frame) => {
    runs.push(frame.requestId);
    return () => {};
  });
  server.setIdempotent(["test.again"]);
  const again = (requestId: string) => ({ ...request(requestId, "test.again"), sentAt: 0, attempt: 1 });

  server.follow({ type: "call.aborted", requestId: "a" }, "caller"); // of the attempt before
  server.take(again("a"), "caller");
  server.take(again("withdrawn"), "caller");
  server.take({ ...request("b", "test.one"), sentAt: 0, attempt: 1 } as CallRequested, "caller");
  await new Promise((resolve) => setImmediate(resolve));
  await flush();
  const before = [...runs];
  const { question } = sent.find(({ type }) => type === "link.pinged")!;
  server.takeClock({ type: "link.ponged", question, clock: 1, withdrawn: [{ requestId: "withdrawn", attempt: 1 }] });

  expect(before).toEqual([]);
  expect(runs).toEqual(["a"]);
  expect(sent.filter(({ type }) => type !== "link.pinged")).toMatchObject([
    { type: "call.error", requestId: "b", attempt: 1, code: "UNAVAILABLE", mayHaveRun: true },
  ]);
});

test("a worker that is connected again reports the calls that it still runs", async () => {
  const { server, sent } = setUp();
  await server.serve(["test.one"], () => () => {});
  server.take(request("r-1", "test.one"), "caller");
  for (let n = 0; n < 5; n++) server.tick(n === 3);
  sent.length = 0;

  server.onLinkLost(unavailable("The server", { mayHaveRun: true }));
  server.onLinkRestored();

  expect(sent).toEqual([{ type: "link.taken", to: "caller", address: "here", calls: [{ requestId: "r-1" }] }]);
});

test("a request waits for its caller, though many others have called in the meantime", async () => {
  const { server, sent, flush } = setUp();
  const runs: string[] = [];
  await server.serve(["test.one"], (frame) => {
    runs.push(frame.requestId);
    return () => {};
  });

  server.take({ ...request("first", "test.one"), sentAt: 0 } as CallRequested, "first");
  for (let n = 0; n <= 10_000; n++) server.take(request(`r-${n}`, "test.unknown"), `caller ${n}`);
  await flush();
  const { question } = sent.find(({ type }) => type === "link.pinged")!;
  server.takeClock({ type: "link.ponged", question, clock: 1 });

  expect(runs).toEqual(["first"]);
});
