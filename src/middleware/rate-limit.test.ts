import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { CallError, Identity } from "../operation/index.ts";
import { OperationRegistry } from "../registry/index.ts";
import { operation, subscription } from "../registry/testing.ts";
import { type RateLimitOptions, rateLimit } from "./index.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const ada = { id: "ada", scopes: [] };
const bob = { id: "bob", scopes: [] };

/** A registry with `test.echo` and `other.echo`. Calls return `ok` or the code of their error. */
function limited(options: RateLimitOptions) {
  const registry = new OperationRegistry();
  registry.registerAll([
    operation({ handler: async () => "ok" }),
    operation({ namespace: "other", handler: async () => "ok" }),
  ]);
  registry.use(rateLimit(options));
  const call = (identity?: Identity, id = "test.echo") =>
    registry.execute(id, {}, { identity }).then(
      () => "ok",
      (error: CallError) => error.code,
    );
  const calls = async (count: number, identity?: Identity) => {
    const outcomes: string[] = [];
    for (let index = 0; index < count; index++) outcomes.push(await call(identity));
    return outcomes;
  };
  return { registry, call, calls };
}

test("calls above the limit are refused, with the time until the next one is possible", async () => {
  const { registry, calls } = limited({ limit: 3, interval: 3_000 });
  expect(await calls(3, ada)).toEqual(["ok", "ok", "ok"]);
  await expect(registry.execute("test.echo", {}, { identity: ada })).rejects.toMatchObject({
    code: "LIMIT_EXCEEDED",
    message: '"test.echo" was not called: the limit is 3 calls per 3000 ms. Try again in 1000 ms.',
    details: { operationId: "test.echo", retryAfter: 1_000 },
    retryable: true,
    mayHaveRun: false,
  });
});

test("calls become available evenly, up to the limit", async () => {
  const { calls } = limited({ limit: 3, interval: 3_000 });
  await calls(3, ada);
  vi.advanceTimersByTime(999);
  expect(await calls(1, ada)).toEqual(["LIMIT_EXCEEDED"]);
  vi.advanceTimersByTime(1);
  expect(await calls(2, ada)).toEqual(["ok", "LIMIT_EXCEEDED"]);
  vi.advanceTimersByTime(60_000);
  expect(await calls(4, ada)).toEqual(["ok", "ok", "ok", "LIMIT_EXCEEDED"]);
});

test("each caller and each operation has its own limit, and anonymous callers share one", async () => {
  const { call } = limited({ limit: 1 });
  const outcomes = [
    await call(ada),
    await call(bob),
    await call(ada, "other.echo"),
    await call(),
    await call(),
    await call(ada),
  ];
  expect(outcomes).toEqual(["ok", "ok", "ok", "ok", "LIMIT_EXCEEDED", "LIMIT_EXCEEDED"]);
});

test("key decides which calls share a limit", async () => {
  const { call } = limited({ limit: 1, key: ({ context }) => context.identity?.id ?? "" });
  expect([await call(ada), await call(ada, "other.echo"), await call(bob)]).toEqual(["ok", "LIMIT_EXCEEDED", "ok"]);
});

test("a bucket that was used in every interval is not forgotten", async () => {
  const { calls } = limited({ limit: 10, interval: 1_000 });
  await calls(10, ada);
  let successes = 0;
  for (let step = 0; step < 50; step++) {
    vi.advanceTimersByTime(100);
    successes += (await calls(3, ada)).filter((outcome) => outcome === "ok").length;
  }
  expect(successes).toBe(50);
});

test("refused calls do not extend the wait", async () => {
  const { calls } = limited({ limit: 1, interval: 1_000 });
  await calls(100, ada);
  vi.advanceTimersByTime(1_000);
  expect(await calls(1, ada)).toEqual(["ok"]);
});

test("the number of counted callers is bounded", async () => {
  let caller = 0;
  const { call } = limited({ limit: 1, key: () => String(caller) });
  const outcomes = [await call(), await call()];
  for (caller = 1; caller <= 200_000; caller++) await call();
  outcomes.push(await call(), await call());
  caller = 0; // It was not used for longer than 100,000 others, and is forgotten.
  outcomes.push(await call());
  expect(outcomes).toEqual(["ok", "LIMIT_EXCEEDED", "ok", "LIMIT_EXCEEDED", "ok"]);
});

test("a subscription counts when it begins", async () => {
  const registry = new OperationRegistry();
  registry.register(
    subscription(async function* () {
      yield 1;
      yield 2;
    }),
  );
  registry.use(rateLimit({ limit: 1 }));
  const read = async () => {
    const values: unknown[] = [];
    for await (const { data } of registry.subscribe("test.ticks", {})) values.push(data);
    return values;
  };
  expect(await read()).toEqual([1, 2]);
  await expect(read()).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
});

test.each([{ limit: 0 }, { limit: 1.5 }, {}, { limit: 1, interval: 0 }, { limit: 1, interval: Number.NaN }])(
  "%j is refused",
  (options) => {
    expect(() => rateLimit(options as RateLimitOptions)).toThrow(expect.objectContaining({ code: "VALIDATION_ERROR" }));
  },
);

test("options are required", () => {
  expect(() => rateLimit(undefined as never)).toThrow("rateLimit() takes an object, not undefined.");
});
