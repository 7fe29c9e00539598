import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { Type } from "typebox";
import * as v from "valibot";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import { defineNamespace, defineOperation, type HandlerOf, type IdOf, type KnownFrom } from "./define.ts";
import { localEnvelope } from "./envelope.ts";
import type { IOperationDefinition } from "./spec.ts";
import { OperationType } from "./spec.ts";

const common = { version: "1.0.0", description: "Test", accessControl: { requiredScopes: [] } };
const Title = Type.Object({ title: Type.String() });
const Task = Type.Object({ id: Type.String(), state: Type.Union([Type.Literal("open"), Type.Literal("done")]) });

test("names, type and schemas are kept as written", () => {
  const create = defineOperation({
    ...common,
    namespace: "task",
    name: "create",
    type: "mutation",
    inputSchema: Title,
    outputSchema: Task,
    handler: ({ title }) => ({ id: title, state: "open" }),
  });

  expectTypeOf(create.namespace).toEqualTypeOf<"task">();
  expectTypeOf(create.name).toEqualTypeOf<"create">();
  expectTypeOf(create.type).toEqualTypeOf<"mutation">();
  expectTypeOf(create.inputSchema).toEqualTypeOf(Title);
  expectTypeOf<IdOf<typeof create>>().toEqualTypeOf<"task.create">();
  expectTypeOf(create).toExtend<IOperationDefinition>();
});

test("the type can be a member of OperationType", () => {
  const create = defineOperation({
    ...common,
    namespace: "task",
    name: "create",
    type: OperationType.MUTATION,
    inputSchema: Title,
    outputSchema: Task,
    handler: async ({ title }) => ({ id: title, state: "open" }),
  });

  expectTypeOf(create.type).toEqualTypeOf<"mutation">();
});

test("a handler may return a value, a promise or an envelope", () => {
  const base = { ...common, namespace: "task", name: "create", type: "query", inputSchema: Title } as const;

  defineOperation({ ...base, outputSchema: Type.Number(), handler: () => 1 });
  defineOperation({ ...base, outputSchema: Type.Number(), handler: async () => 1 });
  defineOperation({ ...base, outputSchema: Type.Number(), handler: () => localEnvelope(1, "task.create") });
  defineOperation({ ...base, outputSchema: Type.Number(), handler: async () => localEnvelope(1, "task.create") });
});

test("the handler's input is inferred from every kind of schema", () => {
  const base = { ...common, namespace: "text", name: "search", type: "query", outputSchema: Type.Unknown() } as const;
  type Expected = { text: string; limit: number };

  defineOperation({
    ...base,
    inputSchema: Type.Object({ text: Type.String(), limit: Type.Number() }),
    handler: (input) => expectTypeOf(input).toEqualTypeOf<Expected>(),
  });
  defineOperation({
    ...base,
    inputSchema: {
      type: "object",
      properties: { text: { type: "string" }, limit: { type: "number" } },
      required: ["text", "limit"],
    },
    handler: (input) => expectTypeOf(input).toEqualTypeOf<Expected>(),
  });
  defineOperation({
    ...base,
    inputSchema: z.object({ text: z.string(), limit: z.number().default(1) }),
    handler: (input) => expectTypeOf(input).toEqualTypeOf<Expected>(),
  });
  defineOperation({
    ...base,
    inputSchema: toStandardJsonSchema(v.object({ text: v.string(), limit: v.optional(v.number(), 1) })),
    handler: (input) => expectTypeOf(input).toEqualTypeOf<Expected>(),
  });
  defineOperation({
    ...base,
    inputSchema: type({ text: "string", limit: "number = 1" }),
    handler: (input) => expectTypeOf(input).toEqualTypeOf<Expected>(),
  });
});

test("the handler's output is checked against every kind of schema", () => {
  const base = { ...common, namespace: "text", name: "count", type: "query", inputSchema: Title } as const;

  // @ts-expect-error: count is a number
  defineOperation({ ...base, outputSchema: Type.Object({ count: Type.Number() }), handler: () => ({ count: "1" }) });
  // @ts-expect-error: count is a number
  defineOperation({ ...base, outputSchema: z.object({ count: z.number() }), handler: async () => ({ count: "1" }) });
  // @ts-expect-error: count is a number
  defineOperation({ ...base, outputSchema: type({ count: "number" }), handler: () => ({ count: "1" }) });
  defineOperation({
    ...base,
    outputSchema: toStandardJsonSchema(v.object({ count: v.number() })),
    // @ts-expect-error: count is missing
    handler: async () => ({}),
  });
  defineOperation({
    ...base,
    outputSchema: { type: "object", properties: { count: { type: "number" } }, required: ["count"] },
    // @ts-expect-error: count is a number
    handler: () => ({ count: "1" }),
  });
});

test("a handler cannot read a property that the input does not have", () => {
  defineOperation({
    ...common,
    namespace: "task",
    name: "create",
    type: "mutation",
    inputSchema: Title,
    outputSchema: Type.String(),
    // @ts-expect-error: the input has a title
    handler: (input) => input.titel,
  });
});

