import { Type } from "typebox";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import { type CallError, type IOperationDefinition, isDeclaredError, type OperationContext } from "../index.ts";
import { createRegistry } from "../registry/index.ts";
import { defineNamespace, defineOperation } from "./define.ts";

const create = defineOperation({
  namespace: "task",
  name: "create",
  type: "mutation",
  inputSchema: Type.Object({ title: Type.String() }),
  outputSchema: Type.Object({ id: Type.String() }),
  errors: {
    TITLE_TAKEN: Type.Object({ title: Type.String() }),
    TOO_MANY: { schema: z.object({ limit: z.number() }), httpStatus: 429, description: "There are too many tasks." },
    CLOSED: Type.Object({}),
  },
  handler: ({ title }, { errors }) => {
    expectTypeOf<keyof typeof errors>().toEqualTypeOf<"TITLE_TAKEN" | "TOO_MANY" | "CLOSED">();
    if (title === "a") throw errors.TITLE_TAKEN({ title });
    if (title === "b") throw errors.TOO_MANY({ limit: 3 }, "Three is enough.", { retryable: true });
    // @ts-expect-error: title is a string
    errors.TITLE_TAKEN({ title: 1 });
    // @ts-expect-error: the details are missing
    errors.TITLE_TAKEN();
    // @ts-expect-error: the error is not declared
    errors.TITEL_TAKEN({ title });
    throw errors.CLOSED();
  },
});

declare const error: unknown;

test("an operation without errors has an empty context.errors, and one with errors is assignable to any definition", () => {
  expectTypeOf(create).toExtend<IOperationDefinition>();
  defineOperation({
    ...create,
    errors: {},
    // @ts-expect-error: the operation declares no error
    handler: (_, { errors }) => errors.TITLE_TAKEN({ title: "a" }),
  });
  const handler = (_: unknown, { errors }: OperationContext) => errors.ANY({ code: 1 });
  const { nextPage: _nextPage, ...rest } = create;
  defineOperation({ ...rest, outputSchema: Type.Unknown(), handler });
});

test("isDeclaredError narrows the details of a declared code, and rejects other codes", () => {
  if (isDeclaredError(error, create, "TITLE_TAKEN")) {
    expectTypeOf(error).toExtend<CallError>();
    expectTypeOf(error.code).toEqualTypeOf<"TITLE_TAKEN">();
    expectTypeOf(error.details).toEqualTypeOf<{ title: string }>();
  }
  if (isDeclaredError(error, create, "TOO_MANY")) expectTypeOf(error.details.limit).toEqualTypeOf<number>();
  // @ts-expect-error: the error is not declared
  isDeclaredError(error, create, "TITEL_TAKEN");
});

test("a client narrows by the operation that was called", () => {
  const list = defineNamespace("task")({
    name: "list",
    type: "query",
    inputSchema: Type.Object({}),
    outputSchema: Type.Array(Type.String()),
    handler: () => [],
  });
  const registry = createRegistry({ operations: [create, list] });
  const { task } = registry.client();

  expectTypeOf<NonNullable<(typeof registry)["~known"]>["task.create"]["errors"]>().toEqualTypeOf<{
    TITLE_TAKEN: { title: string };
    TOO_MANY: { limit: number };
    CLOSED: object;
  }>();
  if (task.create.isError(error, "TITLE_TAKEN")) {
    expectTypeOf(error.details).toEqualTypeOf<{ title: string }>();
  }
  // @ts-expect-error: the error is not declared
  task.create.isError(error, "TITEL_TAKEN");
  // @ts-expect-error: the operation declares no error
  task.list.isError(error, "TITLE_TAKEN");
});
