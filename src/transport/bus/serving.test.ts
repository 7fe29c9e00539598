import { expect, test } from "vitest";
import { defaultLimits, unavailable } from "../../operation/index.ts";
import type { CallRequested } from "../transport.ts";
import type { Engine } from "./engine.ts";
import { Post } from "./post.ts";
import { Serving } from "./serving.ts";

/** The serving half of a peer, with an engine that only notes what is sent. */
function setUp(more: Partial<Engine> = {}) {
  const sent: Array<Record<string, unknown>> = [];
  const engine: Engine = {
    name: "by hand",
    address: "here",
    maxMessage: 1_000_000,
    isConnected: true,
    ask: () => undefined,
    withdraw: () => {},
    send: (_address, text) => {
      for (const line of text.split("\n")) if (line.startsWith("{")) sent.push(JSON.parse(line));
    },
    gossip: () => {},
    listen: async () => {},
    serve: async () => {},
    stop: async () => {},
    whenWritable: () => undefined,
    close: async () => {},
    ...more,
  };
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
  serving.take(request("r-1", "test.ticks", { credit: 8 }), "asker", undefined);
  serving.onLinkRestored();
  flush();

  expect(heard).toEqual(["call.aborted"]);
  expect(sent.filter(({ type }) => type === "call.error")).toMatchObject([{ requestId: "r-1", code: "UNAVAILABLE" }]);
});

test("who stops one operation introduces itself to those who wait for it, not to all", async () => {
  const { serving, sent, flush } = setUp();
  const stopOne = await serving.serve(["test.one"], () => () => {});
  await serving.serve(["test.other"], () => () => {});
  serving.take(request("r-1", "test.one"), "asker", undefined);
  serving.take(request("r-2", "test.other"), "asker", undefined);

  await stopOne();
  flush();

  expect(sent.filter(({ type }) => type === "link.taken").map(({ requestId }) => requestId)).toEqual(["r-1"]);
});

test("what could not be served is not run", async () => {
  const { serving, sent, flush } = setUp({ serve: () => Promise.reject(new Error("no")) });
  let runs = 0;
  const onRequest = () => {
    runs += 1;
    return () => {};
  };

  await expect(serving.serve(["test.one"], onRequest)).rejects.toThrow("no");
  serving.take(request("r-1", "test.one"), "asker", undefined);
  flush();

  expect(runs).toBe(0);
  expect(sent).toMatchObject([{ type: "call.error", requestId: "r-1", code: "OPERATION_NOT_FOUND" }]);
});
