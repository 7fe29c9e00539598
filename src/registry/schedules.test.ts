import fc from "fast-check";
import { Type } from "typebox";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { CallError, type IOperationDefinition, type OperationContext } from "../operation/index.ts";
import { OperationRegistry, subscribe } from "./functions.ts";
import { deferred, never, operation, subscription } from "./testing.ts";
import type { RegistryCallEvent } from "./types.ts";

const unhandled: unknown[] = [];
const noteUnhandled = (reason: unknown) => unhandled.push(reason);

beforeEach(() => {
  unhandled.length = 0;
  process.on("unhandledRejection", noteUnhandled);
});

afterEach(async () => {
  vi.useRealTimers();
  await nextTurn();
  process.off("unhandledRejection", noteUnhandled);
  expect(unhandled).toEqual([]);
});

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function registryOf(...definitions: IOperationDefinition[]): OperationRegistry {
  const registry = new OperationRegistry();
  registry.registerAll(definitions);
  return registry;
}

/** A deferred value that may fail before anything waits for it. */
function settleable() {
  const one = deferred<unknown>();
  one.promise.catch(() => {});
  return one;
}

function failToCleanUp(): never {
  throw new Error("cleanup");
}

/** Keeps the processor busy, so that no timer can fire. */
function blockUntil(time: number): void {
  while (Date.now() < time);
}

/** What can happen to a call, in any order and any number, with turns of the microtask queue between. */
type Step = "abort" | "answer" | "fail" | "expire" | "close" | "unregister" | "return" | "throw" | "next" | "turn";

const callSteps = fc.array(fc.constantFrom<Step>("abort", "answer", "fail", "expire", "close", "unregister", "turn"), {
  maxLength: 8,
});
const subscriptionSteps = fc.array(
  fc.constantFrom<Step>("abort", "answer", "fail", "expire", "close", "return", "throw", "next", "next", "turn"),
  { maxLength: 10 },
);

/** Every call that started must have ended, once, and nothing may be told after that. */
function expectPairs(events: RegistryCallEvent[]): void {
  const byRequest = new Map<string, string[]>();
  for (const { requestId, kind } of events) {
    const kinds = byRequest.get(requestId) ?? [];
    byRequest.set(requestId, kinds);
    kinds.push(kind);
  }
  for (const kinds of byRequest.values()) {
    expect(kinds[0]).toBe("started");
    expect(kinds.filter((kind) => kind === "started")).toHaveLength(1);
    expect(kinds.filter((kind) => kind === "succeeded" || kind === "failed")).toEqual([kinds.at(-1)]);
  }
}

