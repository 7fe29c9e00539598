import { expectTypeOf, test } from "vitest";
import type { ResponseEnvelope } from "../index.ts";
import { connect, type RemoteClient, type Transport } from "./index.ts";
import type { TaskRegistry } from "./testing.ts";

declare const transport: Transport;

test("a client knows the operations of the registry", async () => {
  const client = connect<TaskRegistry>("ws://localhost/");

  expectTypeOf(await client.task.create({ title: "x" })).toEqualTypeOf<{ id: number; title: string }>();
  expectTypeOf(await client.task.create.envelope({ title: "x" })).toEqualTypeOf<
    ResponseEnvelope<{ id: number; title: string }>
  >();
  expectTypeOf(client.task.changes()).toEqualTypeOf<AsyncIterableIterator<number>>();
  expectTypeOf(client.task.changes.envelope({ upTo: 1 }, { idleTimeout: 5 })).toEqualTypeOf<
    AsyncIterableIterator<ResponseEnvelope<number>>
  >();
  expectTypeOf(client.close()).toEqualTypeOf<Promise<void>>();
  expectTypeOf<typeof client>().toExtend<AsyncDisposable>();
});

test("declared errors are narrowed", () => {
  const client = connect<TaskRegistry>(transport);
  const error: unknown = undefined;

  if (client.task.create.isError(error, "TITLE_TAKEN")) {
    expectTypeOf(error.code).toEqualTypeOf<"TITLE_TAKEN">();
    expectTypeOf(error.details).toEqualTypeOf<{ title: string }>();
  }
  // @ts-expect-error: task.create does not declare this code
  client.task.create.isError(error, "TITLE_GONE");
});

test("operations that the registry does not have are refused", () => {
  const client = connect<TaskRegistry>(new URL("ws://localhost/"), { token: "x", timeout: 5_000 });

  // @ts-expect-error: the title is missing
  void client.task.create({});
  // @ts-expect-error: the title is missing
  void client.task.create();
  // @ts-expect-error: there is no such operation
  void client.task.creat;
  // @ts-expect-error: there is no such namespace
  void client.tasks;
  // @ts-expect-error: who calls is decided by the connection
  void client.task.create({ title: "x" }, { identity: { id: "ada", scopes: [] } });
  // @ts-expect-error: pages need the registry
  void client.task.create.pages;
  // @ts-expect-error: not a registry and not a map of operations
  connect<{ task: string }>(transport).task;
});

test("a map of operations is enough, and without any type every name is allowed", async () => {
  type Operations = {
    "clock.now": { type: "query"; input: undefined; output: number };
    "clock.ticks": { type: "subscription"; input: { every: number }; output: Date };
  };
  const known = connect<Operations>(transport);
  const loose = connect(transport);

  expectTypeOf(known).toEqualTypeOf<RemoteClient<Operations>>();
  expectTypeOf(await known.clock.now()).toEqualTypeOf<number>();
  expectTypeOf(known.clock.ticks({ every: 1 })).toEqualTypeOf<AsyncIterableIterator<Date>>();
  expectTypeOf(await loose["any"]!["thing"]!({ a: 1 })).toEqualTypeOf<unknown>();
  expectTypeOf(loose.close).toExtend<() => Promise<void>>();
});
