import { afterEach, expect, test, vi } from "vitest";
import { rememberCalls } from "./authenticator.ts";

afterEach(() => {
  vi.useRealTimers();
});

test("each call is accepted once, and removed only when its token has expired", () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000 });
  const take = rememberCalls();
  const end = Date.now() + 60_000;

  const taken = [take("a", end), take("a", end), take("b", end)];
  vi.setSystemTime(end - 1);
  taken.push(take("a", end), take("c", end + 60_000));

  expect(taken).toEqual([true, false, true, false, true]);
});

test("calls above the limit are refused until some have expired", () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000 });
  const take = rememberCalls(2);
  const end = Date.now() + 60_000;
  take("a", end);
  take("b", end);

  expect(() => take("c", end)).toThrow(/cannot remember more used tokens/);
  vi.setSystemTime(end + 10_000);
  expect(take("c", end + 60_000)).toBe(true);
});
