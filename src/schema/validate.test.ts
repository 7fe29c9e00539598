import { Type } from "typebox";
import { expect, test } from "vitest";
import { isCallError } from "../operation/index.ts";
import { collectErrors, formatValueErrors, validateOrThrow } from "./index.ts";

const Task = Type.Object({ title: Type.String(), tags: Type.Array(Type.String()) });

test("a valid value does not throw", () => {
  expect(validateOrThrow(Task, { title: "a", tags: [] })).toBeUndefined();
});

test("an invalid value throws VALIDATION_ERROR with every problem", () => {
  const error = catchError(() => validateOrThrow(Task, { tags: [1] }, 'input of "task.create"'));

  if (!isCallError(error)) throw error;
  expect(error.toJSON()).toEqual({
    code: "VALIDATION_ERROR",
    message: expect.stringContaining('input of "task.create"'),
    details: {
      errors: [
        { path: "", message: "must have required properties title" },
        { path: "/tags/0", message: "must be string" },
      ],
      total: 2,
    },
    retryable: false,
    mayHaveRun: false,
  });
});

test("at most 20 problems are listed and all are counted", () => {
  const error = catchError(() => validateOrThrow(Type.Array(Type.Number()), Array(30).fill("")));

  if (!isCallError(error)) throw error;
  const { errors, total } = error.details as { errors: unknown[]; total: number };
  expect({ listed: errors.length, total }).toEqual({ listed: 20, total: 30 });
});

test("errors are formatted as lines", () => {
  const errors = collectErrors(Task, { tags: [1] });

  expect(formatValueErrors(errors, "  ")).toBe(
    "  (root): must have required properties title\n  /tags/0: must be string",
  );
  expect(formatValueErrors([])).toBe("");
});

test("no errors are collected for a valid value", () => {
  expect(collectErrors(Type.String(), "a")).toEqual([]);
});

function catchError(run: () => void): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error("expected an error");
}
