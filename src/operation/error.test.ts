import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CallError, errorCodes, InfrastructureErrorCode, isCallError } from "./error.ts";

/** An error of another copy of this package: another class with the same brand. */
class CallErrorOfAnotherCopy extends Error {
  readonly code = "TIMEOUT";
}
Object.defineProperty(CallErrorOfAnotherCopy.prototype, Symbol.for("@alkdev/operations/CallError"), { value: true });

describe("CallError", () => {
  test("is an Error with code, details, cause and conservative flags", () => {
    const cause = new Error("disk full");

    const error = new CallError("TASK_FULL", "No room for a task", { max: 3 }, { cause });

    expect(error).toBeInstanceOf(Error);
    expect({ ...error, message: error.message, cause: error.cause }).toEqual({
      name: "CallError",
      code: "TASK_FULL",
      message: "No room for a task",
      details: { max: 3 },
      retryable: false,
      mayHaveRun: true,
      cause,
    });
  });

  test("its JSON has neither stack nor cause", () => {
    const error = new CallError("TIMEOUT", "late", undefined, { cause: new Error("secret"), retryable: true });

    expect(JSON.parse(JSON.stringify(error))).toEqual({
      code: "TIMEOUT",
      message: "late",
      retryable: true,
      mayHaveRun: true,
    });
  });

  test("every CallError survives a JSON round trip", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        fc.string({ unit: "binary" }),
        fc.option(fc.jsonValue(), { nil: undefined }),
        fc.boolean(),
        fc.boolean(),
        (code, message, details, retryable, mayHaveRun) => {
          const plain = details === undefined ? undefined : JSON.parse(JSON.stringify(details));
          const error = new CallError(code, message, plain, { retryable, mayHaveRun });

          const again = CallError.fromJSON(JSON.parse(JSON.stringify(error)));

          expect(again).toEqual(error);
          expect({ ...again }).toEqual({ ...error });
        },
      ),
    );
  });

  test("an error with any details can be serialised", () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withMap: true, withSet: true, withDate: true }), (details) => {
        const json = JSON.parse(JSON.stringify(new CallError("X", "x", details)));

        expect(CallError.fromJSON(json).toJSON()).toEqual(json);
      }),
    );
  });

  test("details with a cycle, a bigint and an error have a JSON form without stack", () => {
    const details: Record<string, unknown> = { count: 3n, error: new RangeError("too far"), run: () => 1 };
    details["self"] = details;

    expect(new CallError("X", "x", details).toJSON().details).toEqual({
      count: "3",
      error: { name: "RangeError", message: "too far" },
      self: "[circular]",
    });
  });

  test.each([undefined, null, {}, "text", { code: 5, message: {}, retryable: "yes", mayHaveRun: 0 }])(
    "malformed JSON becomes an error with conservative flags: %j",
    (json) => {
      expect(CallError.fromJSON(json as never).toJSON()).toEqual({
        code: "UNKNOWN_ERROR",
        message: "The peer reported an error without a message.",
        retryable: false,
        mayHaveRun: true,
      });
    },
  );

  test("fromJSON ignores a stack or cause in the JSON", () => {
    const json = JSON.parse(
      '{"code":"X","message":"x","stack":"forged","cause":"forged","__proto__":{"name":"forged"}}',
    );

    const error = CallError.fromJSON(json);

    expect(error.stack).not.toBe("forged");
    expect(error.cause).toBeUndefined();
    expect(error.name).toBe("CallError");
  });
});

describe("isCallError", () => {
  test("recognises CallErrors, subclasses and those of another copy", () => {
    class Special extends CallError {}

    expect(
      [new CallError("X", "x"), new Special("X", "x"), new CallErrorOfAnotherCopy("late")].map(isCallError),
    ).toEqual([true, true, true]);
  });

  test("rejects errors with the same name or shape", () => {
    const values = [
      null,
      "CallError",
      new Error("x"),
      Object.assign(new Error("x"), { name: "CallError", code: "TIMEOUT" }),
      new CallError("X", "x").toJSON(),
      { [Symbol.for("@alkdev/operations/CallError")]: true },
      runInNewContext("new Error('x')"),
    ];

    expect(values.map(isCallError)).toEqual(values.map(() => false));
  });
});

test("every code has an HTTP status and a distinct JSON-RPC code", () => {
  const table = Object.values(errorCodes);

  expect(Object.keys(errorCodes)).toEqual(Object.keys(InfrastructureErrorCode));
  expect(table.every(({ httpStatus }) => httpStatus >= 400 && httpStatus < 600)).toBe(true);
  expect(new Set(table.map(({ jsonRPCCode }) => jsonRPCCode)).size).toBe(table.length);
});
