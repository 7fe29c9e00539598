import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CallError } from "../operation/index.ts";
import { OperationRegistry, subscribe } from "../registry/index.ts";
import { never, operation, subscription } from "../registry/testing.ts";
import { circuitBreaker } from "./index.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const down = new CallError("UNAVAILABLE", "Not now.");

/** A registry with `test.echo` and `other.echo`, which throw `state.error` while there is one. */
function service(options: Parameters<typeof circuitBreaker>[0] = { failures: 3, cooldown: 1_000 }) {
  const state: { error: unknown; runs: number } = { error: down, runs: 0 };
  const registry = new OperationRegistry();
  const handler = async () => {
    state.runs += 1;
    if (state.error !== undefined) throw state.error;
    return "fine";
  };
  registry.registerAll([operation({ handler }), operation({ namespace: "other", handler })]);
  registry.use(circuitBreaker(options));
  const call = (id = "test.echo") => registry.execute(id, {}).catch((error: CallError) => error);
  return { state, registry, call };
}

test("refuses calls after failures in a row, but not of other namespaces", async () => {
  const { state, call } = service();

  for (let time = 0; time < 3; time++) await call();
  const refused = await call();
  await call("other.echo");

  expect(refused).toMatchObject({
    code: "UNAVAILABLE",
    message: '"test.echo" was not called: its service failed 3 times in a row. Try again in 1000 ms.',
    details: { operationId: "test.echo", retryAfter: 1_000 },
    retryable: true,
    mayHaveRun: false,
  });
  expect(state.runs).toBe(4);
});

test("allows one call after the cooldown, and all calls when it succeeds", async () => {
  const { state, call } = service();
  for (let time = 0; time < 3; time++) await call();

  vi.advanceTimersByTime(1_000);
  await Promise.all([call(), call()]);
  expect(state.runs).toBe(4);
  vi.advanceTimersByTime(1_000);
  state.error = undefined;
  await call();
  await Promise.all([call(), call()]);

  expect(state.runs).toBe(7);
});

test.each([
  ["an error that the service returned resets the count", new CallError("TITLE_TAKEN", "Taken."), 5],
  ["an error of another class resets the count", new Error("boom"), 5],
  ["an abort is not counted", new CallError("ABORTED", "Left."), 4],
  ["invalid input is not counted", new CallError("VALIDATION_ERROR", "Invalid.", {}, { mayHaveRun: false }), 4],
])("%s", async (_name, between, expected) => {
  const { state, call } = service();

  await call();
  await call();
  state.error = between;
  await call();
  state.error = down;
  await call();
  await call();

  expect(state.runs).toBe(expected);
});

test.each([new CallError("TIMEOUT", "Late."), new CallError("EXECUTION_ERROR", "HTTP 503", { status: 503 })])(
  "%s is a failure of the service",
  async (error) => {
    const { state, call } = service({ failures: 1 });
    state.error = error;

    await call();
    await call();

    expect(state.runs).toBe(1);
  },
);

test("a handler that never returns counts when the deadline of the call passes", async () => {
  vi.useRealTimers();
  const registry = new OperationRegistry();
  registry.register(operation({ handler: () => never }));
  registry.use(circuitBreaker({ failures: 1 }));
  const call = () => registry.execute("test.echo", {}, { deadline: Date.now() + 50 }).catch((error) => error.code);

  // On a busy machine the deadline of a call may pass before its handler is called, which does not count.
  const codes = new Set<string>();
  while (!codes.has("UNAVAILABLE")) codes.add(await call());

  expect([...codes]).toEqual(["TIMEOUT", "UNAVAILABLE"]);
});

test("calls with the same custom key are counted together", async () => {
  const { state, call } = service({ failures: 1, key: () => "all" });

  await call("test.echo");
  await call("other.echo");

  expect(state.runs).toBe(1);
});

test("a subscription fails at any time, and succeeds with its first value", async () => {
  let runs = 0;
  const registry = new OperationRegistry();
  registry.register(
    subscription(async function* () {
      runs += 1;
      yield 1;
      throw down;
    }),
  );
  registry.use(circuitBreaker({ failures: 2 }));
  const collect = async () => {
    for await (const _ of subscribe(registry, "test.ticks", {}));
  };

  for (let time = 0; time < 4; time++) await collect().catch(() => {});

  // The first value of each run resets the count.
  expect(runs).toBe(4);
});

test("a subscription that fails before its first value opens the circuit", async () => {
  let runs = 0;
  const registry = new OperationRegistry();
  registry.register(
    subscription(async () => {
      runs += 1;
      throw down;
    }),
  );
  registry.use(circuitBreaker({ failures: 2 }));

  for (let time = 0; time < 4; time++)
    await subscribe(registry, "test.ticks", {})
      .next()
      .catch(() => {});

  expect(runs).toBe(2);
});

test("a consumer that stops reading is not counted", async () => {
  const registry = new OperationRegistry();
  registry.register(
    subscription(async function* () {
      await never;
      yield 1;
    }),
  );
  registry.use(circuitBreaker({ failures: 1 }));

  for (let time = 0; time < 2; time++) {
    const values = subscribe(registry, "test.ticks", {});
    const first = values.next();
    await vi.advanceTimersByTimeAsync(0);
    await values.return!();
    expect(await first).toEqual({ done: true, value: undefined });
  }
});

test("invalid options are reported when the middleware is created", () => {
  expect(() => circuitBreaker({ failures: 0 })).toThrow(expect.objectContaining({ code: "VALIDATION_ERROR" }));
});
