import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CallError, type IOperationDefinition, type OperationContext } from "../operation/index.ts";
import { OperationRegistry, subscribe } from "../registry/index.ts";
import { operation, subscription } from "../registry/testing.ts";
import { retry } from "./index.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function unavailable(options: { retryable?: boolean; mayHaveRun?: boolean } = {}, details?: unknown): CallError {
  return new CallError("UNAVAILABLE", "Not now.", details, { retryable: true, ...options });
}

/** A registry with one operation that throws `errors` in turn and then returns its number of runs. */
function failing(
  errors: unknown[],
  overrides: Partial<IOperationDefinition> = {},
  options?: Parameters<typeof retry>[0],
) {
  const runs: number[] = [];
  const registry = new OperationRegistry();
  const handler = async () => {
    const error = errors[runs.push(Date.now()) - 1];
    if (error !== undefined) throw error;
    return runs.length;
  };
  registry.register(operation({ handler, ...overrides }));
  registry.use(retry(options));
  return { registry, runs };
}

async function settle<T>(call: Promise<T>): Promise<T | CallError> {
  const settled = call.catch((error: CallError) => error);
  await vi.runAllTimersAsync();
  return settled;
}

const mutation = { type: "mutation" } as const;

test.each<[string, unknown[], Partial<IOperationDefinition>, number]>([
  ["a query until it succeeds", [unavailable(), unavailable()], {}, 3],
  ["twice by default", [unavailable(), unavailable(), unavailable(), unavailable()], {}, 3],
  ["an idempotent mutation", [unavailable()], { ...mutation, idempotent: true }, 2],
  ["a mutation that did not run", [unavailable({ mayHaveRun: false })], mutation, 2],
  ["not a mutation that may have run", [unavailable()], mutation, 1],
  ["not an error that is not retryable", [unavailable({ retryable: false })], {}, 1],
  ["not an error of another class", [new Error("boom")], {}, 1],
])("repeats %s", async (_name, errors, overrides, expected) => {
  const { registry, runs } = failing(errors, overrides);

  await settle(registry.execute("test.echo", {}));

  expect(runs).toHaveLength(expected);
});

test("does not repeat a mutation because a nested call did not run", async () => {
  const errors = Array.from({ length: 10 }, () => unavailable({ mayHaveRun: false }));
  const { registry, runs } = failing(errors, mutation);
  let charges = 0;
  registry.register(
    operation({
      name: "outer",
      type: "mutation",
      handler: async (_: unknown, { env }: OperationContext) => {
        charges += 1;
        return env["test"]!["echo"]!({});
      },
    }),
  );

  const failure = await settle(registry.execute("test.outer", {}));

  expect(failure).toMatchObject({ code: "UNAVAILABLE", retryable: true, mayHaveRun: true });
  expect({ charges, nested: runs.length }).toEqual({ charges: 1, nested: 3 });
});

test.each([
  ["details.retryAfter, in ms", { retryAfter: 5_000 }],
  ["Retry-After, in seconds", { headers: { "retry-after": "5" } }],
  ["Retry-After, as a date", { headers: { "retry-after": "Tue, 01 Jan 2030 00:00:05 GMT" } }],
])("waits for %s", async (_name, details) => {
  vi.setSystemTime(new Date("2030-01-01T00:00:00Z"));
  const { registry, runs } = failing([unavailable({}, details)]);

  await settle(registry.execute("test.echo", {}));

  expect(runs[1]! - runs[0]!).toBe(5_000);
});

test("does not wait longer than maxDelay", async () => {
  const { registry, runs } = failing([unavailable({}, { retryAfter: 1_001 })], {}, { maxDelay: 1_000 });

  expect(await settle(registry.execute("test.echo", {}))).toMatchObject({ code: "UNAVAILABLE" });
  expect(runs).toHaveLength(1);
});

test("does not start a retry after the deadline, and fails with the error instead", async () => {
  const { registry, runs } = failing([unavailable({}, { retryAfter: 5_000 })]);

  const failure = await settle(registry.execute("test.echo", {}, { deadline: Date.now() + 2_000 }));

  expect(failure).toMatchObject({ code: "UNAVAILABLE" });
  expect(runs).toHaveLength(1);
});

test("an abort ends the delay, and the call is not repeated", async () => {
  const { registry, runs } = failing([unavailable({}, { retryAfter: 5_000 })]);
  const controller = new AbortController();

  const call = registry.execute("test.echo", {}, { signal: controller.signal }).catch((error) => error);
  await vi.advanceTimersByTimeAsync(1_000);
  controller.abort();

  expect(await call).toMatchObject({ code: "ABORTED" });
  await vi.runAllTimersAsync();
  expect(runs).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);
});

test("without successful calls, retries are limited per namespace", async () => {
  const errors = Array.from({ length: 1_000 }, () => unavailable());
  const { registry, runs } = failing(errors);
  const other: number[] = [];
  registry.register(
    operation({
      namespace: "other",
      handler: () => {
        if (other.push(1) === 1) throw unavailable();
      },
    }),
  );

  await settle(Promise.all(Array.from({ length: 100 }, () => registry.execute("test.echo", {}).catch(() => {}))));
  await settle(registry.execute("other.echo", {}));

  expect(runs).toHaveLength(110);
  expect(other).toHaveLength(2);
});

test("invalid options are reported when the middleware is created", () => {
  expect(() => retry({ retries: -1 })).toThrow(
    expect.objectContaining({ code: "VALIDATION_ERROR", message: expect.stringContaining("/retries") }),
  );
});

/** A subscription that fails at the given runs: before (`0`) or after a number of values. */
function failingSubscription(failAfter: Array<number | undefined>, overrides: Partial<IOperationDefinition> = {}) {
  let runs = 0;
  const registry = new OperationRegistry();
  registry.register(
    subscription(
      async function* () {
        const after = failAfter[runs++];
        for (let value = 0; value < 3; value++) {
          if (value === after) throw unavailable({ mayHaveRun: false });
          yield value;
        }
      },
      { idempotent: true, ...overrides },
    ),
  );
  registry.use(retry());
  return { registry, runs: () => runs };
}

async function collect(registry: OperationRegistry): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const { data } of subscribe(registry, "test.ticks", {})) values.push(data);
  return values;
}

test("a subscription is repeated until its first value", async () => {
  const { registry, runs } = failingSubscription([0, 0]);

  expect(await settle(collect(registry))).toEqual([0, 1, 2]);
  expect(runs()).toBe(3);
});

test("a subscription that has yielded a value is not repeated", async () => {
  const { registry, runs } = failingSubscription([1]);

  expect(await settle(collect(registry))).toMatchObject({ code: "UNAVAILABLE" });
  expect(runs()).toBe(1);
});

test("a subscription that is not idempotent and has started is not repeated", async () => {
  const { registry, runs } = failingSubscription([0], { idempotent: false });

  expect(await settle(collect(registry))).toMatchObject({ code: "UNAVAILABLE" });
  expect(runs()).toBe(1);
});

test("a consumer that stops reading during the delay ends the subscription", async () => {
  const { registry, runs } = failingSubscription([0]);
  const values = subscribe(registry, "test.ticks", {});

  const first = values.next();
  await vi.advanceTimersByTimeAsync(1);
  await values.return!();
  await vi.runAllTimersAsync();

  expect(await first).toEqual({ done: true, value: undefined });
  expect(runs()).toBe(1);
});