describe("every schedule", () => {
  test("a call settles once, with an envelope or a CallError, and tells the truth about having run", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
    await fc.assert(
      fc.asyncProperty(callSteps, fc.constantFrom("plain", "observed", "wrapped", "nested"), async (steps, way) => {
        const starts = vi.fn();
        const answer = settleable();
        const controller = new AbortController();
        const events: RegistryCallEvent[] = [];
        const registry = registryOf(
          operation({
            name: "work",
            handler: async () => {
              starts();
              return answer.promise;
            },
          }),
          operation({
            name: "outer",
            handler: async (_: unknown, { env }: OperationContext) => (await env["test"]!["work"]!({})).data,
          }),
        );
        if (way === "observed") registry.on("call", (event) => events.push(event));
        if (way === "wrapped") registry.use(async (_, next) => next());
        const settled: unknown[] = [];
        const startsAtEnd: number[] = [];

        const id = way === "nested" ? "test.outer" : "test.work";
        const note = (outcome: unknown) => {
          settled.push(outcome);
          startsAtEnd.push(starts.mock.calls.length);
        };
        if (steps[0] === "abort") controller.abort();
        registry.execute(id, {}, { signal: controller.signal, deadline: Date.now() + 100 }).then(note, note);
        for (const step of steps) {
          if (step === "abort") controller.abort(new Error("stop"));
          else if (step === "answer") answer.resolve("answer");
          else if (step === "fail") answer.reject(new Error("no"));
          else if (step === "expire") vi.advanceTimersByTime(200);
          else if (step === "close") void registry.close();
          else if (step === "unregister") registry.unregister("test.work");
          else await Promise.resolve();
        }
        vi.advanceTimersByTime(200);
        await nextTurn();

        expect(settled).toHaveLength(1);
        const [outcome] = settled;
        if (!(outcome instanceof CallError)) expect(outcome).toMatchObject({ data: "answer" });
        else if (!outcome.mayHaveRun) expect(starts).not.toHaveBeenCalled();
        expect(starts.mock.calls.length).toBe(startsAtEnd[0]);
        expectPairs(events);
        await nextTurn();
        expect(unhandled).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  test("a subscription gives every next() one answer, and its events come in pairs", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
    await fc.assert(
      fc.asyncProperty(subscriptionSteps, fc.boolean(), fc.boolean(), async (steps, throwsAtEnd, isObserved) => {
        let answer = settleable();
        const controller = new AbortController();
        const events: RegistryCallEvent[] = [];
        const registry = registryOf(
          subscription(async function* () {
            try {
              for (;;) yield await answer.promise;
            } finally {
              if (throwsAtEnd) failToCleanUp();
            }
          }),
        );
        if (isObserved) registry.on("call", (event) => events.push(event));
        const iterator = subscribe(
          registry,
          "test.ticks",
          {},
          { signal: controller.signal, deadline: Date.now() + 100 },
        );
        const pending: Array<Promise<unknown>> = [];
        const settle = (promise: Promise<unknown>) =>
          pending.push(
            promise.then(
              (result) => result,
              (error: unknown) => error,
            ),
          );

        for (const step of steps) {
          if (step === "abort") controller.abort(new Error("stop"));
          else if (step === "answer") {
            answer.resolve("answer");
            answer = settleable();
          } else if (step === "fail") answer.reject(new Error("no"));
          else if (step === "expire") vi.advanceTimersByTime(200);
          else if (step === "close") void registry.close();
          else if (step === "return") settle(iterator.return!());
          else if (step === "throw") settle(iterator.throw!(new Error("thrown in")));
          else if (step === "next") settle(iterator.next());
          else await Promise.resolve();
        }
        vi.advanceTimersByTime(200);
        await nextTurn();
        const results = await Promise.race([Promise.all(pending), nextTurn().then(() => "some never settled")]);

        expect(results).not.toBe("some never settled");
        for (const result of results as unknown[]) {
          if (result instanceof Error) expect(result instanceof CallError || result.message === "thrown in").toBe(true);
          else expect(typeof (result as IteratorResult<unknown>).done).toBe("boolean");
        }
        expect(await iterator.return!()).toEqual({ done: true, value: undefined });
        expect(await iterator.next()).toEqual({ done: true, value: undefined });
        expectPairs(events);
        await nextTurn();
        expect(unhandled).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("a handler never starts after its deadline", () => {
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

  test("that passed while the handler around it kept the timer from firing", async () => {
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

  test("10,000 deadlines in one slot fire together, once each", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
    const registry = registryOf(operation({ handler: () => never }));
    const deadline = Date.now() + 100;
    const calls = Array.from({ length: 10_000 }, () => registry.execute("test.echo", {}, { deadline }));
    const settled = Promise.allSettled(calls);

    vi.advanceTimersByTime(110);

    const codes = new Set((await settled).map((one) => (one.status === "rejected" ? one.reason.code : "answered")));
    expect([...codes]).toEqual(["TIMEOUT"]);
  });
});

describe("calls inside calls", () => {
  /** An outer operation that starts `test.slow` and does not wait for it. */
  function leavesOneBehind(nestedOptions: object, inner: Promise<unknown>[]) {
    return registryOf(
      operation({ name: "slow", handler: () => never }),
      operation({
        name: "outer",
        handler: async (_: unknown, { env }: OperationContext) => {
          inner.push(env["test"]!["slow"]!({}, nestedOptions).catch((error: unknown) => error));
        },
      }),
    );
  }

  test.each([{}, { deadline: Date.now() + 3_600_000 }])(
    "one that is left behind keeps the deadline of the call around it: %j",
    async (nestedOptions) => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
      const inner: Promise<unknown>[] = [];
      const registry = leavesOneBehind(nestedOptions, inner);

      await registry.execute("test.outer", {}, { deadline: Date.now() + 100 });
      vi.advanceTimersByTime(200);

      expect(await Promise.race([inner[0], nextTurn().then(() => "still waiting")])).toMatchObject({ code: "TIMEOUT" });
    },
  );

  test("one that is made after the call around it has been answered keeps its deadline too", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
    let env: OperationContext["env"] | undefined;
    const registry = registryOf(
      operation({ name: "slow", handler: () => never }),
      operation({
        name: "outer",
        handler: async (_: unknown, context: OperationContext) => {
          env = context.env;
        },
      }),
    );
    await registry.execute("test.outer", {}, { deadline: Date.now() + 100 });

    const late = env!["test"]!["slow"]!({}).catch((error: unknown) => error);
    await nextTurn();
    vi.advanceTimersByTime(200);

    expect(await Promise.race([late, nextTurn().then(() => "still waiting")])).toMatchObject({ code: "TIMEOUT" });
    await expect(env!["test"]!["slow"]!({})).rejects.toMatchObject({ code: "TIMEOUT", mayHaveRun: false });
  });

  test.each([
    ["a deadline that had passed", { deadline: Date.now() - 1_000 }, "TIMEOUT"],
    ["a signal that was aborted", { signal: AbortSignal.abort() }, "ABORTED"],
  ])("one that never ran because of %s does not say so of the handler around it", async (_, options, code) => {
    const registry = registryOf(
      operation(),
      operation({
        name: "outer",
        handler: async (_: unknown, { env }: OperationContext) => env["test"]!["echo"]!({}, options),
      }),
    );

    await expect(registry.execute("test.outer", {})).rejects.toMatchObject({ code, mayHaveRun: true });
  });

  test("nor one that says that it had no effect, while its own caller is told so", async () => {
    const refused = new CallError("UNAVAILABLE", "refused", undefined, { mayHaveRun: false, retryable: true });
    const registry = registryOf(
      operation({
        name: "remote",
        handler: async () => {
          throw refused;
        },
      }),
      operation({
        name: "outer",
        handler: async (_: unknown, { env }: OperationContext) => env["test"]!["remote"]!({}),
      }),
    );

    await expect(registry.execute("test.remote", {})).rejects.toBe(refused);
    await expect(registry.execute("test.outer", {})).rejects.toMatchObject({
      code: "UNAVAILABLE",
      mayHaveRun: true,
      retryable: true,
      cause: refused,
    });
    await expect(registry.execute("test.remote", {})).rejects.toBe(refused);
  });

  test("one without a handler is EXECUTION_ERROR to the outer caller", async () => {
    const { handler: _, ...spec } = operation({ name: "empty" });
    const registry = registryOf(
      operation({
        name: "outer",
        handler: async (_: unknown, { env }: OperationContext) => env["test"]!["empty"]!({}),
      }),
    );
    registry.registerSpec(spec);

    await expect(registry.execute("test.outer", {})).rejects.toMatchObject({
      code: "EXECUTION_ERROR",
      details: { nested: { operationId: "test.empty", code: "OPERATION_NOT_FOUND" } },
    });
  });

  test("subscriptions inside subscriptions have ids of their own and an end", async () => {
    const ids: string[] = [];
    const registry: OperationRegistry = registryOf(
      subscription(async function* (_: unknown, context: OperationContext): AsyncGenerator<unknown> {
        ids.push(context.requestId);
        yield* subscribe(registry, "test.ticks", {}, context);
      }),
    );

    await expect(subscribe(registry, "test.ticks", {}).next()).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
    expect(new Set(ids).size).toBe(65);
  });

  test("a client that was given a context makes calls with ids of their own", async () => {
    const seen: Array<[string, string | undefined]> = [];
    const registry: OperationRegistry = registryOf(
      operation({
        name: "inner",
        handler: async (_: unknown, context: OperationContext) =>
          seen.push([context.requestId, context.parentRequestId]),
      }),
      operation({
        name: "outer",
        handler: async (_: unknown, context: OperationContext) => {
          await registry.client(context)["test"]!["inner"]!({});
          return context.requestId;
        },
      }),
    );

    const { data: outerId } = await registry.execute("test.outer", {});

    expect(seen).toEqual([[expect.not.stringMatching(outerId as string), outerId]]);
  });
});

describe("trust ends with the handler", () => {
  const admin = operation({ name: "admin", accessControl: { requiredScopes: ["admin"] }, handler: () => "secret" });

  test.each([
    ["a plain function", (use: () => void) => use()],
    ["an async function that waits for nothing", async (use: () => void) => use()],
    [
      "an async function that waits",
      async (use: () => void) => {
        use();
        await null;
      },
    ],
  ])("of %s, in the same turn", async (_, body) => {
    let env: OperationContext["env"] | undefined;
    const registry = registryOf(
      admin,
      operation({
        name: "outer",
        handler: (_: unknown, context: OperationContext) =>
          body(() => {
            env = context.env;
            void env["test"]!["admin"]!({});
          }) as never,
      }),
    );

    const call = registry.execute("test.outer", {});
    const inTheSameTurn = env!["test"]!["admin"]!({}).catch((error: unknown) => error);
    await call;
    const after = env!["test"]!["admin"]!({}).catch((error: unknown) => error);

    expect(await after).toMatchObject({ code: "ACCESS_DENIED" });
    const isStillRunning = body.toString().includes("await");
    expect(await inTheSameTurn).toMatchObject(isStillRunning ? { data: "secret" } : { code: "ACCESS_DENIED" });
  });

  test("of a subscription that was left while it waits: its calls are aborted and its signal has fired", async () => {
    const left = deferred();
    const outcome = deferred<unknown>();
    const registry = registryOf(
      operation(),
      subscription(async function* (_: unknown, context: OperationContext) {
        yield 1;
        await left.promise;
        const error = await context.env["test"]!["echo"]!({}).catch((error: unknown) => error);
        outcome.resolve([error, context.signal.aborted]);
        yield 2;
      }),
    );
    const iterator = subscribe(registry, "test.ticks", {});
    await iterator.next();

    const pending = iterator.next();
    await nextTurn();
    expect(await iterator.return!()).toEqual({ done: true, value: undefined });
    expect(await pending).toEqual({ done: true, value: undefined });
    left.resolve();

    expect(await outcome.promise).toEqual([expect.objectContaining({ code: "ABORTED", mayHaveRun: false }), true]);
  });
});

describe("iterators that do not behave", () => {
  function iterate(iterator: object, options = {}) {
    const registry = registryOf(subscription((() => ({ [Symbol.asyncIterator]: () => iterator })) as never));
    return subscribe(registry, "test.ticks", {}, options);
  }

  test("without return() they are left all the same", async () => {
    const iterator = iterate({ next: async () => ({ done: false, value: 1 }) });

    expect((await iterator.next()).value.data).toBe(1);
    expect(await iterator.return!()).toEqual({ done: true, value: undefined });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
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

  test("a return() that throws, rejects or never settles", async () => {
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

  test("a promise that answers twice gives one value", async () => {
    const twice = Object.assign(Promise.resolve(), {
      then(resolve: (value: unknown) => void) {
        resolve({ done: false, value: 1 });
        resolve({ done: false, value: 2 });
      },
    });
    const iterator = iterate({ next: () => twice });

    expect((await iterator.next()).value.data).toBe(1);
    expect((await iterator.next()).value.data).toBe(1);
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

  test("throw() ends it like return(), and throws what it was given", async () => {
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

  test("a signal aborted, or a deadline passed, before the first next() is thrown by it, and nothing starts", async () => {
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
  test("by asking for more while a value is told lose none", async () => {
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

  test("by throwing options fail its first next(), which says that nothing ran", async () => {
    const handler = vi.fn();
    const registry = registryOf(subscription(handler));
    const boom = () => {
      throw new Error("boom");
    };
    const named = Object.defineProperty({}, "requestId", { get: boom });
    const watched = Object.defineProperty({}, "signal", { get: boom });
    registry.on("call", () => {});

    for (const options of [named, watched]) {
      const iterator = subscribe(registry, "test.ticks", {}, options);
      const first = Promise.race([iterator.next(), nextTurn().then(() => "never")]);
      await expect(first).rejects.toMatchObject({ code: "EXECUTION_ERROR", message: "boom", mayHaveRun: false });
    }
    expect(handler).not.toHaveBeenCalled();
  });

  test("by a refused value: the handler's signal fires, and the consumer gets the reason", async () => {
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

test("middleware does not run for a call that was given up while its input was checked", async () => {
  const gate = deferred<boolean>();
  const controller = new AbortController();
  const registry = new OperationRegistry({ customAuth: { slow: () => gate.promise } });
  registry.register(operation({ accessControl: { requiredScopes: [], customAuth: "slow" } }));
  const middleware = vi.fn((_: unknown, next: () => Promise<unknown>) => next());
  registry.use(middleware);

  const call = registry.execute("test.echo", {}, { signal: controller.signal });
  controller.abort();
  gate.resolve(true);

  await expect(call).rejects.toMatchObject({ code: "ABORTED", mayHaveRun: false });
  await nextTurn();
  expect(middleware).not.toHaveBeenCalled();
});

describe("events", () => {
  test("come in pairs for calls that are denied, unknown, invalid, aborted or left, and while the registry closes", async () => {
    const events: RegistryCallEvent[] = [];
    const gate = deferred();
    const registry = registryOf(
      operation({ name: "secret", accessControl: { requiredScopes: ["admin"] } }),
      operation({ name: "slow", handler: () => gate.promise }),
      subscription(async function* () {
        yield 1;
        yield 2;
      }),
    );
    registry.on("call", (event) => events.push(event));
    const controller = new AbortController();

    const slow = registry.execute("test.slow", {});
    const stopped = registry.execute("test.slow", {}, { signal: controller.signal }).catch(() => {});
    controller.abort();
    await registry.execute("test.secret", {}).catch(() => {});
    await registry.execute("test.none", {}).catch(() => {});
    await registry.execute("test.ticks", {}).catch(() => {});
    for await (const _ of subscribe(registry, "test.ticks", {})) break;
    const closing = registry.close();
    gate.resolve();
    await Promise.all([slow, stopped, closing]);
    await registry.execute("test.slow", {}).catch(() => {});

    expectPairs(events);
    expect(events.filter(({ kind }) => kind === "started").length).toBeGreaterThanOrEqual(6);
  });
});

test("a call that runs while the registry closes may still call others", async () => {
  const gate = deferred();
  const registry = registryOf(
    operation(),
    operation({
      name: "outer",
      handler: async (_: unknown, { env }: OperationContext) => {
        await gate.promise;
        return (await env["test"]!["echo"]!(5)).data;
      },
    }),
  );
  const call = registry.execute("test.outer", {});

  await registry.close();
  gate.resolve();

  expect((await call).data).toBe(5);
  await expect(registry.execute("test.outer", {})).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
});
