import { expect, test } from "vitest";
import { CallError } from "./error.ts";
import {
  aborted,
  accessDenied,
  handlerMissing,
  limitExceeded,
  nestedFailure,
  operationNotFound,
  outputInvalid,
  timedOut,
  unavailable,
  validationError,
  wrongOperationType,
} from "./errors.ts";

const problem = { path: "/title", message: "must be a string" };

test.each([
  [
    operationNotFound("task.crate", "task.create"),
    {
      code: "OPERATION_NOT_FOUND",
      message: 'No operation "task.crate". Did you mean "task.create"?',
      details: { operationId: "task.crate", nearest: "task.create" },
      retryable: false,
      mayHaveRun: false,
    },
  ],
  [
    operationNotFound("x"),
    {
      code: "OPERATION_NOT_FOUND",
      message: 'No operation "x".',
      details: { operationId: "x" },
      retryable: false,
      mayHaveRun: false,
    },
  ],
  [
    handlerMissing("task.create"),
    {
      code: "OPERATION_NOT_FOUND",
      message: '"task.create" has no handler yet. Register one with registerHandler("task.create", handler).',
      details: { operationId: "task.create" },
      retryable: false,
      mayHaveRun: false,
    },
  ],
  [
    wrongOperationType("clock.ticks", "subscription", "execute"),
    {
      code: "WRONG_OPERATION_TYPE",
      message: '"clock.ticks" is a subscription, which execute() cannot run. Use subscribe().',
      details: { operationId: "clock.ticks", type: "subscription" },
      retryable: false,
      mayHaveRun: false,
    },
  ],
  [
    wrongOperationType("task.create", "mutation", "subscribe"),
    {
      code: "WRONG_OPERATION_TYPE",
      message: '"task.create" is a mutation, which subscribe() cannot run. Use execute().',
      details: { operationId: "task.create", type: "mutation" },
      retryable: false,
      mayHaveRun: false,
    },
  ],
  [
    accessDenied("task.remove", 'scope "task:write" is missing'),
    {
      code: "ACCESS_DENIED",
      message: 'Access to "task.remove" denied: scope "task:write" is missing.',
      details: { operationId: "task.remove", reason: 'scope "task:write" is missing' },
      retryable: false,
      mayHaveRun: false,
    },
  ],
  [
    validationError('input of "task.create"', [problem]),
    {
      code: "VALIDATION_ERROR",
      message: 'Invalid input of "task.create": /title must be a string.',
      details: { errors: [problem], total: 1 },
      retryable: false,
      mayHaveRun: false,
    },
  ],
  [
    outputInvalid("task.create", [{ path: "", message: "must be an object" }], 5),
    {
      code: "OUTPUT_INVALID",
      message: 'Invalid output of "task.create": it must be an object (and 4 more).',
      details: { operationId: "task.create", errors: [{ path: "", message: "must be an object" }], total: 5 },
      retryable: false,
      mayHaveRun: true,
    },
  ],
  [
    timedOut("task.create", true),
    {
      code: "TIMEOUT",
      message: '"task.create" did not finish before its deadline.',
      details: { operationId: "task.create" },
      retryable: true,
      mayHaveRun: true,
    },
  ],
  [
    timedOut("task.create", false),
    {
      code: "TIMEOUT",
      message: '"task.create" was not started, because its deadline has passed.',
      details: { operationId: "task.create" },
      retryable: true,
      mayHaveRun: false,
    },
  ],
  [
    aborted("task.create", "user left", false),
    {
      code: "ABORTED",
      message: '"task.create" was aborted before it started.',
      details: { operationId: "task.create" },
      retryable: false,
      mayHaveRun: false,
    },
  ],
  [
    limitExceeded("Calls are nested too deeply", "callDepth", 64),
    {
      code: "LIMIT_EXCEEDED",
      message: "Calls are nested too deeply: the limit is 64. Raise limits.callDepth if you need more.",
      details: { limit: "callDepth", allowed: 64 },
      retryable: false,
      mayHaveRun: false,
    },
  ],
  [
    unavailable("http://localhost is not available.", { mayHaveRun: false }),
    { code: "UNAVAILABLE", message: "http://localhost is not available.", retryable: true, mayHaveRun: false },
  ],
])("%s", (error, json) => {
  expect(error.toJSON()).toEqual(json);
});

test("aborted keeps the signal's reason as cause", () => {
  const reason = { why: "user left" };

  expect(aborted("a.b", reason, true)).toMatchObject({ cause: reason, mayHaveRun: true });
});

test("a hostile id results in a short message on one line", () => {
  const error = operationNotFound(`evil\n\u001b[31m${"x".repeat(10_000)}`);

  expect(error.message).not.toMatch(/\p{Cc}/u);
  expect(JSON.stringify(error).length).toBeLessThan(1_000);
});

test("messages of other libraries keep their form, with one period at the end", () => {
  const problems = [
    { path: "/name", message: "Use four letters or more." },
    { path: "", message: "Too small: expected 3 items." },
    { path: "/size", message: "must be even." },
  ];

  expect(validationError('input of "a.b"', problems).message).toBe(
    'Invalid input of "a.b": /name: Use four letters or more; Too small: expected 3 items; /size must be even.',
  );
});

test("50,000 problems are reduced to 20 and a count, below 16 KB", () => {
  const problems = Array.from({ length: 50_000 }, (_, index) => ({
    path: `/items/${index}/title`,
    message: "must be a string",
  }));

  const error = validationError("input", problems);

  expect(error.details).toEqual({ errors: problems.slice(0, 20), total: 50_000 });
  expect(JSON.stringify(error).length).toBeLessThan(16_384);
  expect(error.message).toMatch(/\(and 49997 more\)\.$/);
});

test("not found, denied and invalid nested calls are execution errors to the outer caller", () => {
  const inner = accessDenied("user.remove", 'scope "admin" is missing');

  const outer = nestedFailure("user.remove", inner);

  expect(outer.toJSON()).toEqual({
    code: "EXECUTION_ERROR",
    message: `The nested call of "user.remove" failed: ${inner.message}`,
    details: { nested: { operationId: "user.remove", code: "ACCESS_DENIED" } },
    retryable: false,
    mayHaveRun: true,
  });
  expect(outer.cause).toBe(inner);
});

test("other nested errors pass unchanged", () => {
  const errors = [new CallError("TASK_FULL", "x"), timedOut("a.b", true), aborted("a.b", undefined, true)];

  expect(errors.map((error) => nestedFailure("a.b", error))).toEqual(errors);
});
