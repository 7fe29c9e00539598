import { configure, type LogRecord, reset } from "@logtape/logtape";
import { afterEach, expect, test, vi } from "vitest";
import { CallError, OperationRegistry } from "../../index.ts";
import { createInProcessTransport } from "../../transport/in-process/index.ts";
import type { CallRequested, ReplyFrame, Transport } from "../../transport/transport.ts";
import { buildCallHandler, PendingRequestMap, type PendingRequestMapOptions } from "../index.ts";
import { deferred, operation, responded, subscription } from "../testing.ts";

const ada = { id: "ada", scopes: ["admin"] };

/** A map over a transport that is not in process. The test receives its requests and replies to them. */
function setUp(options: PendingRequestMapOptions) {
  const requests: Array<{ frame: CallRequested; reply(frame: ReplyFrame): void }> = [];
  const followUps: unknown[] = [];
  const transport: Transport = {
    name: "by hand",
    request: (_id, frame, reply) => {
      requests.push({ frame: { ...frame }, reply });
      return (followUp) => followUps.push(followUp);
    },
    serve: async () => async () => {},
    announce: async () => {},
    watchPeers: () => () => {},
    close: async () => {},
  };
  const calls = new PendingRequestMap(transport, options);
  const answer = (data: unknown) => requests[0]!.reply(responded(requests[0]!.frame, data));
  return { calls, requests, followUps, answer };
}

async function collectWarnings(): Promise<string[]> {
  const warnings: string[] = [];
  const note = ({ level, message }: LogRecord) => {
    if (level === "warning") warnings.push(message.join(""));
  };
  await configure({
    sinks: { note },
    loggers: [
      { category: ["alkdev"], sinks: ["note"] },
      { category: ["logtape", "meta"], lowestLevel: "error" },
    ],
  });
  return warnings;
}

afterEach(async () => {
  vi.useRealTimers();
  await reset();
});

test("a call with an identity carries the token that was made for it, and no claim", async () => {
  const signed: unknown[] = [];
  const sign = (identity: unknown, request: CallRequested) => {
    signed.push([identity, request.operationId, request.input]);
    return `token of ${request.requestId}`;
  };
  const { calls, requests, answer } = setUp({ sign });

  const reply = calls.call("test.echo", { n: 1 }, { identity: ada });
  answer("fine");

  expect((await reply).data).toBe("fine");
  const { requestId } = requests[0]!.frame;
  expect(requests[0]!.frame).toEqual({
    type: "call.requested",
    requestId,
    operationId: "test.echo",
    input: { n: 1 },
    timeout: 30_000,
    token: `token of ${requestId}`,
  });
  expect(signed).toEqual([[ada, "test.echo", { n: 1 }]]);
});

test("nothing is signed without an identity, beside a token of the caller's own, or in process", async () => {
  const sign = vi.fn(() => "made");
  const { calls, requests } = setUp({ sign });
  const local = new PendingRequestMap(createInProcessTransport(), { sign });
  const registry = new OperationRegistry();
  registry.register(operation("who", (_input, { identity }) => identity));
  await local.handle(buildCallHandler({ registry, callMap: local })).ready;

  void calls.call("test.echo", {}).catch(() => {});
  void calls.call("test.echo", {}, { identity: ada, token: "own" }).catch(() => {});
  const near = await local.call("test.who", {}, { identity: ada });

  expect(requests.map(({ frame }) => [frame.token, frame.identity])).toEqual([
    [undefined, undefined],
    ["own", undefined],
  ]);
  expect(near.data).toEqual(ada);
  expect(sign).not.toHaveBeenCalled();
  await calls.close();
});

test("a call that waits for its token counts as pending and carries what time is left then", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance", "setTimeout", "clearTimeout"] });
  const { promise, resolve } = deferred<string>();
  const { calls, requests, answer } = setUp({ sign: () => promise });

  const reply = calls.call("test.echo", {}, { identity: ada, deadline: Date.now() + 1_000 });
  expect([calls.pendingCount, requests.length]).toEqual([1, 0]);
  await vi.advanceTimersByTimeAsync(400);
  resolve("late");
  await vi.advanceTimersByTimeAsync(0);
  answer("fine");

  expect((await reply).data).toBe("fine");
  expect(requests[0]!.frame).toMatchObject({ token: "late", timeout: 600 });
  expect(calls.pendingCount).toBe(0);
});

