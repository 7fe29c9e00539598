import fc from "fast-check";
import { expect, test } from "vitest";
import { BackOff, backOffDelay } from "./back-off.ts";

test("the delay doubles up to its maximum, and starts again after a success", () => {
  const backOff = new BackOff({ first: 100, max: 500 }, () => 1);

  expect([1, 2, 3, 4, 5].map(() => backOff.next())).toEqual([100, 200, 400, 500, 500]);

  backOff.reset();
  expect(backOff.next()).toBe(100);
});

test("the random reduction is at most half of the delay", () => {
  fc.assert(
    fc.property(fc.nat(10_000), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (attempt, chance) => {
      const whole = Math.min(2_000, 100 * 2 ** Math.min(attempt, 20));

      const delay = backOffDelay(attempt, { first: 100, max: 2_000 }, () => chance);

      expect(delay).toBeGreaterThanOrEqual(whole / 2);
      expect(delay).toBeLessThanOrEqual(whole);
    }),
  );
});
