import { Type } from "typebox";
import { describe, expect, test, vi } from "vitest";
import type { OperationContext } from "../operation/index.ts";
import { OperationRegistry, subscribe } from "./index.ts";
import { deferred, failOnUnhandledRejections, never, nextTurn, registryOf, subscription } from "./testing.ts";

failOnUnhandledRejections();

describe("iterators that violate the protocol", () => {
  function iterate(iterator: object, options = {}) {
    const registry = registryOf(subscription((() => ({ [Symbol.asyncIterator]: () => iterator })) as never));
    return subscribe(registry, "test.ticks", {}, options);
  }

  test("an iterator without return() can be ended", async () => {
    const iterator = iterate({ next: async () => ({ done: false, value: 1 }) });

    expect((await iterator.next()).value.data).toBe(1);
    expect(await iterator.return!()).toEqual({ done: true, value: undefined });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  test("return() is not called after next() has failed, as in a loop", async () => {
    const end = vi.fn();
    const iterator = iterate({ next: () => Promise.reject(new Error("It failed.")), return: end });

    await expect(iterator.next()).rejects.toMatchObject({ code: "EXECUTION_ERROR" });
    await nextTurn();

    expect(end).not.toHaveBeenCalled();
  });

  test("the result of a next() that settles after return() is dropped", async () => {
    const late = deferred<unknown>();
    const returned = vi.fn();
    const iterator = iterate({ next: () => late.promise, return: returned });

    const pending = iterator.next();
    await nextTurn();
    await iterator.return!();
    late.resolve({ done: false, value: 1 });
    await nextTurn();

    expect(await pending).toEqual({ done: true, value: undefined });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
    expect(returned).toHaveBeenCalledTimes(1);
  });

  test("return() may throw, reject or never settle", async () => {
    const next = async () => ({ done: false, value: 1 });
    const boom = () => {
      throw new Error("boom");
    };
    const throwing = iterate({ next, return: boom });
    const rejecting = iterate({ next, return: async () => boom() });
    await Promise.all([throwing.next(), rejecting.next()]);

    await expect(throwing.return!()).rejects.toMatchObject({ code: "EXECUTION_ERROR", message: "boom" });
    await expect(rejecting.return!()).rejects.toMatchObject({ code: "EXECUTION_ERROR", message: "boom" });

    const controller = new AbortController();
    const endless = iterate({ next: () => never, return: () => never }, { signal: controller.signal });
    const pending = endless.next();
    await nextTurn();
    controller.abort();
    await expect(pending).rejects.toMatchObject({ code: "ABORTED" });
  });

  test("values that throw when they are read end the subscription with a CallError", async () => {
    const iterator = iterate({
      next: async () => ({
        get done(): boolean {
          throw new Error("boom");
        },
      }),
    });

    await expect(iterator.next()).rejects.toMatchObject({ code: "EXECUTION_ERROR", message: "boom" });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  test("throw() ends it like return(), and throws its argument", async () => {
    const cleanedUp = vi.fn();
    const registry = registryOf(
      subscription(async function* () {
        try {
          yield 1;
          yield 2;
        } finally {
          cleanedUp();
        }
      }),
    );
    const iterator = subscribe(registry, "test.ticks", {});
    await iterator.next();

    await expect(iterator.throw!(new RangeError("mine"))).rejects.toThrow("mine");
    expect(cleanedUp).toHaveBeenCalledTimes(1);
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  test("a signal aborted, or a deadline passed, before the first next() rejects it, and the handler does not start", async () => {
    const handler = vi.fn(async function* () {
      yield 1;
    });
    const customAuth = vi.fn(() => true);
    const registry = new OperationRegistry({ customAuth: { asked: customAuth } });
    registry.register(subscription(handler, { accessControl: { requiredScopes: [], customAuth: "asked" } }));
    const stopped = subscribe(registry, "test.ticks", {}, { signal: AbortSignal.abort() });
    const late = subscribe(registry, "test.ticks", {}, { deadline: Date.now() - 1_000 });

    await expect(stopped.next()).rejects.toMatchObject({ code: "ABORTED", mayHaveRun: false });
    await expect(late.next()).rejects.toMatchObject({ code: "TIMEOUT", mayHaveRun: false });
    await nextTurn();

    expect(handler).not.toHaveBeenCalled();
    expect(customAuth).not.toHaveBeenCalled();
  });
});

describe("listeners that act on a subscription", () => {
  test("by requesting more during a yielded event lose no value", async () => {
    const registry = registryOf(
      subscription(async function* () {
        for (let value = 1; ; value++) yield value;
      }),
    );
    const iterator = subscribe(registry, "test.ticks", {});
    const asked: Array<Promise<IteratorResult<{ data: unknown }>>> = [];
    registry.on("call", (event) => {
      if (event.kind === "yielded" && asked.length < 5) asked.push(iterator.next());
    });

    asked.push(iterator.next());
    await nextTurn();
    const values = (await Promise.all(asked)).map(({ value }) => value.data);

    expect(values).toEqual([1, 2, 3, 4, 5]);
    expect((await iterator.next()).value.data).toBe(6);
  });

  test("by a refused value: the handler's signal fires, and the consumer receives the reason", async () => {
    let signal: AbortSignal | undefined;
    const registry = registryOf(
      subscription(
        async function* (_: unknown, context: OperationContext) {
          signal = context.signal;
          signal.addEventListener("abort", () => void iterator.return?.());
          yield 1;
        },
        { outputSchema: Type.String(), outputPolicy: "strict" },
      ),
    );
    const iterator = subscribe(registry, "test.ticks", {});

    await expect(iterator.next()).rejects.toMatchObject({ code: "OUTPUT_INVALID" });
    expect(signal!.aborted).toBe(true);
  });
});
