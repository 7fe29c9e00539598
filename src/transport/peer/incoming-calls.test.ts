import { afterEach, expect, test, vi } from "vitest";
import type { CallRequested, FollowUp } from "../transport.ts";
import { ClockSync, PeerClock } from "./clock-sync.ts";
import { AcceptedCall, IncomingCalls } from "./incoming-calls.ts";
import { PeerQuestions } from "./peer-questions.ts";

afterEach(() => void vi.useRealTimers());

const request = (requestId: string): CallRequested => {
  return { type: "call.requested", requestId, operationId: "a.b", input: 1 };
};

function setUp() {
  const asked: string[] = [];
  const clock = new PeerClock();
  const questions = new PeerQuestions();
  const sync = new ClockSync(
    questions,
    (_clock, question) => void asked.push(question),
    () => 1_000,
  );
  const calls = new IncomingCalls({ send: () => undefined }, clock, sync);
  const answer = (reported: number) =>
    questions.takeReply({ type: "link.ponged", question: asked.at(-1), clock: reported, withdrawn: [] });
  return { calls, clock, asked, answer };
}

test("credit that arrives while a request waits for its clock adds to that of the request", async () => {
  const { calls, answer } = setUp();
  const call = calls.accept({ ...request("r"), credit: 1, sentAt: 1 }) as AcceptedCall;
  const credits: unknown[] = [];
  const delivered: FollowUp[] = [];

  calls.run(call, (frame) => {
    credits.push(frame.credit);
    return (followUp) => delivered.push(followUp);
  });
  for (let n = 0; n < 1_000; n++) call.deliver({ type: "call.credited", requestId: "r", count: 2 });
  await new Promise((resolve) => setImmediate(resolve));
  answer(1);
  call.deliver({ type: "call.credited", requestId: "r", count: 5 });

  expect(credits).toEqual([2_001]);
  expect(delivered).toEqual([{ type: "call.credited", requestId: "r", count: 5 }]);
});

test("a handler that ends its own connection receives the abort", () => {
  const { calls } = setUp();
  const call = calls.accept(request("r")) as AcceptedCall;
  const delivered: FollowUp[] = [];

  calls.run(call, () => {
    calls.abort(call, "the connection was closed");
    return (followUp) => delivered.push(followUp);
  });

  expect(delivered).toEqual([{ type: "call.aborted", requestId: "r", reason: "the connection was closed" }]);
});

test("requests let the clock of their caller be measured every ten seconds", () => {
  vi.useFakeTimers({ toFake: ["performance"], now: 0 });
  const { calls, clock, asked, answer } = setUp();
  clock.set(0, 0);

  const counts = [0, 9_999, 1, 1].map((milliseconds, index) => {
    vi.advanceTimersByTime(milliseconds);
    const call = calls.accept({ ...request(`r${index}`), sentAt: performance.now() }) as AcceptedCall;
    calls.run(call, () => () => {});
    answer(performance.now());
    return asked.length;
  });

  expect(counts).toEqual([1, 1, 2, 2]);
});

test.each([
  ["calls", 10_000, request, "Too many calls are pending for this peer: the limit is 10000. Try again later."],
  [
    "subscriptions",
    1_024,
    (id: string) => ({ ...request(id), credit: 1 }),
    "Too many subscriptions are open for this peer: the limit is 1024. Try again later.",
  ],
])("one peer has a limited number of %s", (_name, allowed, create, message) => {
  const { calls } = setUp();
  const accepted = Array.from({ length: allowed }, (_, n) => calls.accept(create(`r${n}`)) as AcceptedCall);

  const refused = calls.accept(create("one too many"));
  calls.end(accepted[0]!);

  expect(refused).toMatchObject({
    code: "LIMIT_EXCEEDED",
    message,
    details: { allowed },
    retryable: true,
    mayHaveRun: false,
  });
  expect(calls.accept(create("another"))).toBeInstanceOf(AcceptedCall);
});
