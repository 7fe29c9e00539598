import { expect, test, vi } from "vitest";
import type { OperationContext } from "../operation/index.ts";
import { OperationRegistry, subscribe } from "../registry/index.ts";
import { deferred, operation, subscription } from "../registry/testing.ts";
import { concurrency } from "./index.ts";

/** A registry with `test.echo`, whose runs wait until they are released. */
function gated(options: Parameters<typeof concurrency>[0]) {
  const open: Array<ReturnType<typeof deferred>> = [];
  const order: unknown[] = [];
  const registry = new OperationRegistry();
  registry.register(
    operation({
      handler: async (input: unknown) => {
        order.push(input);
        const gate = deferred();
        open.push(gate);
        await gate.promise;
      },
    }),
  );
  registry.use(concurrency(options));
  const finish = async () => {
    await vi.waitUntil(() => open.length > 0);
    open.shift()!.resolve(undefined);
  };
  return { registry, open, order, finish };
}

test("no more calls run at the same time than the limit, and the others run in order", async () => {
  const { registry, open, order, finish } = gated({ limit: 2 });

  const calls = [1, 2, 3, 4, 5].map((input) => registry.execute("test.echo", input));
  await vi.waitUntil(() => open.length === 2);
  await new Promise(setImmediate);
  expect(order).toEqual([1, 2]);
  for (const _ of calls) await finish();
  await Promise.all(calls);

  expect(order).toEqual([1, 2, 3, 4, 5]);
});

test("calls beyond maxWaiting fail immediately", async () => {
  const { registry, finish } = gated({ limit: 1, maxWaiting: 1 });
  const calls = [1, 2].map((input) => registry.execute("test.echo", input));
  await new Promise(setImmediate);

  await expect(registry.execute("test.echo", 3)).rejects.toMatchObject({
    code: "LIMIT_EXCEEDED",
    message: '"test.echo" was not called: 1 calls are running and 1 are waiting, which is the limit.',
    retryable: true,
    mayHaveRun: false,
  });
  await finish();
  await finish();
  await Promise.all(calls);
});

test("a call that is aborted or times out while it waits never runs and uses no slot", async () => {
  const { registry, order, finish } = gated({ limit: 1 });
  const controller = new AbortController();
  const first = registry.execute("test.echo", 1);
  const aborted = registry.execute("test.echo", 2, { signal: controller.signal }).catch((error) => error);
  const late = registry.execute("test.echo", 3, { deadline: Date.now() + 5 }).catch((error) => error);
  await new Promise(setImmediate);

  controller.abort();

  expect(await aborted).toMatchObject({ code: "ABORTED", mayHaveRun: false });
  expect(await late).toMatchObject({ code: "TIMEOUT", mayHaveRun: false });
  await finish();
  await first;
  const next = registry.execute("test.echo", 4);
  await finish();
  await next;
  expect(order).toEqual([1, 4]);
});

test("a call that fails frees its slot", async () => {
  const registry = new OperationRegistry();
  registry.register(
    operation({
      handler: () => {
        throw new Error("boom");
      },
    }),
  );
  registry.use(concurrency({ limit: 1 }));

  for (let time = 0; time < 3; time++) await expect(registry.execute("test.echo", {})).rejects.toThrow("boom");
});

test("nested calls at any depth share the slot of their parent", async () => {
  const registry = new OperationRegistry();
  const call =
    (name: string) =>
    async (_: unknown, { env }: OperationContext) =>
      (await env["test"]![name]!({})).data;
  registry.registerAll([
    operation({ name: "outer", handler: call("middle") }),
    operation({ name: "middle", handler: call("inner") }),
    operation({ name: "inner", handler: () => "done" }),
  ]);
  registry.use(concurrency({ limit: 1 }));

  const results = await Promise.all([1, 2, 3].map(() => registry.execute("test.outer", {})));

  expect(results.map(({ data }) => data)).toEqual(["done", "done", "done"]);
});

test("a subscription keeps its slot until it ends or its consumer stops reading", async () => {
  const registry = new OperationRegistry();
  registry.registerAll([
    operation(),
    subscription(async function* () {
      yield 1;
      yield 2;
    }),
  ]);
  registry.use(concurrency({ limit: 1 }));
  const values = subscribe(registry, "test.ticks", {});
  await values.next();

  let isCalled = false;
  const call = registry.execute("test.echo", "a").then(() => {
    isCalled = true;
  });
  await new Promise(setImmediate);
  expect(isCalled).toBe(false);
  await values.return!();
  await call;

  const ended: unknown[] = [];
  for await (const { data } of subscribe(registry, "test.ticks", {})) ended.push(data);
  expect(ended).toEqual([1, 2]);
  expect((await registry.execute("test.echo", "b")).data).toBe("b");
});

test("the limit only counts operations that the middleware is used for", async () => {
  const { registry, finish } = gated({ limit: 1 });
  registry.register(operation({ name: "other", handler: () => "free" }));
  registry.use(concurrency({ limit: 1 }), { include: ["test.other"] });
  const call = registry.execute("test.echo", 1);
  await new Promise(setImmediate);
  await finish();
  await call;

  expect((await registry.execute("test.other", {})).data).toBe("free");
});

test("invalid options are reported when the middleware is created", () => {
  expect(() => concurrency({ limit: 0 })).toThrow(expect.objectContaining({ code: "VALIDATION_ERROR" }));
});

test("a missing limit is an error, because it would limit nothing", () => {
  expect(() => concurrency({} as never)).toThrow(
    "Invalid options: /limit must be an integer of at least 1, or Infinity, not undefined.",
  );
});

test("options are required", () => {
  expect(() => concurrency(undefined as never)).toThrow("concurrency() takes an object, not undefined.");
});
