import { Type } from "typebox";
import { describe, expect, test, vi } from "vitest";
import { CallError, type CallOptions, type IOperationDefinition, type OperationContext } from "../operation/index.ts";
import { buildEnv, OperationRegistry, subscribe } from "./index.ts";
import { deferred, failOnUnhandledRejections, nextTurn, operation, registryOf, subscription } from "./testing.ts";

const boom = (): never => {
  throw new Error("boom");
};

failOnUnhandledRejections();

/** Returns the value that a call rejects with. Fails if the call throws synchronously or does not return a native promise. */
async function failureOf(call: () => Promise<unknown>): Promise<unknown> {
  const promise = call();
  expect(Object.getPrototypeOf(promise)).toBe(Promise.prototype);
  return promise.then(
    (value) => ({ answered: value }),
    (error: unknown) => error,
  );
}

/** Runs the same test with and without listeners, middleware and a deadline, which use different code paths. */
const modes: Array<[name: string, prepare: (registry: OperationRegistry) => CallOptions]> = [
  ["plainly", () => ({})],
  [
    "with a listener",
    (registry) => {
      registry.on("call", () => {});
      return {};
    },
  ],
  [
    "with middleware",
    (registry) => {
      registry.use((_, next) => next());
      return {};
    },
  ],
  ["with a deadline", () => ({ deadline: Date.now() + 60_000 })],
];

describe("hostile callers", () => {
  test.each([null, 5, "text", true, Symbol("options"), []])("options that are not an object: %s", async (options) => {
    const registry = registryOf(operation());

    expect((await registry.execute("test.echo", 1, options as never)).data).toBe(1);
  });

  const noIds: unknown[] = [
    undefined,
    null,
    5,
    Symbol("id"),
    {},
    { toString: boom },
    ["test.echo"],
    "__proto__",
    "constructor",
    "x".repeat(1_000_000),
  ];
  test.each(noIds)("an invalid id fails with OPERATION_NOT_FOUND: %#", async (id) => {
    const registry = registryOf(operation());

    const error = await failureOf(() => registry.execute(id as never, {}));

    expect(error).toMatchObject({ code: "OPERATION_NOT_FOUND", mayHaveRun: false });
    expect(JSON.stringify(error).length).toBeLessThan(2_000);
    await expect(subscribe(registry, id as never, {}).next()).rejects.toMatchObject({ code: "OPERATION_NOT_FOUND" });
  });

  describe.each(modes)("%s", (_, prepare) => {
    test.each(["identity", "deadline", "metadata", "signal"])(
      "a getter for options.%s that throws results in one CallError, and the handler does not start",
      async (key) => {
        const handler = vi.fn(async (_: unknown, context: OperationContext) => context.requestId);
        const registry = registryOf(operation({ handler }));
        const options = { ...prepare(registry) };
        Object.defineProperty(options, key, { get: boom, enumerable: true });

        const error = await failureOf(() => registry.execute("test.echo", {}, options));

        expect(error).toBeInstanceOf(CallError);
        expect(error).toMatchObject({ code: "EXECUTION_ERROR", message: "boom" });
        expect(handler).not.toHaveBeenCalled();
      },
    );

    test("input that throws when it is read results in one CallError, and the handler does not start", async () => {
      const handler = vi.fn();
      const registry = registryOf(operation({ handler, inputSchema: Type.Object({ a: Type.String() }) }));
      const options = prepare(registry);

      const error = await failureOf(() =>
        registry.execute(
          "test.echo",
          {
            get a() {
              return boom();
            },
          },
          options,
        ),
      );

      expect(error).toBeInstanceOf(CallError);
      expect(error).toMatchObject({ code: "EXECUTION_ERROR", mayHaveRun: false });
      expect(handler).not.toHaveBeenCalled();
    });

    test("a validator that throws results in one CallError, and the handler does not start", async () => {
      const handler = vi.fn();
      const jsonSchema = { input: () => ({}), output: () => ({}) };
      const inputSchema = { "~standard": { version: 1, vendor: "x", validate: boom, jsonSchema } };
      const registry = registryOf(operation({ handler, inputSchema: inputSchema as never }));
      const options = prepare(registry);

      const error = await failureOf(() => registry.execute("test.echo", {}, options));

      expect(error).toBeInstanceOf(CallError);
      expect(error).toMatchObject({ code: "EXECUTION_ERROR", message: "boom", mayHaveRun: false });
      expect(handler).not.toHaveBeenCalled();
    });
  });

  test.each([null, {}, { aborted: false }, "signal", 5])(
    "an invalid signal is refused each time: %j",
    async (signal) => {
      const handler = vi.fn();
      const registry = registryOf(operation({ handler }));

      for (let round = 0; round < 2; round++) {
        const error = await failureOf(() => registry.execute("test.echo", {}, { signal: signal as never }));
        expect(error).toMatchObject({ code: "VALIDATION_ERROR", mayHaveRun: false });
      }
      expect(handler).not.toHaveBeenCalled();
    },
  );

  test.each([Number.NaN, "soon", 5n, null, {}, new Date()])("an invalid deadline is refused: %s", async (deadline) => {
    const handler = vi.fn();
    const registry = registryOf(operation({ handler }));

    const error = await failureOf(() => registry.execute("test.echo", {}, { deadline: deadline as never }));

    expect(error).toMatchObject({ code: "VALIDATION_ERROR", mayHaveRun: false });
    expect(handler).not.toHaveBeenCalled();
  });

  test.each([Number.NEGATIVE_INFINITY, -1, 0, Number.MIN_VALUE])(
    "a deadline in the distant past does not start the handler: %s",
    async (deadline) => {
      const handler = vi.fn();
      const registry = registryOf(operation({ handler }));

      const error = await failureOf(() => registry.execute("test.echo", {}, { deadline }));

      expect(error).toMatchObject({ code: expect.stringMatching(/^(TIMEOUT|VALIDATION_ERROR)$/), mayHaveRun: false });
      expect(handler).not.toHaveBeenCalled();
    },
  );

  test.each([Number.POSITIVE_INFINITY, Number.MAX_VALUE, Number.MAX_SAFE_INTEGER, Date.now() + 2 ** 31])(
    "a deadline in the distant future does not fire: %s",
    async (deadline) => {
      const registry = registryOf(operation({ handler: nextTurn }));

      expect((await registry.execute("test.echo", {}, { deadline })).data).toBeUndefined();
    },
  );

  test("a progress listener that throws or rejects does not affect the handler", async () => {
    const registry = registryOf(
      operation({
        handler: async (_: unknown, context: OperationContext) => {
          context.progress({ progress: 1 });
          return "done";
        },
      }),
    );

    expect((await registry.execute("test.echo", {}, { onProgress: boom })).data).toBe("done");
    expect((await registry.execute("test.echo", {}, { onProgress: async () => boom() })).data).toBe("done");
  });
});

