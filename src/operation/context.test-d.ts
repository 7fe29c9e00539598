import { Type } from "typebox";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import type { OperationContext } from "./context.ts";
import { defineOperation } from "./define.ts";

const find = defineOperation({
  namespace: "task",
  name: "find",
  type: "query",
  inputSchema: z.object({ id: z.string(), depth: z.number().default(1) }),
  outputSchema: Type.Object({ title: Type.String() }),
  handler: ({ id }) => ({ title: id }),
});
const ping = defineOperation({
  namespace: "sys",
  name: "ping",
  type: "query",
  inputSchema: Type.Object({}),
  outputSchema: Type.Number(),
  handler: () => 1,
});
const ticks = defineOperation({
  namespace: "clock",
  name: "ticks",
  type: "subscription",
  inputSchema: Type.Object({}),
  outputSchema: Type.Number(),
  async *handler() {
    yield 1;
  },
});

declare const context: OperationContext;

test("a call by definition is typed with its input and data", () => {
  expectTypeOf(context.call(find, { id: "1" })).resolves.toEqualTypeOf<{ title: string }>();
  expectTypeOf(context.call(find, { id: "1" }, { timeout: 5 })).resolves.toEqualTypeOf<{ title: string }>();
  expectTypeOf(context.call(ping)).resolves.toEqualTypeOf<number>();
  // @ts-expect-error: the id is a string
  context.call(find, { id: 1 });
  // @ts-expect-error: the input is missing
  context.call(find);
  // @ts-expect-error: the property does not exist
  context.call(find, { id: "1", dept: 1 });
  // @ts-expect-error: a subscription cannot be called
  context.call(ticks, {});
  // @ts-expect-error: the identity comes from the context
  context.call(ping, {}, { identity: { id: "a", scopes: [] } });
});

test("a call by an unknown id returns unknown, or the type that the caller sets", () => {
  expectTypeOf(context.call("task.find", { id: "1" })).resolves.toEqualTypeOf<unknown>();
  expectTypeOf(context.call("task.find")).resolves.toEqualTypeOf<unknown>();
  expectTypeOf(context.call<{ title: string }>("task.find", { id: "1" })).resolves.toEqualTypeOf<{ title: string }>();
});

test("a handler can return the result of a call by definition without a return type", () => {
  const outer = defineOperation({
    namespace: "task",
    name: "outer",
    type: "query",
    inputSchema: Type.Object({ id: Type.String() }),
    outputSchema: Type.Object({ title: Type.String() }),
    handler: async ({ id }, { call }) => call(find, { id }),
  });

  expectTypeOf(outer.name).toEqualTypeOf<"outer">();
});
