import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { pause, settlesWithin, waitFor } from "./wait.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const never = new Promise<never>(() => {});

describe("settlesWithin", () => {
  test("resolves with true for a promise that settles in time, also for one that rejects", async () => {
    await expect(settlesWithin(100, Promise.resolve("value"))).resolves.toBe(true);
    await expect(settlesWithin(100, Promise.reject(new Error("failed")))).resolves.toBe(true);
  });

  test("resolves with false when the time has passed first", async () => {
    const waiting = settlesWithin(100, never);

    await vi.advanceTimersByTimeAsync(100);

    await expect(waiting).resolves.toBe(false);
  });
});

describe("waitFor", () => {
  const toError = (failure: string) => new Error(failure);

  test("settles like the promise", async () => {
    const limits = { timeout: 100, signal: new AbortController().signal };

    await expect(waitFor(Promise.resolve(1), limits, toError)).resolves.toBe(1);
    await expect(waitFor(Promise.reject(new Error("own")), limits, toError)).rejects.toThrow("own");
  });

  test("rejects when the time has passed", async () => {
    const waiting = waitFor(never, { timeout: 100 }, toError);
    const rejected = expect(waiting).rejects.toThrow("TIMEOUT");

    await vi.advanceTimersByTimeAsync(100);

    await rejected;
  });

  test("rejects when the signal fires, also when it fired before", async () => {
    const controller = new AbortController();
    const waiting = waitFor(never, { timeout: 100, signal: controller.signal }, toError);

    controller.abort();

    await expect(waiting).rejects.toThrow("ABORTED");
    await expect(waitFor(never, { signal: controller.signal }, toError)).rejects.toThrow("ABORTED");
  });

  test("a promise that rejects after the wait has ended is handled", async () => {
    const late = rejectLater();

    const waiting = waitFor(late, { timeout: 10 }, toError);
    const rejected = expect(waiting).rejects.toThrow("TIMEOUT");
    await vi.advanceTimersByTimeAsync(50);

    await rejected;
  });

  function rejectLater(): Promise<never> {
    return new Promise((_, reject) => setTimeout(() => reject(new Error("late")), 50));
  }
});

describe("pause", () => {
  test("resolves after its time", async () => {
    const paused = pause(100, new AbortController().signal);

    await vi.advanceTimersByTimeAsync(100);

    await expect(paused).resolves.toBeUndefined();
  });

  test("rejects with the reason of the signal, also of one that fired before", async () => {
    const controller = new AbortController();
    const paused = pause(100, controller.signal);

    controller.abort("stop");

    await expect(paused).rejects.toBe("stop");
    await expect(pause(100, controller.signal)).rejects.toBe("stop");
  });
});
