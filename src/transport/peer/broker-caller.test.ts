import { expect, test } from "vitest";
import type { CallRequested, ReplyFrame } from "../transport.ts";
import { FrameSender } from "./batch-writer.ts";
import type { BrokerAdapter } from "./broker-adapter.ts";
import { BrokerCaller } from "./broker-caller.ts";
import { GossipPeerDirectory } from "./gossip-peer-directory.ts";
import { createAdapter } from "./testing.ts";

/** The calling half of a peer, with an adapter that only notes what is sent. */
function setUp(more: Partial<BrokerAdapter> = {}) {
  const { adapter, sent } = createAdapter(more);
  const sender = new FrameSender(adapter, { maxMessage: 1_000_000, jsonDepth: 200 });
  const caller = new BrokerCaller(adapter, sender, new GossipPeerDirectory("me", sender, 1_000));
  const replies: ReplyFrame[] = [];
  const request = (requestId: string, more: Partial<CallRequested> = {}) => {
    const frame = { type: "call.requested", requestId, operationId: "test.one", input: {}, ...more } as const;
    return caller.request("test.one", frame, (reply) => replies.push(reply));
  };
  let ticks = 0;
  const tick = (count: number) => {
    for (let n = 0; n < count; n++) caller.tick(++ticks % 4 === 0);
  };
  return { caller, sent, replies, request, tick };
}

const refs = [{ requestId: "r" }];

test("a request that no worker acknowledges for two heartbeats is withdrawn and may have run", () => {
  const { sent, replies, request, tick } = setUp();
  request("r");

  tick(8);
  const before = replies.length;
  tick(1);

  expect(before).toBe(0);
  expect(sent.slice(1)).toEqual([
    { to: "all of test.one", type: "link.asked", operationId: "test.one", calls: refs },
    { to: "all of test.one", type: "call.aborted", requestId: "r", reason: "its worker was silent" },
  ]);
  expect(replies).toMatchObject([{ type: "call.error", requestId: "r", code: "UNAVAILABLE", mayHaveRun: true }]);
});

test("a call whose worker reports it as running waits, and fails three heartbeats after the last report", () => {
  const { caller, sent, replies, request, tick } = setUp();
  request("r");

  tick(5);
  for (let heartbeat = 0; heartbeat < 10; heartbeat++) {
    caller.noteWorker("worker", refs);
    tick(4);
  }
  caller.noteWorker("worker", refs);
  tick(10);
  const before = replies.length;
  tick(1);

  expect(before).toBe(0);
  expect(replies).toMatchObject([{ code: "UNAVAILABLE", mayHaveRun: true }]);
  const abort = { type: "call.aborted", requestId: "r", reason: "its worker was silent" };
  expect(sent.slice(-2)).toEqual([
    { to: "all of test.one", ...abort },
    { to: "worker", ...abort },
  ]);
});

test("a worker that confirms the call in time keeps it, however long its heartbeat is", () => {
  const { caller, sent, replies, request, tick } = setUp();
  request("r");

  for (let n = 0; n < 20; n++) {
    tick(1);
    if (sent.at(-1)!["type"] === "link.asked") caller.noteWorker("worker", refs);
  }

  expect(replies).toEqual([]);
});

test("an idempotent call is sent to another worker, at most three times, and late replies do not fail it", () => {
  const { caller, sent, replies, request, tick } = setUp();
  request("r", { input: { n: 1 } });
  const attempt = (n: number) => [{ requestId: "r", attempt: n }];
  const failed = { type: "call.error", requestId: "r", code: "UNAVAILABLE", message: "", retryable: true } as const;

  tick(8);
  caller.noteOffer("test.one");
  tick(1);
  caller.take({ ...failed, mayHaveRun: false }); // by the first worker
  caller.noteWorker("first", refs);
  caller.reportClock("second", "question", [...refs, ...attempt(1)]);
  tick(10);
  caller.noteOffer("test.one");
  tick(1);
  const requests = sent.filter(({ type }) => type === "call.requested");
  caller.noteWorker("third", attempt(2));
  tick(10);
  caller.noteOffer("test.one");
  tick(1);

  expect(requests.map(({ to, attempt, input }) => [to, attempt, input])).toEqual([
    ["one of test.one", undefined, { n: 1 }],
    ["one of test.one", 1, { n: 1 }],
    ["one of test.one", 2, { n: 1 }],
  ]);
  expect(sent).toContainEqual({
    to: "first",
    type: "call.aborted",
    requestId: "r",
    reason: "the caller does not wait for it",
  });
  expect(sent.find(({ type }) => type === "link.ponged")).toMatchObject({ to: "second", withdrawn: refs });
  expect(replies).toMatchObject([{ type: "call.error", code: "EXECUTION_ERROR", retryable: false, mayHaveRun: true }]);
});

test("an error of a later attempt may have run at an earlier one", () => {
  const { caller, replies, request, tick } = setUp();
  request("r");
  const code = "LIMIT_EXCEEDED";
  const failed = { type: "call.error", requestId: "r", code, message: "", retryable: true, mayHaveRun: false } as const;

  tick(8);
  caller.noteOffer("test.one");
  tick(1);
  caller.take(Object.assign({ ...failed }, { attempt: 1 }));

  expect(replies).toMatchObject([{ code, mayHaveRun: true }]);
});

test("a subscription is not sent to another worker", () => {
  const { caller, replies, request, tick } = setUp();
  request("r", { credit: 8 });

  tick(8);
  caller.noteOffer("test.one");
  tick(1);

  expect(replies).toMatchObject([{ code: "UNAVAILABLE", mayHaveRun: true }]);
});

test("a request that the broker still held has not run", async () => {
  const { replies, request, tick } = setUp({ request: () => "ticket", recall: async (ticket) => ticket === "ticket" });
  request("r");

  tick(9);
  await Promise.resolve();

  expect(replies).toMatchObject([{ code: "UNAVAILABLE", mayHaveRun: false }]);
});

test("a broker that does not report whether it held a request is not waited for", () => {
  const { replies, request, tick } = setUp({ recall: () => new Promise(() => {}) });
  request("r");

  tick(10);

  expect(replies).toMatchObject([{ code: "UNAVAILABLE", mayHaveRun: true }]);
});

test("10,000 silent calls are queried and withdrawn with a few messages", () => {
  let messages = 0;
  const { replies, request, tick } = setUp({ broadcast: () => void messages++ });
  for (let n = 0; n < 10_000; n++) request(`r-${n}`);

  tick(9);

  expect(replies).toHaveLength(10_000);
  expect(messages).toBe(40);
});
