import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { CallOptions, OperationContext } from "../operation/index.ts";
import { buildEnv, createRegistry, OperationRegistry, type RegistryOptions, subscribe } from "./index.ts";
import { never, operation, subscription } from "./testing.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const deadlineOf = (_: unknown, { deadline }: OperationContext) => (deadline ?? Number.NaN) - Date.now();
const timeLeft = operation({ name: "left", handler: deadlineOf });
const outer = operation({
  name: "outer",
  handler: async (input: unknown, { env }: OperationContext) =>
    (await env["test"]!["left"]!({}, (input ?? {}) as CallOptions)).data,
});
const ticks = subscription(async function* (_: unknown, context: OperationContext) {
  yield deadlineOf(_, context);
  await never;
});

function registryOf(options: RegistryOptions = {}): OperationRegistry {
  return createRegistry({ operations: [timeLeft, outer, ticks, operation({ handler: () => never })], ...options });
}

async function runFor(ms: number, call: Promise<unknown>): Promise<unknown> {
  const outcome = call.then(
    () => "resolved",
    ({ code }) => code,
  );
  await vi.advanceTimersByTimeAsync(ms + 20); // Deadlines within 20 ms of each other share one timer.
  return Promise.race([outcome, Promise.resolve("pending")]);
}

describe("timeout", () => {
  test("is a deadline that counts from the call", async () => {
    const registry = registryOf();

    expect(await registry.execute("test.left", {}, { timeout: 80 })).toMatchObject({ data: 80 });
    expect(await runFor(50, registry.execute("test.echo", {}, { timeout: 80 }))).toBe("pending");
    expect(await runFor(80, registry.execute("test.echo", {}, { timeout: 80 }))).toBe("TIMEOUT");
  });

  test.each([
    [{ timeout: 50, deadline: 200 }, 50],
    [{ timeout: 200, deadline: 50 }, 50],
    [{ timeout: Number.POSITIVE_INFINITY, deadline: 50 }, 50],
    [{ timeout: Number.POSITIVE_INFINITY, deadline: undefined }, Number.POSITIVE_INFINITY],
  ])("the earlier of timeout and deadline applies: %j", async ({ timeout, deadline }, expected) => {
    const options = { timeout, deadline: deadline === undefined ? undefined : Date.now() + deadline };

    expect(await registryOf().execute("test.left", {}, options)).toMatchObject({ data: expected });
  });

  test.each([0, -1, Number.NaN, "5s", null, {}])(
    "the timeout %j is refused, and the handler does not run",
    async (invalid) => {
      const handler = vi.fn();
      const registry = new OperationRegistry();
      registry.register(operation({ handler }));
      const refusal = {
        code: "VALIDATION_ERROR",
        mayHaveRun: false,
        details: {
          errors: [
            {
              path: "/timeout",
              message: expect.stringMatching(/^must be a number of milliseconds above 0, or Infinity, not /),
            },
          ],
          total: 1,
        },
      };

      const options = { timeout: invalid as never };
      await expect(registry.execute("test.echo", {}, options)).rejects.toMatchObject(refusal);
      await expect(registry.client(options)["test"]!["echo"]!({})).rejects.toMatchObject(refusal);
      expect(handler).not.toHaveBeenCalled();
      await expect(registryOf().subscribe("test.ticks", {}, options).next()).rejects.toMatchObject(refusal);
    },
  );

  test("of a nested call is limited by its parent call", async () => {
    const registry = registryOf();

    expect(await registry.execute("test.outer", { timeout: 30 }, { timeout: 80 })).toMatchObject({ data: 30 });
    expect(await registry.execute("test.outer", { timeout: 90 }, { timeout: 80 })).toMatchObject({ data: 80 });
  });

  test("of a client applies to each of its calls, and a call may have another", async () => {
    const client = registryOf().client({ timeout: 80 })["test"]!;

    expect(await client["left"]!()).toBe(80);
    await vi.advanceTimersByTimeAsync(500);
    expect(await client["left"]!()).toBe(80);
    expect(await client["left"]!({}, { timeout: 300 })).toBe(300);
    expect(await client["left"]!({}, { deadline: Date.now() + 10 })).toBe(10);
    expect(await client["left"]!({}, { deadline: Date.now() + 300 })).toBe(300);
  });

  test("of a client does not limit subscriptions, and one of a subscription does", async () => {
    const client = registryOf().client({ timeout: 80 })["test"]!;
    const read = async (options?: { timeout: number }) => {
      const { value } = await (client["ticks"]!({}, options) as AsyncIterableIterator<number>).next();
      return value;
    };

    expect(await read()).toBeNaN();
    expect(await read({ timeout: 300 })).toBe(300);
  });

  test("of an env for application code applies to each of its calls", async () => {
    const env = buildEnv({ registry: registryOf(), context: { timeout: 80 } })["test"]!;

    expect(await env["left"]!()).toMatchObject({ data: 80 });
    expect(await env["left"]!({}, { timeout: 20 })).toMatchObject({ data: 20 });
  });

  test("of a subscription counts from subscribe()", async () => {
    const values = registryOf().subscribe<number>("test.ticks", {}, { timeout: 80 });
    await vi.advanceTimersByTimeAsync(30);

    expect(await values.next()).toMatchObject({ value: { data: 50 } });
    expect(await runFor(50, values.next())).toBe("TIMEOUT");
  });
});

describe("defaultTimeout", () => {
  test("limits direct calls without timeout or deadline", async () => {
    const registry = registryOf({ defaultTimeout: 80 });

    expect(await registry.execute("test.left")).toMatchObject({ data: 80 });
    expect(await registry.client()["test"]!["left"]!()).toBe(80);
    expect(await registry.execute("test.outer")).toMatchObject({ data: 80 });
    expect(await registry.execute("test.left", {}, { timeout: 500 })).toMatchObject({ data: 500 });
    expect(await registry.execute("test.left", {}, { deadline: Date.now() + 500 })).toMatchObject({ data: 500 });
    expect(await runFor(80, registry.execute("test.echo"))).toBe("TIMEOUT");
  });

  test("does not limit subscriptions", async () => {
    const values = subscribe(registryOf({ defaultTimeout: 80 }), "test.ticks");

    expect(await values.next()).toMatchObject({ value: { data: Number.NaN } });
  });

  test("must be a duration", () => {
    expect(() => registryOf({ defaultTimeout: 0 })).toThrow("/defaultTimeout must be a number of milliseconds above 0");
  });
});

test("registry.subscribe yields the envelopes of the values", async () => {
  const values = registryOf().subscribe("test.ticks");
  const first = await values.next();
  await values.return!();

  expect(first).toEqual({
    done: false,
    value: { data: Number.NaN, meta: { source: "local", operationId: "test.ticks", timestamp: Date.now() } },
  });
});
