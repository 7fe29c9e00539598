import { describe, expect, test, vi } from "vitest";
import { OperationRegistry, subscribe } from "./index.ts";
import { never, operation, subscription } from "./testing.ts";

function registryOf(handler: Parameters<typeof subscription>[0]): OperationRegistry {
  const registry = new OperationRegistry();
  registry.register(subscription(handler));
  return registry;
}

describe("the idleTimeout of a subscription", () => {
  test("ends it after that time without a value, and the error names the idleTimeout", async () => {
    const ended = vi.fn();
    const registry = registryOf(async function* (_input, { signal }) {
      yield 1;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      ended(signal.reason);
    });
    const values = subscribe(registry, "test.ticks", {}, { idleTimeout: 30 });

    expect((await values.next()).value).toMatchObject({ data: 1 });
    const error = await values.next().catch((reason) => reason);

    expect(error.toJSON()).toEqual({
      code: "TIMEOUT",
      message: '"test.ticks" yielded no value within its idleTimeout of 30 ms.',
      details: { operationId: "test.ticks", idleTimeout: 30 },
      retryable: true,
      mayHaveRun: true,
    });
    await vi.waitFor(() => expect(ended).toHaveBeenCalledWith(error));
    expect(await values.next()).toEqual({ done: true, value: undefined });
  });

  test("applies to a client, and nested calls of the handler fail with ABORTED", async () => {
    const inner = vi.fn();
    const registry = registryOf(async function* (_input, { env }) {
      yield await env["test"]?.["wait"]?.({}).catch(inner);
    });
    registry.register(operation({ name: "wait", handler: () => never }));

    const waiting = registry.client()["test"]?.["ticks"]?.({}, { idleTimeout: 30 }).next();

    await expect(waiting).rejects.toMatchObject({ code: "TIMEOUT", details: { idleTimeout: 30 } });
    await vi.waitFor(() => expect(inner).toHaveBeenCalledWith(expect.objectContaining({ code: "ABORTED" })));
  });

  test("counts only while a next() is pending", async () => {
    vi.useFakeTimers();
    try {
      const registry = registryOf(async function* () {
        yield* [1, 2];
      });
      const values = subscribe(registry, "test.ticks", {}, { idleTimeout: 1_000 });

      const first = await values.next();
      await vi.advanceTimersByTimeAsync(60_000);

      expect([first, await values.next()].map(({ value }) => value?.data)).toEqual([1, 2]);
    } finally {
      vi.useRealTimers();
    }
  });

  test.each([0, -1, Number.NaN, "5"])("is refused when it is %s", async (idleTimeout) => {
    const registry = registryOf(async function* () {});

    await expect(
      subscribe(registry, "test.ticks", {}, { idleTimeout: idleTimeout as number }).next(),
    ).rejects.toMatchObject({ code: "VALIDATION_ERROR", details: { errors: [{ path: "/idleTimeout" }] } });
  });
});
