import { Type } from "typebox";
import { describe, expect, test, vi } from "vitest";
import { CallError, type OperationContext, type ResponseEnvelope } from "../operation/index.ts";
import { OperationRegistry, subscribe } from "./index.ts";
import { deferred, never, operation, subscription } from "./testing.ts";

type Handler = Parameters<typeof subscription>[0];

function subscribeTo(handler: Handler, overrides: Parameters<typeof subscription>[1] = {}, options = {}) {
  const registry = new OperationRegistry();
  registry.register(subscription(handler, overrides));
  return subscribe(registry, "test.ticks", {}, options);
}

async function collect(iterable: AsyncIterable<ResponseEnvelope>): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const { data } of iterable) values.push(data);
  return values;
}

test("each value is wrapped in a separate envelope", async () => {
  const values: ResponseEnvelope[] = [];
  const iterable = subscribeTo(async function* () {
    yield 1;
    yield 2;
  });

  for await (const envelope of iterable) values.push(envelope);

  const meta = { source: "local", operationId: "test.ticks", timestamp: expect.any(Number) };
  expect(values).toEqual([
    { data: 1, meta },
    { data: 2, meta },
  ]);
});

test("each value is normalised", async () => {
  const iterable = subscribeTo(
    async function* () {
      yield { n: 1, extra: true };
    },
    { outputSchema: Type.Object({ n: Type.Number() }) },
  );

  const { value } = await iterable.next();

  expect(value).toMatchObject({ data: { n: 1 }, meta: { drift: [{ path: "/extra", kind: "stripped" }] } });
});

test("strict ends the subscription at the first invalid value, and the handler cleans up", async () => {
  const cleanedUp = vi.fn();
  const iterable = subscribeTo(
    async function* () {
      try {
        yield "1";
        yield 2;
        yield "3";
      } finally {
        cleanedUp();
      }
    },
    { outputSchema: Type.String(), outputPolicy: "strict" },
  );

  expect((await iterable.next()).value.data).toBe("1");
  await expect(iterable.next()).rejects.toMatchObject({ code: "OUTPUT_INVALID" });
  expect(await iterable.next()).toEqual({ done: true, value: undefined });
  expect(cleanedUp).toHaveBeenCalledTimes(1);
});

test("a handler may return any async iterable, also by promise", async () => {
  const iterable = subscribeTo(async () => ({
    async *[Symbol.asyncIterator]() {
      yield "a";
    },
  }));

  expect(await collect(iterable)).toEqual(["a"]);
});

test("a handler that does not return an async iterable fails with a hint", async () => {
  await expect(subscribeTo((async () => [1, 2]) as never).next()).rejects.toMatchObject({
    code: "EXECUTION_ERROR",
    message: expect.stringContaining("async generator"),
  });
});

test("an iterator whose next returns no promise, or undefined, fails without an unhandled rejection", async () => {
  const values = subscribeTo(
    () => ({ [Symbol.asyncIterator]: () => ({ next: () => ({ done: false, value: 1 }) }) }) as never,
  );
  const nothing = subscribeTo(() => ({ [Symbol.asyncIterator]: () => ({ next: () => undefined }) }) as never);

  expect((await values.next()).value.data).toBe(1);
  await expect(nothing.next()).rejects.toMatchObject({ code: "EXECUTION_ERROR" });
});

test("the handler starts with the first next, not before", async () => {
  const started = vi.fn();
  const iterable = subscribeTo(async function* () {
    started();
    yield 1;
  });

  expect(started).not.toHaveBeenCalled();
  await iterable.next();
  expect(started).toHaveBeenCalledTimes(1);
});

test("concurrent calls of next are queued, and each receives one value", async () => {
  const iterable = subscribeTo(async function* () {
    yield 1;
    yield 2;
  });

  const results = await Promise.all([iterable.next(), iterable.next(), iterable.next(), iterable.next()]);

  expect(results.map(({ done, value }) => (done ? "done" : value.data))).toEqual([1, 2, "done", "done"]);
});

test("an error of the handler reaches the consumer once, then the subscription is done", async () => {
  const iterable = subscribeTo(async function* () {
    yield 1;
    throw new CallError("GONE", "The feed is gone");
  });

  await iterable.next();
  await expect(iterable.next()).rejects.toMatchObject({ code: "GONE" });
  expect(await iterable.next()).toEqual({ done: true, value: undefined });
});

function failToCleanUp(): never {
  throw new Error("cleanup failed");
}

