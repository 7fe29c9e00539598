import { Type as TypeBox } from "typebox";
import { expectTypeOf, test } from "vitest";
import { createRegistry } from "../registry/index.ts";
import { defineOperation } from "./define.ts";
import type { InferHandlerInput, InferInput } from "./infer.ts";
import { Type } from "./type.ts";

const schema = Type.Object({
  title: Type.String(),
  priority: Type.Integer({ default: 3, minimum: 0 }),
  options: Type.Object({ mode: Type.Enum(["a", "b"], { default: "a" }) }),
  lines: Type.Array(Type.Object({ count: Type.Number({ default: 1 }), text: Type.String() })),
  tags: Type.Array(Type.String(), { default: [] }),
  due: Type.Optional(Type.String()),
});

test("a property with a default is optional for callers, at any depth, and present for the handler", () => {
  expectTypeOf<InferInput<typeof schema>>().toEqualTypeOf<{
    title: string;
    priority?: number;
    options: { mode?: "a" | "b" };
    lines: { count?: number; text: string }[];
    tags?: string[];
    due?: string;
  }>();
  expectTypeOf<InferHandlerInput<typeof schema>>().toEqualTypeOf<{
    title: string;
    priority: number;
    options: { mode: "a" | "b" };
    lines: { count: number; text: string }[];
    tags: string[];
    due?: string;
  }>();
});

test("a property with a default is optional in calls of an operation", () => {
  const create = defineOperation({
    namespace: "task",
    name: "create",
    type: "mutation",
    inputSchema: schema,
    outputSchema: Type.Object({ id: Type.String() }),
    handler: ({ priority, tags }) => ({ id: `${priority.toFixed()} ${tags.join()}` }),
  });
  const registry = createRegistry({ operations: [create] });

  registry.execute("task.create", { title: "a", options: {}, lines: [{ text: "b" }] });
  registry.client().task.create({ title: "a", options: {}, lines: [], priority: 1 });
  // @ts-expect-error: the title has no default
  registry.execute("task.create", { options: {}, lines: [] });
  // @ts-expect-error: the priority is a number
  registry.execute("task.create", { title: "a", options: {}, lines: [], priority: "1" });
});

test("an operation whose properties all have a default needs no input", () => {
  const list = defineOperation({
    namespace: "task",
    name: "list",
    type: "query",
    inputSchema: Type.Object({ from: Type.Integer({ default: 0 }) }),
    outputSchema: Type.Array(Type.String()),
    handler: ({ from }) => [from.toFixed()],
  });

  expectTypeOf(
    createRegistry({ operations: [list] })
      .client()
      .task.list(),
  ).resolves.toEqualTypeOf<string[]>();
});

test("intersections and JSON Schema literals keep their defaults too", () => {
  const both = Type.Intersect([Type.Object({ a: Type.String({ default: "x" }) }), Type.Object({ b: Type.Number() })]);
  const json = {
    type: "object",
    properties: { query: { type: "string" }, limit: { type: "integer", default: 10 } },
    required: ["query", "limit"],
  } as const;

  expectTypeOf<InferInput<typeof both>>().toEqualTypeOf<{ a?: string; b: number }>();
  expectTypeOf<InferHandlerInput<typeof both>>().toEqualTypeOf<{ a: string; b: number }>();
  expectTypeOf<InferInput<typeof json>>().toEqualTypeOf<{ query: string; limit?: number }>();
});

test("a default must be a value of its type", () => {
  // @ts-expect-error: an integer is a number
  Type.Integer({ default: "3" });
  // @ts-expect-error: the value is not a member
  Type.Enum(["a", "b"], { default: "c" });
});

test("Type has the functions of TypeBox, and its types where there is no default", () => {
  expectTypeOf(Type.Object({ a: Type.Optional(Type.String()) })).toEqualTypeOf(
    TypeBox.Object({ a: TypeBox.Optional(TypeBox.String()) }),
  );
  expectTypeOf(Type.Partial).toEqualTypeOf(TypeBox.Partial);
  const imported = TypeBox.Object({ priority: TypeBox.Integer({ default: 3 }) });
  // A builder that was imported from TypeBox drops the default from the type.
  expectTypeOf<InferInput<typeof imported>>().toEqualTypeOf<{ priority: number }>();
});
