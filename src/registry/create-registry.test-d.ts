import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { Type } from "typebox";
import * as v from "valibot";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  defineOperation,
  type IOperationDefinition,
  type KnownOperations,
  type OperationEnv,
  type RegisteredEnv,
  type ResponseEnvelope,
} from "../operation/index.ts";
import { buildEnv, createRegistry, OperationRegistry, subscribe } from "./index.ts";

const common = { version: "1.0.0", description: "Test", accessControl: { requiredScopes: [] } };

const createTask = defineOperation({
  ...common,
  namespace: "task",
  name: "create",
  type: "mutation",
  inputSchema: Type.Object({ title: Type.String() }),
  outputSchema: Type.Object({ id: Type.String() }),
  handler: ({ title }) => ({ id: title }),
});
const listTasks = defineOperation({
  ...common,
  namespace: "task",
  name: "list",
  type: "query",
  inputSchema: z.object({ limit: z.number().default(10) }),
  outputSchema: z.object({ titles: z.array(z.string()) }),
  handler: ({ limit }) => ({ titles: [String(limit)] }),
});
const searchText = defineOperation({
  ...common,
  namespace: "text",
  name: "search.all",
  type: "query",
  inputSchema: toStandardJsonSchema(v.object({ text: v.string() })),
  outputSchema: type({ "found?": "string" }),
  handler: ({ text }) => ({ found: text }),
});
const now = defineOperation({
  ...common,
  namespace: "clock",
  name: "now",
  type: "query",
  inputSchema: Type.Unknown(),
  outputSchema: Type.Number(),
  handler: () => 1,
});
const ticks = defineOperation({
  ...common,
  namespace: "clock",
  name: "ticks",
  type: "subscription",
  inputSchema: type({ every: "number" }),
  outputSchema: Type.Object({ at: Type.Number() }),
  async *handler({ every }) {
    yield { at: every };
  },
});

const registry = createRegistry({ operations: [createTask, listTasks, searchText, now, ticks] });
declare const imported: IOperationDefinition[];

test("a registry shows its types as resolved object types", () => {
  expectTypeOf(registry).toEqualTypeOf<
    OperationRegistry<{
      "task.create": { type: "mutation"; input: { title: string }; output: { id: string } };
      "task.list": { type: "query"; input: { limit?: number }; output: { titles: string[] } };
      "text.search.all": { type: "query"; input: { text: string }; output: { found?: string } };
      "clock.now": { type: "query"; input: unknown; output: number };
      "clock.ticks": { type: "subscription"; input: { every: number }; output: { at: number } };
    }>
  >();
});

test("execute checks id and input, and types the output", () => {
  expectTypeOf(registry.execute("task.create", { title: "a" })).resolves.toEqualTypeOf<
    ResponseEnvelope<{ id: string }>
  >();
  expectTypeOf(registry.execute("task.list", {})).resolves.toEqualTypeOf<ResponseEnvelope<{ titles: string[] }>>();
  expectTypeOf(registry.execute("text.search.all", { text: "a" })).resolves.toEqualTypeOf<
    ResponseEnvelope<{ found?: string }>
  >();
  expectTypeOf(registry.execute("clock.now", undefined, { deadline: 1 })).resolves.toEqualTypeOf<
    ResponseEnvelope<number>
  >();
});

test("execute rejects unknown ids, invalid inputs and subscriptions", () => {
  // @ts-expect-error: the operation does not exist
  registry.execute("task.crate", { title: "a" });
  // @ts-expect-error: title is a string
  registry.execute("task.create", { title: 1 });
  // @ts-expect-error: title is missing
  registry.execute("task.create", {});
  // @ts-expect-error: the input does not have the property
  registry.execute("task.create", { title: "a", tittle: "b" });
  // @ts-expect-error: clock.ticks is a subscription
  registry.execute("clock.ticks", { every: 1 });
  // @ts-expect-error: trust cannot be claimed
  registry.execute("task.create", { title: "a" }, { trusted: true });
});