test("the handler of a subscription returns an async iterable, that of a query must not", () => {
  const base = { ...common, namespace: "clock", name: "ticks", inputSchema: Title } as const;
  const outputSchema = Type.Object({ at: Type.Number() });

  defineOperation({
    ...base,
    type: "subscription",
    outputSchema,
    async *handler(input, context) {
      expectTypeOf(input).toEqualTypeOf<{ title: string }>();
      expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
      yield { at: 1 };
      yield localEnvelope({ at: 2 }, "clock.ticks");
    },
  });
  defineOperation({
    ...base,
    type: "subscription",
    outputSchema,
    // @ts-expect-error: a subscription yields many values
    handler: async () => ({ at: 1 }),
  });
  defineOperation({
    ...base,
    type: "query",
    outputSchema,
    // @ts-expect-error: a query returns one value
    async *handler() {
      yield { at: 1 };
    },
  });
  defineOperation({
    ...base,
    type: "subscription",
    outputSchema,
    // @ts-expect-error: at is a number
    async *handler() {
      yield { at: "1" };
    },
  });
});

test("only names, type, schemas and handler are required", () => {
  const ping = defineOperation({
    namespace: "sys",
    name: "ping",
    type: "query",
    inputSchema: Type.Object({}),
    outputSchema: Type.String(),
    handler: () => "pong",
  });

  expectTypeOf(ping.version).toEqualTypeOf<string>();
  expectTypeOf(ping.description).toEqualTypeOf<string>();
  expectTypeOf(ping.accessControl).toExtend<{ requiredScopes: string[] }>();
  expectTypeOf(ping).toExtend<IOperationDefinition>();
});

test("lists may be readonly", () => {
  const access = { accessControl: { requiredScopes: ["a"], requiredScopesAny: ["b"] }, tags: ["x"] } as const;
  const errorSchemas = [{ code: "GONE", schema: Type.Object({}) }] as const;
  const base = { namespace: "a", name: "b", type: "query", inputSchema: Title, outputSchema: Type.Number() } as const;

  defineOperation({ ...base, ...access, errorSchemas, handler: () => 1 });
  defineNamespace("a", access)({ ...base, name: "b", handler: () => 1 });
});

test("defineNamespace infers the same types as defineOperation", () => {
  const define = defineNamespace("task", { accessControl: { requiredScopes: ["task"] }, tags: ["work"] });
  const create = define({
    name: "create",
    type: "mutation",
    inputSchema: Title,
    outputSchema: Task,
    handler: ({ title }, { signal }) => {
      expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
      return { id: title, state: "open" };
    },
  });

  expectTypeOf<IdOf<typeof create>>().toEqualTypeOf<"task.create">();
  expectTypeOf<KnownFrom<[typeof create]>["task.create"]["input"]>().toEqualTypeOf<{ title: string }>();
  define({
    name: "find",
    type: "query",
    inputSchema: Title,
    outputSchema: Task,
    // @ts-expect-error: the state is missing
    handler: ({ title }) => ({ id: title }),
  });
  // @ts-expect-error: the name is missing
  define({ type: "query", inputSchema: Title, outputSchema: Type.Unknown(), handler: () => 1 });
  // @ts-expect-error: names cannot be shared
  defineNamespace("task", { name: "create" });
});

test("required fields must be present, and unknown fields are rejected", () => {
  const handler = () => 1;
  const base = { namespace: "a", name: "b", type: "query", inputSchema: Title, outputSchema: Type.Number() } as const;

  // @ts-expect-error: the handler is missing
  defineOperation(base);
  // @ts-expect-error: an access rule has requiredScopes
  defineOperation({ ...base, handler, accessControl: {} });
  // @ts-expect-error: the type does not exist
  defineOperation({ ...common, ...base, type: "request", handler });
  // @ts-expect-error: a schema is an object
  defineOperation({ ...common, ...base, inputSchema: "string", handler });
  // @ts-expect-error: the field is named tags
  defineOperation({ ...common, ...base, handler, tag: ["a"] });
});

test("nextPage returns an input, from the previous input and envelope", () => {
  defineOperation({
    ...common,
    namespace: "task",
    name: "list",
    type: "query",
    inputSchema: z.object({ page: z.number().default(1) }),
    outputSchema: Type.Object({ more: Type.Boolean() }),
    handler: () => ({ more: false }),
    nextPage: (input, envelope) => {
      expectTypeOf(input).toEqualTypeOf<{ page: number }>();
      expectTypeOf(envelope.data).toEqualTypeOf<{ more: boolean }>();
      return envelope.data.more ? { page: input.page + 1 } : undefined;
    },
  });
});

test("a handler can be declared separately from its spec", () => {
  const handler: HandlerOf<"mutation", { title: string }, { id: string }> = async (input) => ({ id: input.title });

  defineOperation({
    ...common,
    namespace: "task",
    name: "create",
    type: "mutation",
    inputSchema: Title,
    outputSchema: Type.Object({ id: Type.String() }),
    handler,
  });
});

test("a list of definitions is typed by id, with resolved object types", () => {
  const add = defineOperation({
    ...common,
    namespace: "math",
    name: "add",
    type: "query",
    inputSchema: z.object({ left: z.number(), right: z.number().default(1) }),
    outputSchema: Type.Object({ sum: Type.Number() }),
    handler: ({ left, right }) => ({ sum: left + right }),
  });

  expectTypeOf<KnownFrom<[typeof add]>>().toEqualTypeOf<{
    "math.add": { type: "query"; input: { left: number; right?: number }; output: { sum: number } };
  }>();
  expectTypeOf<KnownFrom<IOperationDefinition[]>>().toEqualTypeOf<{
    [id: string]: { type: OperationType; input: unknown; output: unknown };
  }>();
});
