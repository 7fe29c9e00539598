import { expect, test } from "vitest";
import { CallError, errorCodes } from "../operation/index.ts";
import { toFailure, usageError } from "./failures.ts";

test("every code of the library has an exit code that callers can rely on", () => {
  const notStarted = { mayHaveRun: false };
  const codes = Object.keys(errorCodes).map((code) => [
    code,
    toFailure(new CallError(code, "It failed.", undefined, notStarted), undefined).exitCode,
  ]);

  expect(Object.fromEntries(codes)).toEqual({
    OPERATION_NOT_FOUND: 2,
    ACCESS_DENIED: 3,
    VALIDATION_ERROR: 2,
    WRONG_OPERATION_TYPE: 2,
    TIMEOUT: 4,
    ABORTED: 4,
    EXECUTION_ERROR: 5,
    UNKNOWN_ERROR: 5,
    OUTPUT_INVALID: 5,
    UNAVAILABLE: 4,
    UPSTREAM_DENIED: 3,
    BAD_RESPONSE: 5,
    PAYLOAD_TOO_LARGE: 5,
    OVERFLOW: 5,
    STREAM_GAP: 5,
    LIMIT_EXCEEDED: 5,
    INPUT_REQUIRED: 5,
  });
});

test.each([
  ["a declared code", new CallError("SEAT_TAKEN", "Taken."), 5],
  ["a name that every object has", new CallError("constructor", "It failed."), 5],
  ["an operation that ran and reports invalid input", new CallError("VALIDATION_ERROR", "Invalid."), 5],
  ["invalid usage", usageError("Pass a value."), 2],
  ["an error that is not a CallError", new TypeError("x is not a function"), 1],
])("%s has the exit code %i", (_, error, exitCode) => {
  expect(toFailure(error, undefined).exitCode).toBe(exitCode);
});

test("the report of invalid input lists the issues", () => {
  const errors = [{ path: "/title", message: "must be string" }];
  const error = new CallError("VALIDATION_ERROR", "Invalid.", { errors, total: 1 }, { mayHaveRun: false });

  expect(toFailure(error, "task.create")).toEqual({
    report: { code: "VALIDATION_ERROR", message: "Invalid.", operation: "task.create", issues: errors },
    exitCode: 2,
  });
});

test("the report of an unknown operation names the one that was probably meant", () => {
  const details = { operationId: "a.b", nearest: "a.c/d" };
  const error = new CallError("OPERATION_NOT_FOUND", "A program writes …", details, { mayHaveRun: false });

  expect(toFailure(error, "a.b").report).toEqual({
    code: "OPERATION_NOT_FOUND",
    message: 'No operation "a.b". Did you mean "a.c/d"?',
    operation: "a.b",
    details,
  });
});