test("the input is optional only where {} is valid", () => {
  expectTypeOf(registry.execute("task.list")).resolves.toEqualTypeOf<ResponseEnvelope<{ titles: string[] }>>();
  expectTypeOf(registry.execute("clock.now")).resolves.toEqualTypeOf<ResponseEnvelope<number>>();
  expectTypeOf(registry.execute("task.list", undefined, { timeout: 5 })).resolves.toHaveProperty("data");
  expectTypeOf(registry.client().task.list()).resolves.toEqualTypeOf<{ titles: string[] }>();
  expectTypeOf(registry.client().task.list.envelope()).resolves.toHaveProperty("meta");
  expectTypeOf(buildEnv({ registry, context: {} }).task.list()).resolves.toHaveProperty("meta");
  // @ts-expect-error: the title is missing
  registry.execute("task.create");
  // @ts-expect-error: the title is missing
  registry.client().task.create();
  // @ts-expect-error: every is missing
  registry.subscribe("clock.ticks");
  // @ts-expect-error: the operation does not exist
  registry.execute("task.lists");

  expectTypeOf(createRegistry()).toEqualTypeOf<OperationRegistry>();
  expectTypeOf(createRegistry({ operations: [] })).toEqualTypeOf<OperationRegistry>();

  const mixed = createRegistry({ operations: [createTask, ...imported] });
  expectTypeOf(mixed.execute("pets.list")).resolves.toEqualTypeOf<ResponseEnvelope<unknown>>();
  // @ts-expect-error: the title is missing
  mixed.execute("task.create");
});

test("a registry is created from options, not from operations", () => {
  // @ts-expect-error: Write createRegistry({ operations: [createTask] }).
  createRegistry(createTask);
  // @ts-expect-error: Write createRegistry({ operations: [createTask] }).
  createRegistry([createTask]);
});

test("schemas of type any have inputs and outputs of type unknown", () => {
  // biome-ignore lint/suspicious/noExplicitAny: what JSON.parse() returns
  const parsed = {} as any;
  const read = defineOperation({
    namespace: "file",
    name: "read",
    type: "query",
    inputSchema: parsed,
    outputSchema: parsed,
    errors: { MISSING: parsed },
    handler: (input) => {
      expectTypeOf(input).toEqualTypeOf<unknown>();
      return 1;
    },
  });
  const files = createRegistry({ operations: [read, createTask] });

  expectTypeOf(files.execute("file.read", { any: 1 })).resolves.toEqualTypeOf<ResponseEnvelope<unknown>>();
  expectTypeOf(files.client().file.read()).resolves.toEqualTypeOf<unknown>();
});

test("subscribe checks id and input, and types each value", async () => {
  for await (const envelope of subscribe(registry, "clock.ticks", { every: 1 })) {
    expectTypeOf(envelope).toEqualTypeOf<ResponseEnvelope<{ at: number }>>();
  }
  for await (const envelope of registry.subscribe("clock.ticks", { every: 1 }, { idleTimeout: 5 })) {
    expectTypeOf(envelope).toEqualTypeOf<ResponseEnvelope<{ at: number }>>();
  }
  for await (const { data } of new OperationRegistry().subscribe<number>("a.b")) {
    expectTypeOf(data).toEqualTypeOf<number>();
  }
  // @ts-expect-error: every is a number
  registry.subscribe("clock.ticks", { every: "1" });
  // @ts-expect-error: clock.now is a query
  registry.subscribe("clock.now");
  // @ts-expect-error: every is a number
  subscribe(registry, "clock.ticks", { every: "1" });
  // @ts-expect-error: clock.now is a query
  subscribe(registry, "clock.now", undefined);
  // @ts-expect-error: the operation does not exist
  subscribe(registry, "clock.tick", { every: 1 });
});