test("a subscription waits for its token too", async () => {
  const registry = new OperationRegistry();
  registry.register(
    subscription("count", async function* () {
      for (let n = 0; n < 200; n++) yield n;
    }),
  );
  const target = new EventTarget();
  const serving = new PendingRequestMap(target);
  const tokens: unknown[] = [];
  const authenticate = (token: string | undefined) => void tokens.push(token);
  await serving.handle(buildCallHandler({ registry, callMap: serving, authenticate })).ready;
  const calls = new PendingRequestMap(target, { sign: async () => "made", trustedBus: false });

  const seen: unknown[] = [];
  for await (const { data } of calls.subscribe("test.count", {}, { identity: ada })) seen.push(data);

  expect(seen).toEqual(Array.from({ length: 200 }, (_, n) => n));
  expect(tokens).toEqual(["made"]);
});

const failures: Record<string, [PendingRequestMapOptions["sign"], string, string]> = {
  "throws an error": [
    () => {
      throw new Error("no key");
    },
    "EXECUTION_ERROR",
    'The identity of a call to "test.echo" could not be signed: no key',
  ],
  "rejects with a CallError": [
    () => Promise.reject(new CallError("UNAVAILABLE", "The key server is down.", undefined, { retryable: true })),
    "UNAVAILABLE",
    'The identity of a call to "test.echo" could not be signed: The key server is down.',
  ],
  "gives no text": [
    (async () => undefined) as never,
    "EXECUTION_ERROR",
    'The identity of a call to "test.echo" could not be signed: sign did not return a string',
  ],
  "gives nothing at all": [
    (() => undefined) as never,
    "EXECUTION_ERROR",
    'The identity of a call to "test.echo" could not be signed: sign did not return a string',
  ],
};

test.each(Object.entries(failures))("a sign that %s fails the call, which was not sent", async (_name, failure) => {
  const [sign, code, message] = failure;
  const { calls, requests } = setUp({ sign });

  const reply = calls.call("test.echo", {}, { identity: ada });

  await expect(reply).rejects.toMatchObject({ code, message, mayHaveRun: false });
  expect(requests).toEqual([]);
  expect(calls.pendingCount).toBe(0);
});

test("abort, deadline and close end a call that waits for its token, and nothing is sent later", async () => {
  const { promise, resolve } = deferred<string>();
  const { calls, requests, followUps } = setUp({ sign: () => promise });
  const controller = new AbortController();

  const outcome = (reply: Promise<unknown>) => reply.catch(({ code, mayHaveRun }) => ({ code, mayHaveRun }));
  const aborted = outcome(calls.call("test.echo", {}, { identity: ada, signal: controller.signal }));
  const late = outcome(calls.call("test.echo", {}, { identity: ada, deadline: Date.now() + 20 }));
  const closed = outcome(calls.call("test.echo", {}, { identity: ada }));
  controller.abort();
  const ended = [await aborted, await late];
  await calls.close();
  ended.push(await closed);
  resolve("too late");
  await promise;

  expect(ended).toEqual([
    { code: "ABORTED", mayHaveRun: false },
    { code: "TIMEOUT", mayHaveRun: false },
    { code: "UNAVAILABLE", mayHaveRun: false },
  ]);
  expect([requests, followUps, calls.pendingCount]).toEqual([[], [], 0]);
});

test("an identity is a claim only where the caller trusts the bus", async () => {
  const warnings = await collectWarnings();
  const trusting = setUp({ trustedBus: true });
  const doubting = setUp({});

  for (const { calls } of [trusting, doubting, doubting]) {
    void calls.call("test.echo", {}, { identity: ada }).catch(() => {});
  }

  expect(trusting.requests[0]!.frame.identity).toEqual(ada);
  expect(doubting.requests.map(({ frame }) => "identity" in frame)).toEqual([false, false]);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toMatch(/over by hand is not sent.*`sign`.*`trustedBus: true`/);
  await Promise.all([trusting.calls.close(), doubting.calls.close()]);
});

test("authenticate receives the request", async () => {
  const registry = new OperationRegistry();
  registry.register(operation("echo", (input) => input));
  const target = new EventTarget();
  const serving = new PendingRequestMap(target);
  const asked: unknown[] = [];
  const authenticate = (token?: string, claim?: unknown, request?: CallRequested) =>
    void asked.push([token, claim, request?.operationId, request?.input]);
  await serving.handle(buildCallHandler({ registry, callMap: serving, authenticate })).ready;

  await new PendingRequestMap(target).call("test.echo", { n: 1 }, { token: "t" });

  expect(asked).toEqual([["t", undefined, "test.echo", { n: 1 }]]);
});
