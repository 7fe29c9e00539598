import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { type TSchema, Type } from "typebox";
import * as v from "valibot";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import * as mini from "zod/mini";
import type { InferHandlerInput, InferInput, InferOutput } from "./infer.ts";

test("a TypeBox type has the same static type for caller and handler", () => {
  const schema = Type.Object({
    title: Type.String(),
    priority: Type.Optional(Type.Union([Type.Literal("low"), Type.Literal("high")])),
    tags: Type.Array(Type.Object({ name: Type.String() })),
  });
  type Expected = { title: string; priority?: "low" | "high"; tags: { name: string }[] };

  expectTypeOf<InferInput<typeof schema>>().toEqualTypeOf<Expected>();
  expectTypeOf<InferHandlerInput<typeof schema>>().toEqualTypeOf<Expected>();
  expectTypeOf<InferOutput<typeof schema>>().toEqualTypeOf<Expected>();
});

test("TypeBox intersections, records, tuples and scalars are resolved", () => {
  const both = Type.Intersect([Type.Object({ a: Type.String() }), Type.Object({ b: Type.Number() })]);
  const record = Type.Record(Type.String(), Type.Integer());
  const tuple = Type.Tuple([Type.String(), Type.Null()]);

  expectTypeOf<InferOutput<typeof both>>().toEqualTypeOf<{ a: string; b: number }>();
  expectTypeOf<InferOutput<typeof record>>().toEqualTypeOf<{ [key: string]: number }>();
  expectTypeOf<InferOutput<typeof tuple>>().toEqualTypeOf<[string, null]>();
  expectTypeOf<InferOutput<ReturnType<typeof Type.Integer>>>().toEqualTypeOf<number>();
});

test("the type of a JSON Schema literal is inferred", () => {
  const schema = {
    type: "object",
    properties: {
      query: { type: "string" },
      limit: { type: "integer" },
      order: { enum: ["asc", "desc"] },
      tags: { type: "array", items: { type: "string" } },
    },
    required: ["query", "order"],
  } as const;

  expectTypeOf<InferInput<typeof schema>>().toEqualTypeOf<{
    query: string;
    order: "asc" | "desc";
    limit?: number;
    tags?: string[];
  }>();
});

test("Zod has separate types for caller and handler", () => {
  const schema = z.object({ text: z.string(), limit: z.number().default(10), since: z.string().transform(Number) });

  expectTypeOf<InferInput<typeof schema>>().toEqualTypeOf<{ text: string; limit?: number; since: string }>();
  expectTypeOf<InferHandlerInput<typeof schema>>().toEqualTypeOf<{ text: string; limit: number; since: number }>();
  expectTypeOf<InferOutput<typeof schema>>().toEqualTypeOf<{ text: string; limit: number; since: number }>();
});

test("Valibot has separate types for caller and handler", () => {
  const wrapped = toStandardJsonSchema(v.object({ text: v.string(), limit: v.optional(v.number(), 10) }));

  expectTypeOf<InferInput<typeof wrapped>>().toEqualTypeOf<{ text: string; limit?: number }>();
  expectTypeOf<InferHandlerInput<typeof wrapped>>().toEqualTypeOf<{ text: string; limit: number }>();
});

test("ArkType has separate types for caller and handler", () => {
  const schema = type({ text: "string", "limit?": "number", order: "'asc' | 'desc' = 'asc'" });

  expectTypeOf<InferInput<typeof schema>>().toEqualTypeOf<{ text: string; limit?: number; order?: "asc" | "desc" }>();
  expectTypeOf<InferHandlerInput<typeof schema>>().toEqualTypeOf<{
    text: string;
    limit?: number;
    order: "asc" | "desc";
  }>();
});

test("a JSON Schema without literal types, as a whole or in a part, is unknown", () => {
  const text = { type: "string" };
  const list = { type: "object", properties: { items: { type: "array", items: { type: "string" } } } };
  const mixed = { type: "object", properties: { text }, required: ["text"] } as const;
  const propertyNamedType = {
    type: "object",
    properties: { type: { type: "string" } },
    required: ["type"],
  } as const;

  expectTypeOf<InferInput<typeof text>>().toEqualTypeOf<unknown>();
  expectTypeOf<InferInput<typeof list>>().toEqualTypeOf<unknown>();
  expectTypeOf<InferInput<typeof mixed>>().toEqualTypeOf<unknown>();
  expectTypeOf<InferInput<typeof propertyNamedType>>().toEqualTypeOf<{ type: string }>();
});

test("a list of properties, which is not a schema, is a hint what to write", () => {
  const typeBox = { title: Type.String() };
  const zod = { title: z.string(), tags: z.array(z.string()) };

  type Hint = { error: "Write Type.Object({ … }) or z.object({ … }) around the properties." };

  expectTypeOf<InferInput<typeof typeBox>>().toEqualTypeOf<Hint>();
  expectTypeOf<InferHandlerInput<typeof zod>>().toEqualTypeOf<Hint>();
  expectTypeOf<InferOutput<typeof zod>>().toEqualTypeOf<Hint>();
  expectTypeOf<InferOutput<Record<never, never>>>().toEqualTypeOf<unknown>();
});

test("a Standard Schema without a JSON Schema is a hint what to write", () => {
  const valibot = v.object({ text: v.string() });
  const zodMini = mini.object({ text: mini.string() });

  type Hint = {
    error: "This schema has no JSON Schema. Use zod instead of zod/mini, or toStandardJsonSchema() of Valibot.";
  };

  expectTypeOf<InferInput<typeof valibot>>().toEqualTypeOf<Hint>();
  expectTypeOf<InferHandlerInput<typeof valibot>>().toEqualTypeOf<Hint>();
  expectTypeOf<InferOutput<typeof zodMini>>().toEqualTypeOf<Hint>();
});

test("a schema without a static type is unknown", () => {
  expectTypeOf<InferInput<TSchema>>().toEqualTypeOf<unknown>();
  expectTypeOf<InferOutput<object>>().toEqualTypeOf<unknown>();
  expectTypeOf<InferOutput<Record<string, unknown>>>().toEqualTypeOf<unknown>();
  expectTypeOf<InferOutput<ReturnType<typeof Type.Unknown>>>().toEqualTypeOf<unknown>();
});

test("a schema of type any, as a whole or in a part, is unknown", () => {
  // biome-ignore lint/suspicious/noExplicitAny: what JSON.parse() returns
  const parsed = {} as any;
  const part = { type: "object", properties: { text: parsed }, required: ["text"] } as const;
  const typeBox = Type.Object({ title: Type.String(), parsed });

  expectTypeOf<InferInput<typeof parsed>>().toEqualTypeOf<unknown>();
  expectTypeOf<InferHandlerInput<typeof parsed>>().toEqualTypeOf<unknown>();
  expectTypeOf<InferOutput<typeof parsed>>().toEqualTypeOf<unknown>();
  expectTypeOf<InferInput<typeof part>>().toEqualTypeOf<unknown>();
  expectTypeOf<InferInput<typeof typeBox>["title"]>().toEqualTypeOf<string>();
});