test("an env has the queries and mutations by name", () => {
  const env = buildEnv({ registry, context: {} });

  expectTypeOf(env.task.create).toEqualTypeOf<RegisteredEnv<{ registry: typeof registry }>["task"]["create"]>();
  expectTypeOf(env.task.create).parameter(0).toEqualTypeOf<{ title: string }>();
  expectTypeOf(env.task.create({ title: "a" })).resolves.toEqualTypeOf<ResponseEnvelope<{ id: string }>>();
  expectTypeOf(env.text["search.all"]({ text: "a" })).resolves.toEqualTypeOf<ResponseEnvelope<{ found?: string }>>();
  expectTypeOf(env.clock.now()).resolves.toEqualTypeOf<ResponseEnvelope<number>>();
  // @ts-expect-error: the namespace does not exist
  env.tasks;
  // @ts-expect-error: the operation does not exist
  env.task.crate;
  // @ts-expect-error: an env has no subscriptions
  env.clock.ticks;
  // @ts-expect-error: title is a string
  env.task.create({ title: 1 });
  // @ts-expect-error: the input is missing
  env.task.create();
  // @ts-expect-error: the identity comes from the context
  env.task.create({ title: "a" }, { identity: { id: "a", scopes: [] } });
});

test("a customAuth function receives the input of the operations that name it", () => {
  const rule = { requiredScopes: [], customAuth: "ownsTask" } as const;
  const close = defineOperation({ ...createTask, name: "close", accessControl: rule });
  const rename = defineOperation({
    namespace: "task",
    name: "rename",
    type: "mutation",
    inputSchema: z.object({ id: z.string(), rank: z.number().default(1) }),
    outputSchema: Type.Unknown(),
    accessControl: { requiredScopes: [], customAuth: "ownsTask" },
    handler: () => 1,
  });

  createRegistry({
    operations: [close, rename],
    customAuth: {
      ownsTask: ({ input, identity }) => {
        expectTypeOf(input).toEqualTypeOf<{ title: string } | { id: string; rank: number }>();
        return identity?.id === "ada";
      },
    },
  });
  createRegistry({ operations: [createTask], customAuth: { later: ({ input }) => input !== undefined } });
  // @ts-expect-error: no operation names it
  createRegistry({ operations: [close], customAuth: { ownTask: () => true } });
  createRegistry({ operations: [close], customAuth: { ownsTask: async ({ input }) => input.title === "a" } });
  // @ts-expect-error: the input has a title
  createRegistry({ operations: [close], customAuth: { ownsTask: ({ input }) => input.titel === "a" } });
  // @ts-expect-error: only true or false decides
  createRegistry({ operations: [close], customAuth: { ownsTask: () => "yes" } });
});

test("a client returns data, envelopes and pages", async () => {
  const client = registry.client({ identity: { id: "ada", scopes: [] } });

  expectTypeOf(client.task.create).parameters.toExtend<[{ title: string }, object?]>();
  expectTypeOf(client.task.create({ title: "a" })).toEqualTypeOf<Promise<{ id: string }>>();
  expectTypeOf(client.task.create.envelope({ title: "a" })).toEqualTypeOf<Promise<ResponseEnvelope<{ id: string }>>>();
  expectTypeOf(client.clock.now()).toEqualTypeOf<Promise<number>>();
  for await (const page of client.task.list.pages({ limit: 1 })) {
    expectTypeOf(page).toEqualTypeOf<ResponseEnvelope<{ titles: string[] }>>();
  }
  for await (const value of client.clock.ticks({ every: 1 })) {
    expectTypeOf(value).toEqualTypeOf<{ at: number }>();
  }
  for await (const envelope of client.clock.ticks.envelope({ every: 1 })) {
    expectTypeOf(envelope).toEqualTypeOf<ResponseEnvelope<{ at: number }>>();
  }
});

test("a client rejects unknown names and invalid inputs", () => {
  const client = registry.client();

  // @ts-expect-error: the namespace does not exist
  client.tasks;
  // @ts-expect-error: the operation does not exist
  client.task.crate;
  // @ts-expect-error: title is a string
  client.task.create({ title: 1 });
  // @ts-expect-error: the input is missing
  client.task.create();
  // @ts-expect-error: a subscription has no pages
  client.clock.ticks.pages;
  // @ts-expect-error: a subscription cannot be awaited for its value
  client.clock.ticks({ every: 1 }).then;
});

