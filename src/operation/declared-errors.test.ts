import { type } from "arktype";
import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createRegistry } from "../registry/index.ts";
import { type ErrorDeclarations, isDeclaredError } from "./declared-errors.ts";
import { defineOperation } from "./define.ts";
import { CallError } from "./error.ts";

const Taken = Type.Object({ title: Type.String() });
const create = defineOperation({
  namespace: "task",
  name: "create",
  type: "mutation",
  inputSchema: Type.Object({ title: Type.String() }),
  outputSchema: Type.Object({ id: Type.String() }),
  errorSchemas: [
    { code: "TITLE_TAKEN", schema: Type.Unknown() },
    { code: "LOCKED", schema: Type.Unknown() },
  ],
  errors: {
    TITLE_TAKEN: Taken,
    TOO_MANY: {
      schema: Type.Object({ limit: Type.Integer() }),
      description: "There are too many tasks.",
      httpStatus: 429,
    },
  },
  handler: ({ title }, { errors }) => {
    if (title === "taken") throw errors.TITLE_TAKEN({ title });
    if (title === "many") throw errors.TOO_MANY({ limit: 3 });
    if (title === "own")
      throw errors.TOO_MANY({ limit: 3 }, "Three is enough.", { retryable: true, mayHaveRun: false });
    return { id: title };
  },
});
const registry = createRegistry({ operations: [create] });
const failureOf = (title: string) => registry.execute("task.create", { title }).catch((error: unknown) => error);

describe("errors of a definition", () => {
  test("are listed in the spec, and replace entries with the same code", () => {
    expect(registry.getSpec("task.create")?.errorSchemas).toEqual([
      { code: "LOCKED", schema: Type.Unknown() },
      { code: "TITLE_TAKEN", schema: Taken },
      {
        code: "TOO_MANY",
        schema: Type.Object({ limit: Type.Integer() }),
        description: "There are too many tasks.",
        httpStatus: 429,
      },
    ]);
    expect(defineOperation({ ...create, name: "draft" }).errorSchemas).toEqual(create.errorSchemas);
  });

  test("are created by the context, with a default message", async () => {
    const [taken, many, own] = await Promise.all([failureOf("taken"), failureOf("many"), failureOf("own")]);

    expect((taken as CallError).toJSON()).toEqual({
      code: "TITLE_TAKEN",
      message: '"task.create" failed with TITLE_TAKEN.',
      details: { title: "taken" },
      retryable: false,
      mayHaveRun: true,
    });
    expect(many).toMatchObject({ code: "TOO_MANY", message: "There are too many tasks.", details: { limit: 3 } });
    expect(own).toMatchObject({ message: "Three is enough.", retryable: true, mayHaveRun: false });
  });

  test("may be written with any schema library, and are published as JSON Schema", () => {
    const withZod = defineOperation({
      ...create,
      errors: { GONE: z.object({ since: z.number() }) },
      handler: () => ({ id: "" }),
    });
    const spec = createRegistry({ operations: [withZod] }).getSpec("task.create");

    expect(JSON.parse(JSON.stringify(spec?.errorSchemas?.at(-1)))).toMatchObject({
      code: "GONE",
      schema: { type: "object", properties: { since: { type: "number" } }, required: ["since"] },
    });
  });

  test.each(["then", "toJSON", "toString", "toLocaleString", "valueOf", "constructor", "__proto__"])(
    "may have the name of a method: %s",
    async (code) => {
      const fail = defineOperation({
        namespace: "task",
        name: "fail",
        type: "query",
        inputSchema: Type.Object({}),
        outputSchema: Type.Unknown(),
        errors: Object.fromEntries([[code, Type.Unknown()]]),
        handler: (_input, { errors }) => {
          throw errors[code]!({ reason: "because" });
        },
      });

      const failure = createRegistry({ operations: [fail] }).execute("task.fail", {});

      await expect(failure).rejects.toMatchObject({ code, details: { reason: "because" } });
    },
  );

  test.each([
    ["undefined", undefined],
    ["null", null],
    ["a string", "object"],
    ["a declaration without its schema", { description: "There are too many tasks.", schema: undefined }],
    ["a declaration with an invalid schema", { schema: "object" }],
    ["a status without a schema", { description: "There are too many tasks.", httpStatus: 429 }],
  ])("are refused with their code: %s", (_name, declaration) => {
    const errors: ErrorDeclarations = { GONE: declaration as never };
    const define = () => defineOperation({ ...create, errors, handler: () => ({ id: "" }) });

    expect(define).toThrow(CallError);
    expect(define).toThrow(
      expect.objectContaining({
        code: "VALIDATION_ERROR",
        message:
          'Invalid operation "task.create": /errors/GONE must be a schema or { schema, description, httpStatus }; use Type.Unknown() when the details can be anything.',
      }),
    );
  });

  test.each([
    ["null", null],
    ["a list", [{ code: "GONE", schema: Type.Unknown() }]],
    ["a string", "GONE"],
  ])("are an object by code: %s is refused", (_name, errors) => {
    expect(() => defineOperation({ ...create, errors: errors as never })).toThrow(
      expect.objectContaining({
        code: "VALIDATION_ERROR",
        message: 'Invalid operation "task.create": /errors must be an object with a schema for every code.',
      }),
    );
  });

  test.each([[[null]], [{}], ["GONE"]])("are not combined with errorSchemas %j", (errorSchemas) => {
    expect(() => defineOperation({ ...create, errorSchemas: errorSchemas as never })).toThrow(
      expect.objectContaining({
        code: "VALIDATION_ERROR",
        message: 'Invalid operation "task.create": /errorSchemas must be a list of { code, schema }.',
      }),
    );
  });

  test("are schemas, not lists of properties", () => {
    const listed = defineOperation({
      ...create,
      errors: { GONE: { since: Type.Number() } },
      handler: () => ({ id: "" }),
    });

    expect(() => createRegistry({ operations: [listed] })).toThrow(
      'schema of the error GONE of "task.create": it is a list of properties, not a schema. Write Type.Object({ … }).',
    );
  });

  test("may have a schema of ArkType, which is a function", () => {
    const schema = type({ since: "number" });
    const { errorSchemas } = defineOperation({
      ...create,
      errorSchemas: [],
      errors: { GONE: schema, LATE: { schema, httpStatus: 410 } },
      handler: () => ({ id: "" }),
    });

    expect(errorSchemas).toEqual([
      { code: "GONE", schema },
      { code: "LATE", schema, httpStatus: 410 },
    ]);
  });

  test("are recognised by their code only, also after JSON", async () => {
    const taken = (await failureOf("taken")) as CallError;
    const travelled = CallError.fromJSON(JSON.parse(JSON.stringify(taken)));

    expect(isDeclaredError(taken, create, "TITLE_TAKEN")).toBe(true);
    expect(isDeclaredError(travelled, create, "TITLE_TAKEN")).toBe(true);
    expect(registry.client().task.create.isError(travelled, "TITLE_TAKEN")).toBe(true);
    expect(isDeclaredError(taken, create, "TOO_MANY")).toBe(false);
    expect(isDeclaredError({ code: "TITLE_TAKEN" }, create, "TITLE_TAKEN")).toBe(false);
    expect(isDeclaredError(undefined, create, "TITLE_TAKEN")).toBe(false);
  });
});
