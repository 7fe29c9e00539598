import { getEventListeners } from "node:events";
import { Type } from "typebox";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { OperationContext } from "../operation/index.ts";
import { OperationRegistry } from "./index.ts";
import { createEchoes, deferred, failOnUnhandledRejections, never, operation, registryOf } from "./testing.ts";

/** Blocks the event loop, so that no timer can fire. */
function blockUntil(time: number): void {
  while (Date.now() < time);
}

describe("signal and deadline", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("a handler that never settles ends with TIMEOUT at its deadline, and its signal fires", async () => {
    let signal: AbortSignal | undefined;
    const registry = createEchoes({
      handler: (_: unknown, context: OperationContext) => {
        signal = context.signal;
        return never;
      },
    });

    const failure = expect(registry.execute("test.echo", {}, { deadline: Date.now() + 50 })).rejects.toMatchObject({
      code: "TIMEOUT",
      mayHaveRun: true,
      retryable: true,
    });
    expect(signal?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(60);
    await failure;

    expect(signal?.aborted).toBe(true);
    expect(signal?.reason).toMatchObject({ code: "TIMEOUT" });
  });

  test("a handler that settles after its deadline has no effect on the call", async () => {
    const late = deferred<string>();
    const registry = createEchoes({ handler: () => late.promise });

    const failure = expect(registry.execute("test.echo", {}, { deadline: Date.now() + 50 })).rejects.toMatchObject({
      code: "TIMEOUT",
    });
    await vi.advanceTimersByTimeAsync(60);
    late.resolve("too late");
    await failure;
  });

  test("a deadline that has passed does not start the handler", async () => {
    const handler = vi.fn();
    const registry = createEchoes({ handler });

    await expect(registry.execute("test.echo", {}, { deadline: Date.now() - 1 })).rejects.toMatchObject({
      code: "TIMEOUT",
      mayHaveRun: false,
    });
    expect(handler).not.toHaveBeenCalled();
  });

  test("a handler does not start when reading its input took longer than the deadline", async () => {
    const handler = vi.fn();
    const registry = createEchoes({ handler, inputSchema: Type.Object({ title: Type.String() }) });
    const input = {
      get title() {
        vi.setSystemTime(Date.now() + 60); // No timer can fire during this.
        return "slow to read";
      },
    };

    await expect(registry.execute("test.echo", input, { deadline: Date.now() + 50 })).rejects.toMatchObject({
      code: "TIMEOUT",
      mayHaveRun: false,
    });
    expect(handler).not.toHaveBeenCalled();
  });

  test.each([["text"], [Number.NaN], [null], [{}]])("the deadline %j is refused", async (deadline) => {
    const handler = vi.fn();
    const registry = createEchoes({ handler });

    await expect(registry.execute("test.echo", {}, { deadline: deadline as never })).rejects.toMatchObject({
      code: "VALIDATION_ERROR",
    });
    expect(handler).not.toHaveBeenCalled();
  });

  test("a deadline in the year 9999 does not fire", async () => {
    const slow = deferred<string>();
    const registry = createEchoes({ handler: () => slow.promise });

    const answer = registry.execute("test.echo", {}, { deadline: Date.UTC(9999, 0) });
    await vi.advanceTimersByTimeAsync(100_000);
    slow.resolve("ok");

    expect((await answer).data).toBe("ok");
  });

  test("a clock that jumps does not move a deadline", async () => {
    const slow = deferred<string>();
    const registry = createEchoes({ handler: () => slow.promise });

    const answer = registry.execute("test.echo", {}, { deadline: Date.now() + 1_000 });
    await vi.advanceTimersByTimeAsync(0); // The timer starts when the handler has not settled immediately.
    vi.setSystemTime(Date.now() + 3_600_000);
    await vi.advanceTimersByTimeAsync(500);
    slow.resolve("ok");

    expect((await answer).data).toBe("ok");
  });

  test("an abort fails the call with ABORTED, keeps the reason and fires the handler's signal", async () => {
    let signal: AbortSignal | undefined;
    const controller = new AbortController();
    const registry = createEchoes({
      handler: (_: unknown, context: OperationContext) => {
        signal = context.signal;
        return never;
      },
    });

    const answer = registry.execute("test.echo", {}, { signal: controller.signal });
    controller.abort("changed my mind");

    await expect(answer).rejects.toMatchObject({ code: "ABORTED", cause: "changed my mind", mayHaveRun: true });
    expect(signal?.aborted).toBe(true);
  });

  test("a signal that was aborted before does not start the handler", async () => {
    const handler = vi.fn();
    const registry = createEchoes({ handler });

    await expect(registry.execute("test.echo", {}, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: "ABORTED",
      mayHaveRun: false,
    });
    expect(handler).not.toHaveBeenCalled();
  });

  test("calls that have ended leave no listener on their signal", async () => {
    const { signal } = new AbortController();
    const registry = createEchoes({ handler: async () => 1 });

    await Promise.all(Array.from({ length: 100 }, () => registry.execute("test.echo", {}, { signal })));

    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

describe("a handler never starts after its deadline", () => {
  failOnUnhandledRejections();
  afterEach(() => {
    vi.useRealTimers();
  });

  test("that passed while the input was being checked, when no timer could fire", async () => {
    const handler = vi.fn();
    const registry = new OperationRegistry({
      customAuth: {
        slow: async () => {
          blockUntil(Date.now() + 30);
          return true;
        },
      },
    });
    registry.register(operation({ handler, accessControl: { requiredScopes: [], customAuth: "slow" } }));

    const call = registry.execute("test.echo", {}, { deadline: Date.now() + 10 });

    await expect(call).rejects.toMatchObject({ code: "TIMEOUT", mayHaveRun: false });
    expect(handler).not.toHaveBeenCalled();
  });

  test("that passed while the outer handler blocked the event loop", async () => {
    const handler = vi.fn();
    const outcome = deferred<unknown>();
    const deadline = Date.now() + 500;
    const registry = registryOf(
      operation({ handler }),
      operation({
        name: "outer",
        handler: async (_: unknown, { env }: OperationContext) => {
          blockUntil(deadline + 80);
          outcome.resolve(await env["test"]!["echo"]!({}).catch((error: unknown) => error));
        },
      }),
    );

    await registry.execute("test.outer", {}, { deadline }).catch(() => {});

    expect(await outcome.promise).toMatchObject({ code: "TIMEOUT", mayHaveRun: false });
    expect(handler).not.toHaveBeenCalled();
  });

  test("1,000 calls with the same deadline all end with TIMEOUT", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
    const registry = registryOf(operation({ handler: () => never }));
    const deadline = Date.now() + 100;
    const calls = Array.from({ length: 1_000 }, () => registry.execute("test.echo", {}, { deadline }));
    const settled = Promise.allSettled(calls);

    vi.advanceTimersByTime(110);

    const codes = new Set((await settled).map((one) => (one.status === "rejected" ? one.reason.code : "answered")));
    expect([...codes]).toEqual(["TIMEOUT"]);
  });
});
