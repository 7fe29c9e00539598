import { describe, expect, test } from "vitest";
import { checkHistory } from "./check-history.ts";
import type { Asked, HistoryEvent, Received, Settled } from "./events.ts";
import type { Promises } from "./promises.ts";
import { formatViolation } from "./violation.ts";

const asked = (at: number, more: Partial<Asked> = {}): HistoryEvent => ({
  ...{ kind: "asked", at, by: "caller", call: "a", operation: "work.echo", transport: "redis" },
  deadline: at + 1_000,
  ...more,
});
const settled = (at: number, more: Partial<Settled> = {}): HistoryEvent => ({
  ...{ kind: "settled", at, by: "caller", call: "a", outcome: "answered", answer: "a" },
  ...more,
});
const failed = (at: number, code: string, mayHaveRun = true): HistoryEvent =>
  settled(at, { outcome: "failed", answer: undefined, code, mayHaveRun });
const started = (at: number, by = "worker", left?: number): HistoryEvent => ({
  kind: "started",
  at,
  by,
  call: "a",
  left,
});
const stopped = (at: number, by = "worker"): HistoryEvent => ({ kind: "stopped", at, by, call: "a" });
const ended = (at: number, by = "worker"): HistoryEvent => ({ kind: "ended", at, by, call: "a" });
const aborted = (at: number): HistoryEvent => ({ kind: "aborted", at, by: "caller", call: "a" });
const killed = (at: number, who: string): HistoryEvent => ({ kind: "killed", at, by: "driver", who });
const closed = (at: number, ...left: string[]): HistoryEvent => ({
  kind: "closed",
  at,
  by: "driver",
  who: "hub",
  left,
});
const broken = (from: number, to: number, id = "f", fault = "stop"): HistoryEvent[] => [
  { kind: "injected", at: from, by: "driver", fault, transport: "redis", id },
  { kind: "healed", at: to, by: "driver", transport: "redis", id },
];
const values = (at: number, ...numbers: number[]): Received[] =>
  numbers.map((value, index) => ({ kind: "received", at: at + index, by: "caller", call: "a", value }));
const memory = (...sizes: number[]): HistoryEvent[] =>
  sizes.map((size, at) => ({ kind: "memory", at, by: "worker", bytes: size * 1024 * 1024 }));
const completed: Partial<Settled> = { outcome: "completed", answer: undefined };
const run = [started(1), ended(2)];

interface Case {
  breaks: HistoryEvent[];
  says: string;
  keeps: HistoryEvent[];
  promises?: Partial<Promises>;
}