describe("leaving", () => {
  test("at a yield waits for the handler's finally, and fires its signal first", async () => {
    const order: string[] = [];
    const iterable = subscribeTo(async function* (_: unknown, { signal }: OperationContext) {
      signal.addEventListener("abort", () => order.push("signal"));
      try {
        yield 1;
      } finally {
        await null;
        order.push("finally");
      }
    });

    for await (const _ of iterable) break;

    expect(order).toEqual(["signal", "finally"]);
  });

  test("a throw in finally is EXECUTION_ERROR", async () => {
    const iterable = subscribeTo(async function* () {
      try {
        yield 1;
      } finally {
        failToCleanUp();
      }
    });
    await iterable.next();

    await expect(iterable.return!()).rejects.toMatchObject({ code: "EXECUTION_ERROR", message: "cleanup failed" });
  });

  test("while a value is requested resolves immediately, and the pending next returns done", async () => {
    const cleanedUp = deferred();
    const release = deferred();
    const iterable = subscribeTo(async function* () {
      try {
        yield 1;
        await release.promise;
        yield 2;
      } finally {
        cleanedUp.resolve();
      }
    });
    await iterable.next();
    const pending = iterable.next();

    expect(await iterable.return!()).toEqual({ done: true, value: undefined });
    expect(await pending).toEqual({ done: true, value: undefined });

    release.resolve();
    await cleanedUp.promise;
  });

  test("before the first next does not start the handler", async () => {
    const started = vi.fn();
    const iterable = subscribeTo(async function* () {
      started();
      yield 1;
    });

    await iterable.return!();

    expect(await iterable.next()).toEqual({ done: true, value: undefined });
    expect(started).not.toHaveBeenCalled();
  });

  test("while the input is still being checked never starts the handler", async () => {
    const started = vi.fn();
    const decision = deferred<boolean>();
    const registry = new OperationRegistry({ customAuth: { slow: () => decision.promise } });
    registry.register(
      subscription(
        async function* () {
          started();
          yield 1;
        },
        { accessControl: { requiredScopes: [], customAuth: "slow" } },
      ),
    );
    const iterable = subscribe(registry, "test.ticks", {});

    const pending = iterable.next();
    await iterable.return!();
    decision.resolve(true);

    expect(await pending).toEqual({ done: true, value: undefined });
    await new Promise((resolve) => setImmediate(resolve));
    expect(started).not.toHaveBeenCalled();
  });

  test("by await using ends the subscription", async () => {
    const cleanedUp = vi.fn();
    const iterable = subscribeTo(async function* () {
      try {
        yield 1;
      } finally {
        cleanedUp();
      }
    });
    await iterable.next();

    await iterable[Symbol.asyncDispose]();

    expect(cleanedUp).toHaveBeenCalledTimes(1);
  });
});

describe("signal and deadline", () => {
  test("an abort throws ABORTED at the pending next and fires the handler's signal", async () => {
    const controller = new AbortController();
    let signal: AbortSignal | undefined;
    const iterable = subscribeTo(
      async function* (_: unknown, context: OperationContext) {
        signal = context.signal;
        yield 1;
        await never;
      },
      {},
      { signal: controller.signal },
    );
    await iterable.next();

    const pending = iterable.next();
    controller.abort("enough");

    await expect(pending).rejects.toMatchObject({ code: "ABORTED", cause: "enough" });
    expect(signal?.aborted).toBe(true);
    expect(await iterable.next()).toEqual({ done: true, value: undefined });
  });

  test("an abort while no next() is pending is thrown by the following next(), and the handler cleans up", async () => {
    const controller = new AbortController();
    const cleanedUp = deferred();
    const iterable = subscribeTo(
      async function* () {
        try {
          yield 1;
        } finally {
          cleanedUp.resolve();
        }
      },
      {},
      { signal: controller.signal },
    );
    await iterable.next();

    controller.abort();
    await cleanedUp.promise;

    await expect(iterable.next()).rejects.toMatchObject({ code: "ABORTED" });
  });

  test("a deadline throws TIMEOUT", async () => {
    const iterable = subscribeTo(
      async function* () {
        await never;
        yield 1;
      },
      {},
      { deadline: Date.now() + 5 },
    );

    await expect(iterable.next()).rejects.toMatchObject({ code: "TIMEOUT" });
  });
});

describe("the steps before the handler", () => {
  test("subscribing to a query fails with WRONG_OPERATION_TYPE", async () => {
    const registry = new OperationRegistry();
    registry.register(operation());

    await expect(subscribe(registry, "test.echo", {}).next()).rejects.toMatchObject({ code: "WRONG_OPERATION_TYPE" });
  });

  test("scopes and input are checked", async () => {
    const handler = vi.fn(async function* () {
      yield 1;
    });
    const guarded = { accessControl: { requiredScopes: ["read"] }, inputSchema: Type.Object({ a: Type.String() }) };

    await expect(subscribeTo(handler, guarded).next()).rejects.toMatchObject({ code: "ACCESS_DENIED" });
    await expect(
      subscribeTo(handler, guarded, { identity: { id: "ada", scopes: ["read"] } }).next(),
    ).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
    expect(handler).not.toHaveBeenCalled();
  });
});
