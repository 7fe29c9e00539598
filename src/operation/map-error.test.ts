import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { expect, test } from "vitest";
import { CallError, mapError } from "./error.ts";

const boom = () => {
  throw new Error("boom");
};

test("a CallError is returned unchanged, declared or not", () => {
  const error = new CallError("ANYTHING", "x", { a: 1 });

  expect(mapError(error)).toBe(error);
});

test.each([
  ["an Error", new Error("disk full"), "disk full"],
  ["an Error of another realm", runInNewContext("new TypeError('disk full')"), "disk full"],
  ["an Error without message", new RangeError(), "RangeError without a message"],
  [
    "an Error with a message of another type",
    Object.assign(new Error("x"), { message: { a: 1 } }),
    "Error without a message",
  ],
  ["an AbortError", new DOMException("gone", "AbortError"), "gone"],
])("%s becomes EXECUTION_ERROR and is kept as cause", (_, error, message) => {
  const mapped = mapError(error);

  expect(mapped.toJSON()).toEqual({ code: "EXECUTION_ERROR", message, retryable: false, mayHaveRun: true });
  expect(mapped.cause).toBe(error);
});

test.each(["ACCESS_DENIED: no", "TIMEOUT", "not found", "VALIDATION_ERROR"])(
  "the message %j does not affect the code",
  (message) => {
    expect(mapError(new Error(message)).code).toBe("EXECUTION_ERROR");
    expect(mapError(message).code).toBe("UNKNOWN_ERROR");
  },
);

test("the code of a foreign error does not affect the code", () => {
  expect(mapError(Object.assign(new Error("x"), { code: "ACCESS_DENIED" })).code).toBe("EXECUTION_ERROR");
});

const circular: Record<string, unknown> = {};
circular["self"] = circular;

test.each([
  ["null", null, "null"],
  ["undefined", undefined, "undefined"],
  ["a string", "no\nway", '"no\\nway"'],
  ["a number", Number.NaN, "NaN"],
  ["a bigint", 1n, "1"],
  ["a symbol", Symbol("secret"), "a symbol"],
  ["a function", boom, "a function"],
  ["an object that looks like an error", { message: "x", code: "TIMEOUT" }, "an object"],
  ["a circular object", circular, "an object"],
  ["a proxy that throws", new Proxy({}, { get: boom, getPrototypeOf: boom }), "an object"],
  ["an error whose message throws", Object.defineProperty(new Error("x"), "message", { get: boom }), "an object"],
])("%s becomes UNKNOWN_ERROR", (_, thrown, described) => {
  const mapped = mapError(thrown);

  expect(mapped.toJSON()).toEqual({
    code: "UNKNOWN_ERROR",
    message: `A value that is not an Error was thrown: ${described}.`,
    retryable: false,
    mayHaveRun: true,
  });
  expect(mapped.cause).toBe(thrown);
});

test("a huge message is truncated", () => {
  const huge = "x".repeat(1_000_000);

  expect(mapError(new Error(huge)).message.length).toBeLessThan(2_100);
  expect(mapError(huge).message.length).toBeLessThan(400);
});

test("an error with a circular cause can be serialised", () => {
  const error = new Error("round");
  error.cause = error;

  expect(JSON.stringify(mapError(error))).toContain("round");
});

test("every thrown value becomes a CallError that can be serialised", () => {
  fc.assert(
    fc.property(fc.anything(), (thrown) => {
      const mapped = mapError(thrown);

      expect(JSON.parse(JSON.stringify(mapped))).toEqual(mapped.toJSON());
    }),
  );
});