const cases: Record<string, Case> = {
  "I1, never": {
    breaks: [asked(0), ...run],
    says: "it never settled",
    keeps: [asked(0), ...run, killed(3, "caller")],
  },
  "I1, twice": {
    breaks: [asked(0), ...run, settled(3), failed(4, "TIMEOUT")],
    says: "it settled 2 times",
    keeps: [asked(0), ...run, settled(3)],
  },
  "I1, late": {
    breaks: [asked(0), failed(2_500, "TIMEOUT")],
    says: "it settled 1500 ms after its deadline",
    keeps: [asked(0), failed(1_030, "TIMEOUT")],
  },
  "I1, late, though its process stood still for a while": {
    breaks: [asked(0), { kind: "loop", at: 2_500, by: "caller", delay: 400 }, failed(2_500, "TIMEOUT")],
    says: "it settled 1100 ms after its deadline",
    keeps: [asked(0), { kind: "loop", at: 2_000, by: "caller", delay: 1_400 }, failed(2_500, "TIMEOUT")],
  },
  "I1, late, and it is a subscription": {
    breaks: [asked(0), ...run, ...values(10, 0), failed(2_500, "TIMEOUT")],
    says: "it settled 1500 ms after its deadline",
    keeps: [asked(0), ...run, ...values(2_400, 0), failed(2_500, "TIMEOUT")],
  },
  "I2, after the deadline": {
    breaks: [asked(0), failed(1_000, "TIMEOUT"), started(1_300), ended(1_301)],
    says: "a handler started 300 ms after the deadline",
    keeps: [asked(0), failed(1_000, "TIMEOUT"), started(1_200), ended(1_201)],
  },
  "I2, with too much time": {
    breaks: [asked(0), started(10, "worker", 600_000), ended(11), settled(12)],
    says: "a handler was told 599010 ms more than was left",
    keeps: [asked(0), started(10, "worker", 995), ended(11), settled(12)],
  },
  "I2, after an abort": {
    breaks: [asked(0), aborted(5), failed(5, "ABORTED"), started(305), stopped(305)],
    says: "a handler started 300 ms after its caller had given up",
    keeps: [asked(0), ...broken(1, 200), aborted(5), failed(5, "ABORTED"), started(305), stopped(305)],
  },
  "I3, twice": {
    breaks: [asked(0), ...run, started(3, "other"), ended(4, "other"), settled(5)],
    says: "it was started 2 times",
    keeps: [asked(0), ...run, settled(5)],
  },
  "I3, never requested": { breaks: run, says: 'no caller asked for "a"', keeps: [asked(0), ...run, settled(3)] },
  "I4, foreign": {
    breaks: [asked(0), ...run, settled(3, { answer: "b" })],
    says: 'its answer belongs to "b"',
    keeps: [asked(0), ...run, settled(3)],
  },
  "I4, out of nothing": {
    breaks: [asked(0), settled(3)],
    says: "it was answered, but no handler ran",
    keeps: [asked(0), ...run, settled(3)],
  },
  I5: {
    breaks: [asked(0), ...run, failed(3, "UNAVAILABLE", false)],
    says: "it failed with UNAVAILABLE and mayHaveRun: false, but was started",
    keeps: [asked(0), ...run, failed(3, "UNAVAILABLE", true)],
  },
  "I6, left behind": {
    breaks: [closed(0, "2 pending calls", "1 socket")],
    says: "hub left behind: 2 pending calls, 1 socket",
    keeps: [closed(0)],
  },
  "I6, a drain that takes too long": {
    breaks: [{ ...closed(0), took: 15_001 } as HistoryEvent],
    says: "hub took 15001 ms to drain",
    keeps: [{ ...closed(0), took: 15_000 } as HistoryEvent],
  },
  "I6, a handler that was never told": {
    breaks: [asked(0), started(1), ...broken(2, 900), failed(1_000, "TIMEOUT"), closed(9_000)],
    says: "a handler was never notified that no caller waits for it",
    keeps: [asked(0), started(1), failed(1_000, "TIMEOUT"), killed(5_000, "worker"), closed(9_000)],
  },
  "I6, a handler that was told late": {
    breaks: [asked(0), started(1), failed(1_000, "TIMEOUT"), stopped(5_000)],
    says: "a handler was notified 4000 ms late that no caller waits for it",
    keeps: [asked(0), started(1), ...broken(2, 4_900), failed(1_000, "TIMEOUT"), stopped(5_000)],
  },
  I7: {
    breaks: memory(20, 21, 40, 60, 80, 90, 100, 110),
    says: "worker grew by 89.0 MiB",
    keeps: memory(20, 21, 60, 99, 30, 30, 40, 45),
  },
  I8: {
    breaks: [{ kind: "loop", at: 0, by: "worker", delay: 300 }],
    says: "worker stood still for 300 ms",
    keeps: [{ kind: "loop", at: 0, by: "worker", delay: 90 }],
    promises: { loop: 200 },
  },
  "I9, unhandled": {
    breaks: [{ kind: "rejected", at: 0, by: "worker", message: "Error: oh" }],
    says: "Error: oh",
    keeps: [],
  },
  "I9, a secret": {
    breaks: [asked(0), settled(1, { outcome: "failed", code: "X", message: "the token swordfish is wrong" })],
    says: "an error message tells a secret",
    keeps: [asked(0), settled(1, { outcome: "failed", code: "X", message: "the token is wrong" })],
    promises: { secrets: ["swordfish"] },
  },
  "I10, a gap": {
    breaks: [asked(0), ...run, ...values(3, 0, 1, 3), failed(9, "UNAVAILABLE")],
    says: "value 3 came where 2 was due",
    keeps: [asked(0), ...run, ...values(3, 0, 1), failed(9, "STREAM_GAP")],
  },
  "I10, an end too early": {
    breaks: [asked(0, { values: 4 }), ...run, ...values(3, 0, 1, 2), settled(9, completed)],
    says: "it completed after 3 of 4 values",
    keeps: [asked(0, { values: 3 }), ...run, ...values(3, 0, 1, 2), settled(9, completed)],
  },
  I11: {
    breaks: [...broken(0, 10), asked(20), failed(21, "UNAVAILABLE"), asked(6_000, { call: "b" })],
    says: "none of 1 calls of caller was answered within 5000 ms",
    keeps: [
      ...broken(0, 10),
      asked(20),
      failed(21, "UNAVAILABLE"),
      ...broken(900, 7_000, "g"),
      asked(6_000, { call: "b" }),
    ],
  },
  "I13, late": {
    breaks: [asked(0, { deadline: 9_000 }), started(1), killed(10, "worker"), failed(2_600, "UNAVAILABLE")],
    says: "it settled 2590 ms after its worker was killed",
    keeps: [asked(0, { deadline: 9_000 }), started(1), killed(10, "worker"), failed(2_400, "UNAVAILABLE")],
  },
  "I13, late, though something else was broken": {
    breaks: [
      ...[asked(0, { deadline: 9_000 }), started(2_000), killed(2_010, "worker"), failed(4_700, "UNAVAILABLE")],
      ...broken(10, 20),
    ],
    says: "it settled 2690 ms after its worker was killed",
    keeps: [
      ...[asked(0, { deadline: 9_000 }), started(2_000), killed(2_010, "worker"), failed(4_700, "UNAVAILABLE")],
      ...broken(2_500, 2_600, "f", "link cut"),
    ],
  },
  "I12, started": {
    breaks: [asked(0, { isDenied: true }), ...run, failed(3, "ACCESS_DENIED")],
    says: "a denied call was started",
    keeps: [asked(0, { isDenied: true }), failed(3, "ACCESS_DENIED", false)],
  },
  "I12, answered": {
    breaks: [asked(0, { isDenied: true }), settled(3)],
    says: "a denied call was answered",
    keeps: [asked(0, { isDenied: true }), failed(3, "TIMEOUT")],
  },
  "I12, forged": {
    breaks: [{ kind: "forged", at: 0, by: "stranger", call: "a" }, ...run],
    says: "a forged request was started",
    keeps: [{ kind: "forged", at: 0, by: "stranger", call: "a" }],
  },
};

