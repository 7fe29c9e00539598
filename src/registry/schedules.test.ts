import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { countCases } from "../internal/testing.ts";
import { CallError, type OperationContext } from "../operation/index.ts";
import { OperationRegistry, subscribe } from "./index.ts";
import {
  deferred,
  failOnUnhandledRejections,
  never,
  nextTurn,
  operation,
  registryOf,
  subscription,
} from "./testing.ts";
import type { RegistryCallEvent } from "./types.ts";

const unhandled = failOnUnhandledRejections();

afterEach(() => {
  vi.useRealTimers();
});

/** A deferred value that may reject before it is awaited. */
function settleable() {
  const one = deferred<unknown>();
  one.promise.catch(() => {});
  return one;
}

function failToCleanUp(): never {
  throw new Error("cleanup");
}

/** Events that can happen to a call, in any order and number, with turns of the microtask queue between. */
type Step = "abort" | "answer" | "fail" | "expire" | "close" | "unregister" | "return" | "throw" | "next" | "turn";

const callSteps = fc.array(fc.constantFrom<Step>("abort", "answer", "fail", "expire", "close", "unregister", "turn"), {
  maxLength: 8,
});
const subscriptionSteps = fc.array(
  fc.constantFrom<Step>("abort", "answer", "fail", "expire", "close", "return", "throw", "next", "next", "turn"),
  { maxLength: 10 },
);

/** Every started call must have ended once, and nothing may be emitted after that. */
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
  test("a call settles once, with an envelope or a CallError, and mayHaveRun is correct", async () => {
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
      { numRuns: countCases(500) },
    );
  });

  test("a subscription settles every next() once, and every start has one end event", async () => {
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
      { numRuns: countCases(500) },
    );
  });
});

describe("nested calls", () => {
  /** An outer operation that starts `test.slow` without awaiting it. */
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
    "one that is not awaited keeps the deadline of its parent call: %j",
    async (nestedOptions) => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
      const inner: Promise<unknown>[] = [];
      const registry = leavesOneBehind(nestedOptions, inner);

      await registry.execute("test.outer", {}, { deadline: Date.now() + 100 });
      vi.advanceTimersByTime(200);

      expect(await Promise.race([inner[0], nextTurn().then(() => "still waiting")])).toMatchObject({ code: "TIMEOUT" });
    },
  );

  test("one that is made after its parent call has returned keeps the deadline too", async () => {
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
  ])("one that never ran because of %s does not set mayHaveRun: false for the outer call", async (_, options, code) => {
    const registry = registryOf(
      operation(),
      operation({
        name: "outer",
        handler: async (_: unknown, { env }: OperationContext) => env["test"]!["echo"]!({}, options),
      }),
    );

    await expect(registry.execute("test.outer", {})).rejects.toMatchObject({ code, mayHaveRun: true });
  });

  test("mayHaveRun: false of a handler reaches its direct caller only", async () => {
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

  test("one without a handler fails the outer call with EXECUTION_ERROR", async () => {
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

  test("nested subscriptions have distinct ids and end at the depth limit", async () => {
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

  test("a client with a context makes calls with distinct ids", async () => {
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

  test("of a subscription that was ended while it waits: its calls are aborted and its signal has fired", async () => {
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

test("middleware does not run for a call that was aborted while its input was checked", async () => {
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
  test("start and end once for calls that are denied, unknown, invalid, aborted or ended, and while the registry closes", async () => {
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

test("a call that runs while the registry closes may still make nested calls", async () => {
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
