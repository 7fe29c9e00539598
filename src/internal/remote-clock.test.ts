import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RemoteClock } from "./remote-clock.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"], now: 0 }));
afterEach(() => void vi.useRealTimers());

test("nothing has an age before the other side has told its time", () => {
  expect(new RemoteClock().ageOf(5, 100)).toBeUndefined();
});

test("the age of a message is told by the clocks of both, and never as less than it is", () => {
  const clock = new RemoteClock();

  clock.set(1_000, 50_000); // asked at 1,000; that was 50,000 there, or a bit earlier

  expect([clock.ageOf(50_010, 1_010), clock.ageOf(50_000, 1_300), clock.ageOf(40_000, 1_300)]).toEqual([
    0, 300, 10_300,
  ]);
});

test("a quicker answer takes the place of a slow one, and not the other way round", () => {
  const clock = new RemoteClock();
  clock.set(1_000, 50_900);

  clock.set(2_000, 51_000);
  const quick = clock.ageOf(51_000, 2_100);
  clock.set(3_000, 52_900);

  expect([quick, clock.ageOf(53_000, 4_100)]).toEqual([100, 100]);
});

test("what comes before it was sent shows that their clock is ahead of what was known", () => {
  const clock = new RemoteClock();
  clock.set(1_000, 50_000);

  const early = clock.ageOf(60_005, 11_000);

  expect([early, clock.ageOf(60_005, 11_020)]).toEqual([0, 20]);
});

test("it is time to ask at first, every ten seconds, and again when an answer took long", () => {
  const clock = new RemoteClock();

  const due = [0, 1, 9_999, 10_000, 10_001].map((now) => clock.isDue(now));
  vi.advanceTimersByTime(200);
  clock.set(0, 0);

  expect([...due, clock.isDue(10_002)]).toEqual([true, false, false, true, false, true]);
});
