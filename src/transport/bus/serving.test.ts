import { expect, test } from "vitest";
import { defaultLimits, unavailable } from "../../operation/index.ts";
import { type CallRequested, toFailedFrame } from "../transport.ts";
import type { Engine } from "./engine.ts";
import { Post } from "./post.ts";
import { Serving } from "./serving.ts";
import { createEngine } from "./testing.ts";

/** The serving half of a peer, with an engine that only notes what is sent. */
function setUp(more: Partial<Engine> = {}) {
  const { engine, sent } = createEngine(more);
  const post = new Post(engine, { maxMessage: 1_000_000, jsonDepth: 200 });
  return { serving: new Serving(engine, post, defaultLimits), sent, flush: () => post.flush() };
}

function request(requestId: string, operationId: string, more: Partial<CallRequested> = {}): CallRequested {
  return { type: "call.requested", requestId, operationId, input: {}, ...more };
}

test("a subscription that comes while the link is lost is told when it is back that values are missing", async () => {
  const { serving, sent, flush } = setUp();
  const heard: string[] = [];
  await serving.serve(["test.ticks"], () => (followUp) => heard.push(followUp.type));

  serving.onLinkLost(unavailable("The server", { mayHaveRun: true }));
  serving.take(request("r-1", "test.ticks", { credit: 8 }), "asker");
  serving.onLinkRestored();
  flush();

  expect(heard).toEqual(["call.aborted"]);
  expect(sent.filter(({ type }) => type === "call.error")).toMatchObject([{ requestId: "r-1", code: "UNAVAILABLE" }]);
});

test("who stops one operation introduces itself to those who wait for it, not to all", async () => {
  const { serving, sent, flush } = setUp();
  const stopOne = await serving.serve(["test.one"], () => () => {});
  await serving.serve(["test.other"], () => () => {});
  serving.take(request("r-1", "test.one"), "asker");
  serving.take(request("r-2", "test.other"), "asker");

  await stopOne();
  flush();

  const taken = { type: "link.taken", to: "asker", address: "here", calls: [{ requestId: "r-1" }] };
  expect(sent.filter(({ type }) => type === "link.taken")).toEqual([taken]);
});

test("what could not be served is not run", async () => {
  const { serving, sent, flush } = setUp({ serve: () => Promise.reject(new Error("no")) });
  let runs = 0;
  const onRequest = () => {
    runs += 1;
    return () => {};
  };

  await expect(serving.serve(["test.one"], onRequest)).rejects.toThrow("no");
  serving.take(request("r-1", "test.one"), "asker");
  flush();

  expect(runs).toBe(0);
  expect(sent).toMatchObject([
    { type: "call.error", requestId: "r-1", code: "UNAVAILABLE", retryable: true, mayHaveRun: false },
  ]);
});

test("a request is acknowledged after one heartbeat, and again at each one that follows", async () => {
  const { serving, sent } = setUp();
  await serving.serve(["test.slow", "test.quick"], (frame, reply) => {
    if (frame.operationId === "test.quick")
      void reply(toFailedFrame(frame.requestId, unavailable("It", { mayHaveRun: true })));
    return () => {};
  });
  serving.take(request("slow", "test.slow"), "caller");
  serving.take(request("quick", "test.quick"), "caller");

  const signs = Array.from({ length: 12 }, (_, n) => {
    const before = sent.length;
    serving.tick((n + 1) % 4 === 0);
    return sent.length - before;
  });

  expect(signs).toEqual([0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1]);
  const taken = { type: "link.taken", to: "caller", address: "here", calls: [{ requestId: "slow" }] };
  expect(sent).toEqual([taken, taken, taken]);
});

test("a caller that asks learns which calls are here, and that another worker may run an idempotent one", async () => {
  const { serving, sent, flush } = setUp();
  await serving.serve(["test.one", "test.again"], () => () => {});
  serving.setIdempotent(["test.again"]);
  serving.take(request("here", "test.one"), "caller");
  const [here, elsewhere] = [{ requestId: "here" }, { requestId: "elsewhere" }];

  serving.confirm("test.one", [here, elsewhere], "caller");
  serving.confirm("test.one", [here], "another caller");
  serving.confirm("test.again", [elsewhere], "caller");
  serving.confirm("test.unknown", [elsewhere], "caller");
  flush();

  expect(sent).toEqual([
    { type: "link.taken", to: "caller", address: "here", calls: [here] },
    { type: "link.offered", to: "caller", operationId: "test.again" },
  ]);
});

test("the next attempt of an idempotent call runs after its caller was asked, that of another one never", async () => {
  const { serving, sent, flush } = setUp();
  const runs: string[] = [];
  await serving.serve(["test.one", "test.again"], (frame) => {
    runs.push(frame.requestId);
    return () => {};
  });
  serving.setIdempotent(["test.again"]);
  const again = (requestId: string) => ({ ...request(requestId, "test.again"), sentAt: 0, attempt: 1 });

  serving.follow({ type: "call.aborted", requestId: "a" }, "caller"); // of the attempt before
  serving.take(again("a"), "caller");
  serving.take(again("withdrawn"), "caller");
  serving.take({ ...request("b", "test.one"), sentAt: 0, attempt: 1 } as CallRequested, "caller");
  await new Promise((resolve) => setImmediate(resolve));
  flush();
  const before = [...runs];
  const { question } = sent.find(({ type }) => type === "link.pinged")!;
  serving.noteClock(question as string, 1, [{ requestId: "withdrawn", attempt: 1 }]);

  expect(before).toEqual([]);
  expect(runs).toEqual(["a"]);
  expect(sent.filter(({ type }) => type !== "link.pinged")).toMatchObject([
    { type: "call.error", requestId: "b", attempt: 1, code: "UNAVAILABLE", mayHaveRun: true },
  ]);
});

test("a worker whose link is back reports the calls that it still has", async () => {
  const { serving, sent } = setUp();
  await serving.serve(["test.one"], () => () => {});
  serving.take(request("r-1", "test.one"), "caller");
  for (let n = 0; n < 5; n++) serving.tick(n === 3);
  sent.length = 0;

  serving.onLinkLost(unavailable("The server", { mayHaveRun: true }));
  serving.onLinkRestored();

  expect(sent).toEqual([{ type: "link.taken", to: "caller", address: "here", calls: [{ requestId: "r-1" }] }]);
});
