import { expect, test } from "vitest";
import { defaultLimits, resolveLimits } from "./limits.ts";

test("limits that are missing or undefined have their defaults", () => {
  expect(resolveLimits(undefined)).toEqual(defaultLimits);
  expect(resolveLimits({ maxMessage: undefined, callDepth: 3 })).toEqual({ ...defaultLimits, callDepth: 3 });
});

test("Infinity removes a limit", () => {
  const resolved = resolveLimits({ operations: Number.POSITIVE_INFINITY });

  expect(resolved.operations).toBe(Number.POSITIVE_INFINITY);
});

test("additional limits of a source are checked in the same manner", () => {
  const defaults = { ...defaultLimits, pages: 64 };

  expect(resolveLimits({ pages: undefined }, defaults)).toEqual(defaults);
  expect(() => resolveLimits({ pages: Number.NaN }, defaults)).toThrow(
    "Invalid options: /limits/pages must be a number above 0, or Infinity, not NaN.",
  );
});

test.each([null, 5, "10"])("limits that are %j are refused", (limits) => {
  expect(() => resolveLimits(limits as never)).toThrow(/^Invalid options: \/limits must be an object, not /);
});
