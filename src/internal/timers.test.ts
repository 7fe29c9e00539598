import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { maxTimerDelay, startTimer } from "./timers.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("a timer", () => {
  test.each([1, 5_000, maxTimerDelay, maxTimerDelay + 1, 2 ** 33])("of %d ms fires once, at its time", (delay) => {
    let fired = 0;
    startTimer(() => {
      fired += 1;
    }, delay);

    vi.advanceTimersByTime(delay - 1);
    expect(fired).toBe(0);
    vi.advanceTimersByTime(1);
    expect(fired).toBe(1);
    vi.advanceTimersByTime(delay);
    expect(fired).toBe(1);
  });

  test.each([10, 2 ** 33])("of %d ms that is stopped does not fire", (delay) => {
    const timer = startTimer(() => expect.unreachable(), delay);

    vi.advanceTimersByTime(delay - 1);
    timer.stop();

    expect(vi.getTimerCount()).toBe(0);
  });

  test("of Infinity ms never fires and does not keep the process alive", () => {
    startTimer(() => expect.unreachable(), Number.POSITIVE_INFINITY).stop();

    expect(vi.getTimerCount()).toBe(0);
  });
});