describe.each(Object.entries(cases))("%s", (name, { breaks, says, keeps, promises }) => {
  test("a history that violates it is reported", () => {
    const invariant = name.split(",")[0];
    const found = checkHistory(breaks, promises).filter((violation) => violation.invariant === invariant);

    expect(found.map(({ message }) => message)).toEqual([says]);
  });

  test("a history that keeps it passes", () => {
    const found = checkHistory(keeps, promises);

    // A call that is only there to show that its caller is still alive.
    expect(found.filter(({ call }) => call !== "b")).toEqual([]);
  });
});

test("events are read in the order of their times, however they were merged", () => {
  const history = [settled(3), ...run.toReversed(), asked(0)];

  expect(checkHistory(history)).toEqual([]);
});

test("a violation is printed with its events, in order of time", () => {
  const [violation] = checkHistory([asked(100), started(101.25), ended(102), failed(103, "UNAVAILABLE", false)]);

  expect(formatViolation(violation!)).toBe(
    [
      "I5 mayHaveRun: false means that no handler started",
      "  it failed with UNAVAILABLE and mayHaveRun: false, but was started (call a)",
      "         +0.0 ms  asked    caller operation=work.echo transport=redis deadline=+1000.0 ms",
      "         +1.3 ms  started  worker",
      "         +2.0 ms  ended    worker",
      "         +3.0 ms  settled  caller outcome=failed code=UNAVAILABLE mayHaveRun=false",
    ].join("\n"),
  );
});
