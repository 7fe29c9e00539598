import { afterEach, describe, expect, test, vi } from "vitest";
import { ClockSync, type HeldRequest, PeerClock } from "./clock-sync.ts";
import { PeerQuestions } from "./peer-questions.ts";

afterEach(() => void vi.useRealTimers());

function createSync() {
  const asked: Array<{ address: string; question: string; calls: unknown[] }> = [];
  const questions = new PeerQuestions();
  const sync = new ClockSync(
    questions,
    ({ address }, question, calls) => void asked.push({ address, question, calls: [...calls] }),
    () => 1_000_000,
  );
  const answer = (number: number, withdrawn: object[] = []) => {
    questions.takeReply({ type: "link.ponged", question: asked[number]!.question, clock: 1, withdrawn });
  };
  return { sync, asked, answer };
}

/** A request that notes in `ended` how it ended. */
function createRequest(ended: unknown[], requestId: string, more: Partial<HeldRequest> = {}): HeldRequest {
  return {
    requestId,
    expiresAt: Number.POSITIVE_INFINITY,
    begin: (isConfirmed) => void ended.push([requestId, isConfirmed]),
    drop: () => void ended.push([requestId, "dropped"]),
    ...more,
  };
}

const endOfTurn = () => new Promise((resolve) => setImmediate(resolve));

test("a request begins when its caller has confirmed it, and without that when its time is up", async () => {
  const { sync, answer } = createSync();
  const ended: unknown[] = [];

  sync.hold(new PeerClock("first"), createRequest(ended, "first"));
  sync.hold(new PeerClock("silent"), createRequest(ended, "silent", { expiresAt: 0 }));
  await endOfTurn();
  answer(0);
  sync.beat();

  expect(ended).toEqual([
    ["first", true],
    ["silent", false],
  ]);
  await sync.settled();
});

test("a request that its caller has withdrawn is dropped, others of the same question begin", async () => {
  const { sync, asked, answer } = createSync();
  const clock = new PeerClock("caller");
  const ended: unknown[] = [];

  for (const requestId of ["a", "b"]) sync.hold(clock, createRequest(ended, requestId));
  await endOfTurn();
  answer(0, [{ requestId: "a" }]);

  expect(asked.map(({ calls }) => calls)).toEqual([[{ requestId: "a" }, { requestId: "b" }]]);
  expect(ended).toEqual([
    ["a", "dropped"],
    ["b", true],
  ]);
});

test("a request is queried again at each heartbeat, because brokers lose messages", async () => {
  const { sync, answer } = createSync();
  const ended: unknown[] = [];
  sync.hold(new PeerClock("caller"), createRequest(ended, "a"));

  await endOfTurn();
  sync.beat();
  answer(1);
  answer(0);

  expect(ended).toEqual([["a", true]]);
});

describe("a remote clock", () => {
  test("has no time before the first measurement", () => {
    expect(new PeerClock().ageOf(5, 100)).toBeUndefined();
  });

  test("determines the age of a request, and never less than it is", () => {
    const clock = new PeerClock();

    clock.set(1_000, 50_000); // sent at 1,000; the remote time was 50,000, or slightly earlier

    expect([clock.ageOf(50_010, 1_010), clock.ageOf(50_000, 1_300), clock.ageOf(40_000, 1_300)]).toEqual([
      0, 300, 10_300,
    ]);
  });

  test("keeps the measurement that was quicker", () => {
    const clock = new PeerClock();
    clock.set(1_000, 50_900);

    clock.set(2_000, 51_000);
    const quick = clock.ageOf(51_000, 2_100);
    clock.set(3_000, 52_900);

    expect([quick, clock.ageOf(53_000, 4_100)]).toEqual([100, 100]);
  });

  test("is corrected by a request that seems to arrive before it was sent", () => {
    const clock = new PeerClock();
    clock.set(1_000, 50_000);

    const early = clock.ageOf(60_005, 11_000);

    expect([early, clock.ageOf(60_005, 11_020)]).toEqual([0, 20]);
  });

  test("is due at first, ten seconds after each question, and immediately after a slow measurement", () => {
    vi.useFakeTimers({ toFake: ["performance"], now: 0 });
    const { sync, answer } = createSync();
    const clock = new PeerClock();

    const due = [clock.dueAt];
    sync.ask(clock);
    due.push(clock.dueAt);
    vi.advanceTimersByTime(200);
    answer(0);
    due.push(clock.dueAt);

    expect(due).toEqual([Number.NEGATIVE_INFINITY, 10_000, Number.NEGATIVE_INFINITY]);
  });
});