describe("hostile handlers", () => {
  class Strange extends Promise<unknown> {}

  describe.each(modes)("%s", (_, prepare) => {
    async function run(handler: IOperationDefinition["handler"], overrides: Partial<IOperationDefinition> = {}) {
      const registry = registryOf(operation({ handler, ...overrides }));
      const options = prepare(registry);
      return failureOf(() => registry.execute("test.echo", {}, options));
    }

    test("a promise of a subclass results in a native promise", async () => {
      expect(await run(() => Strange.resolve("strange") as never)).toMatchObject({ answered: { data: "strange" } });
      expect(await run(() => Strange.reject(new Error("no")) as never)).toMatchObject({
        code: "EXECUTION_ERROR",
        mayHaveRun: true,
      });
    });

    test("a subclass whose then throws fails with mayHaveRun", async () => {
      class Broken extends Promise<unknown> {}
      Object.defineProperty(Broken.prototype, "then", { value: boom });

      expect(await run(() => new Broken(() => {}) as never)).toMatchObject({
        code: "EXECUTION_ERROR",
        message: "boom",
        mayHaveRun: true,
      });
    });

    test("a thenable that resolves twice and then throws settles once", async () => {
      const thenable = {
        then(resolve: (value: unknown) => void, reject: (error: unknown) => void) {
          resolve("first");
          resolve("second");
          reject(new Error("third"));
          boom();
        },
      };

      expect(await run(() => thenable as never)).toMatchObject({ answered: { data: "first" } });
    });

    test.each([null, undefined, 0, "text", Symbol("x"), () => {}, Object.create(null), new Proxy({}, { get: boom })])(
      "every thrown value becomes one CallError: %#",
      async (thrown) => {
        const sync = await run(() => {
          throw thrown;
        });
        const asynchronous = await run(async () => {
          throw thrown;
        });

        expect(sync).toMatchObject({ code: "UNKNOWN_ERROR", mayHaveRun: true });
        expect(asynchronous).toMatchObject({ code: "UNKNOWN_ERROR", mayHaveRun: true });
      },
    );

    test.each(["cast", "check", "strict"] as const)(
      "a result that throws when it is read fails with a CallError under %s",
      async (outputPolicy) => {
        const outputSchema = Type.Object({ a: Type.Object({ b: Type.String() }) });
        const hostile = { a: new Proxy({}, { get: boom, ownKeys: boom, has: boom, getOwnPropertyDescriptor: boom }) };

        for (const handler of [async () => hostile, () => hostile]) {
          const error = await run(handler, { outputSchema, outputPolicy });
          expect(error).toBeInstanceOf(CallError);
          expect(error).toMatchObject({ mayHaveRun: true });
        }
      },
    );

    test("details of a declared error that throw when they are read do not hide the error", async () => {
      const errorSchemas = [{ code: "FULL", schema: Type.Object({ max: Type.Number() }) }];
      const thrown = new CallError("FULL", "full", {
        get max() {
          return boom();
        },
      });

      const errors = [
        await run(
          () => {
            throw thrown;
          },
          { errorSchemas },
        ),
        await run(
          async () => {
            throw thrown;
          },
          { errorSchemas },
        ),
      ];

      expect(errors.map((error) => error === thrown)).toEqual([true, true]);
    });
  });

  test("progress after the end of the call is dropped", async () => {
    let late: OperationContext | undefined;
    const registry = registryOf(
      operation({
        handler: async (_: unknown, context: OperationContext) => {
          await null;
          late = context;
        },
      }),
    );
    const onProgress = vi.fn();
    const kinds: string[] = [];
    registry.on("call", ({ kind }) => kinds.push(kind));

    await registry.execute("test.echo", {}, { onProgress });
    late!.progress({ progress: 1 });
    await nextTurn();

    expect(onProgress).not.toHaveBeenCalled();
    expect(kinds).toEqual(["started", "succeeded"]);
  });

  test("progress after the end of the call is dropped, also without a listener", async () => {
    let late: OperationContext | undefined;
    const registry = registryOf(
      operation({
        handler: async (_: unknown, context: OperationContext) => {
          late = context;
        },
      }),
    );
    const onProgress = vi.fn();

    await registry.execute("test.echo", {}, { onProgress });
    late!.progress({ progress: 1 });

    expect(onProgress).not.toHaveBeenCalled();
  });
});