test("a typed registry is assignable to an untyped one", () => {
  const takesAny = (any: OperationRegistry) => any.execute("a.b", {});
  const takesGeneric = <Known extends KnownOperations>(known: OperationRegistry<Known>) => known.list();

  takesAny(registry);
  takesGeneric(registry);
  takesGeneric(new OperationRegistry());
  expectTypeOf(registry).toExtend<OperationRegistry>();
});

test("an untyped registry is not assignable to a typed one", () => {
  const takesTyped = (typed: typeof registry) => typed;

  // @ts-expect-error: the operations of this registry are not known
  takesTyped(new OperationRegistry());
  // @ts-expect-error: it does not have all operations
  takesTyped(createRegistry({ operations: [createTask] }));
});

test("an untyped registry accepts any id and returns the type that the caller sets", async () => {
  const any = new OperationRegistry({ outputPolicy: "check" });

  expectTypeOf(any.execute("a.b", {})).resolves.toEqualTypeOf<ResponseEnvelope<unknown>>();
  expectTypeOf(any.execute<{ id: string }>("a.b", {})).resolves.toEqualTypeOf<ResponseEnvelope<{ id: string }>>();
  expectTypeOf(buildEnv({ registry: any, context: {} })["a"]!["b"]!()).resolves.toEqualTypeOf<
    ResponseEnvelope<unknown>
  >();
  expectTypeOf(await any.client()["a"]!["b"]!({})).toEqualTypeOf<unknown>();
  for await (const value of any.client()["a"]!["c"]!()) expectTypeOf(value).toEqualTypeOf<unknown>();
  for await (const { data } of subscribe(any, "a.c", {})) expectTypeOf(data).toEqualTypeOf<unknown>();
  for await (const { data } of subscribe<number>(any, "a.c", {})) expectTypeOf(data).toEqualTypeOf<number>();
});

test("imported operations can be called without checks, and defined operations are still checked", () => {
  const mixed = createRegistry({ operations: [createTask, ticks, ...imported] });

  expectTypeOf(mixed.execute("task.create", { title: "a" })).resolves.toEqualTypeOf<ResponseEnvelope<{ id: string }>>();
  expectTypeOf(mixed.execute("pets.find", { any: 1 })).resolves.toEqualTypeOf<ResponseEnvelope<unknown>>();
  expectTypeOf(mixed.client().task.create({ title: "a" })).resolves.toEqualTypeOf<{ id: string }>();
  expectTypeOf(mixed.client()["pets"]!["find"]!.envelope({ any: 1 })).resolves.toEqualTypeOf<
    ResponseEnvelope<unknown>
  >();
  // @ts-expect-error: title is a string
  mixed.execute("task.create", { title: 1 });
  // @ts-expect-error: title is a string
  mixed.client().task.create({ title: 1 });
});

test("an env is untyped until a program declares its registry", () => {
  expectTypeOf<RegisteredEnv>().toEqualTypeOf<OperationEnv>();
  expectTypeOf<RegisteredEnv<{ registry: typeof registry }>>().toHaveProperty("task");
});

test("access rules may have readonly lists", () => {
  const accessControl = { requiredScopes: ["task"], requiredScopesAny: ["a", "b"] } as const;
  const source = { name: "empty", load: async () => [], close: async () => {} };

  expectTypeOf(registry.follow(source, { accessControl })).toExtend<Promise<AsyncDisposable>>();
});

test("events are distinguished by kind", () => {
  registry.on("call", (event) => {
    if (event.kind === "failed") expectTypeOf(event.error.code).toEqualTypeOf<string>();
    if (event.kind === "yielded") expectTypeOf(event.seq).toEqualTypeOf<number>();
  });
  registry.on("change", (event) => expectTypeOf(event.kind).toEqualTypeOf<"added" | "changed" | "removed">());
  // @ts-expect-error: the event does not exist
  registry.on("calls", () => {});
});
