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
        { path: "", message: 'must have the required property "title"' },
        { path: "/tags/0", message: "must be a string" },
      ],
      total: 2,
    },
    retryable: false,
    mayHaveRun: false,
  });
});

test("messages list the values that are allowed", () => {
  const sky = Type.Union([Type.Literal("sun"), Type.Literal("rain")]);
  const Forecast = Type.Object({ sky, unit: Type.Literal("C"), source: Type.Enum(["a", "b"]), tags: Type.Object({}) });
  const many = { enum: Array.from({ length: 12 }, (_, index) => index) };

  expect(collectErrors(Forecast, { sky: "green", unit: "F", source: "c" })).toEqual([
    { path: "", message: 'must have the required property "tags"' },
    { path: "/sky", message: 'must be one of "sun", "rain"' },
    { path: "/sky", message: "must match a schema in anyOf" },
    { path: "/unit", message: 'must be "C"' },
    { path: "/source", message: 'must be one of "a", "b"' },
  ]);
  expect(collectErrors(Forecast, {})[0]?.message).toBe(
    'must have the required properties "sky", "unit", "source", "tags"',
  );
  expect(collectErrors(many, "x")[0]?.message).toBe("must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …");
  expect(collectErrors({ const: { a: 1 } }, "x")[0]?.message).toBe("must be equal to constant");
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
    '  (root): must have the required property "title"\n  /tags/0: must be a string',
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