describe("hostile listeners and middleware", () => {
  test("a listener that rejects does not affect calls", async () => {
    const registry = registryOf(operation());
    registry.on("call", (async () => boom()) as never);
    registry.on("change", (async () => boom()) as never);

    registry.register(operation({ name: "more" }));

    expect((await registry.execute("test.echo", 1)).data).toBe(1);
  });

  test("listeners can be added and removed during an event", () => {
    const registry = new OperationRegistry();
    const heard: string[] = [];
    const stop = registry.on("change", ({ operationId }) => {
      heard.push(`first ${operationId}`);
      stop();
      stop();
      registry.on("change", (event) => heard.push(`late ${event.operationId}`));
    });
    registry.on("change", ({ operationId }) => {
      heard.push(`second ${operationId}`);
      if (!registry.has("test.b")) registry.register(operation({ name: "b" }));
    });

    registry.register(operation({ name: "a" }));

    expect(heard).toEqual(["first test.a", "second test.a", "second test.b", "late test.b"]);
  });

  test("a listener can end the subscription during a yielded event", async () => {
    const registry = registryOf(
      subscription(async function* () {
        yield 1;
        yield 2;
      }),
    );
    const iterator = subscribe(registry, "test.ticks", {});
    registry.on("call", ({ kind }) => {
      if (kind === "yielded") void iterator.return?.();
    });

    const values = await Promise.all([iterator.next(), iterator.next()]);

    expect(values.map(({ done }) => done)).toEqual([false, true]);
  });

  test("next() after the call has ended does not start the handler", async () => {
    const handler = vi.fn();
    const registry = registryOf(operation({ handler }));
    let late: (() => Promise<unknown>) | undefined;
    registry.use((_, next) => {
      late = next;
      return "cached";
    });

    expect((await registry.execute("test.echo", {})).data).toBe("cached");

    await expect(late!()).rejects.toMatchObject({ code: "EXECUTION_ERROR" });
    expect(handler).not.toHaveBeenCalled();
  });

  test("next() after an abort does not start the handler", async () => {
    const handler = vi.fn();
    const gate = deferred();
    const outcome = deferred<unknown>();
    const controller = new AbortController();
    const registry = registryOf(operation({ handler }));
    registry.use(async (_, next) => {
      await gate.promise;
      const result = next();
      outcome.resolve(result.catch((error: unknown) => error));
      return result;
    });

    const call = registry.execute("test.echo", {}, { signal: controller.signal });
    await nextTurn();
    controller.abort();

    await expect(call).rejects.toMatchObject({ code: "ABORTED", mayHaveRun: false });
    gate.resolve();
    expect(await outcome.promise).toMatchObject({ code: "ABORTED" });
    expect(handler).not.toHaveBeenCalled();
  });

  test("next() twice runs the handler twice and returns one result", async () => {
    const handler = vi.fn(async () => handler.mock.calls.length);
    const registry = registryOf(operation({ handler }));
    registry.use(async (_, next) => [await next(), await next()]);

    expect((await registry.execute("test.echo", {})).data).toEqual([1, 2]);
  });
});

test("handlers may register, replace and remove operations, including their own", async () => {
  const registry: OperationRegistry = registryOf(
    operation({
      name: "self",
      handler: async (_: unknown, context: OperationContext) => {
        registry.unregister("test.self");
        registry.register(operation({ name: "self", handler: async () => "second" }));
        return (await context.env["test"]!["self"]!({})).data;
      },
    }),
  );

  expect((await registry.execute("test.self", {})).data).toBe("second");
  expect((await buildEnv({ registry, context: {} })["test"]!["self"]!({})).data).toBe("second");
});
