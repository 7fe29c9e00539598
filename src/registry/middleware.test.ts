import { Type } from "typebox";
import { describe, expect, test, vi } from "vitest";
import { CallError, type OperationContext } from "../operation/index.ts";
import { OperationRegistry, subscribe } from "./index.ts";
import { operation, subscription } from "./testing.ts";
import type { OperationSelection } from "./types.ts";

describe("middleware", () => {
  test("wraps the run step, outermost first, and may change the result", async () => {
    const order: string[] = [];
    const registry = new OperationRegistry();
    registry.register(operation({ handler: async () => "handler" }));
    registry.use(async ({ operationId, input }, next) => {
      order.push(`first ${operationId} ${JSON.stringify(input)}`);
      return `first(${await next()})`;
    });
    const stop = registry.use(async (_call, next) => {
      order.push("second");
      return `second(${await next()})`;
    });

    expect((await registry.execute("test.echo", { a: 1 })).data).toBe("first(second(handler))");
    expect(order).toEqual(['first test.echo {"a":1}', "second"]);
    stop();
    expect((await registry.execute("test.echo", {})).data).toBe("first(handler)");
  });

  test("does not run for calls that were denied or had invalid input", async () => {
    const registry = new OperationRegistry();
    const seen = vi.fn((_call: unknown, next: () => Promise<unknown>) => next());
    registry.use(seen);
    registry.register(operation({ inputSchema: Type.String() }));

    await registry.execute("test.echo", 1).catch(() => {});

    expect(seen).not.toHaveBeenCalled();
  });

  test("receives the same error as the caller, also for a nested call that did not run", async () => {
    const registry = new OperationRegistry();
    const seen: unknown[] = [];
    registry.registerAll([
      operation({ name: "outer", handler: (_: unknown, { env }: OperationContext) => env["test"]!["inner"]!({}) }),
      operation({
        name: "inner",
        handler: async () => {
          throw new CallError("UNAVAILABLE", "Not now", undefined, { retryable: true, mayHaveRun: false });
        },
      }),
    ]);
    registry.use(async ({ operationId, isNested }, next) => {
      try {
        return await next();
      } catch (error) {
        seen.push([operationId, isNested, (error as CallError).mayHaveRun]);
        throw error;
      }
    });

    const failure = await registry.execute("test.outer", {}).catch((error) => error);

    expect(seen).toEqual([
      ["test.inner", true, false],
      ["test.outer", false, true],
    ]);
    expect(failure).toMatchObject({ code: "UNAVAILABLE", retryable: true, mayHaveRun: true });
  });

  test("may return without the handler, throw, and wrap subscriptions", async () => {
    const handler = vi.fn();
    const registry = new OperationRegistry();
    registry.registerAll([
      operation({ name: "cached", handler }),
      operation({ name: "refused", handler }),
      subscription(async function* () {
        yield 1;
      }),
    ]);
    registry.use(async ({ operationId }, next) => {
      if (operationId === "test.cached") return "from cache";
      if (operationId === "test.refused") throw new CallError("CLOSED", "Closed today");
      const source = (await next()) as AsyncIterable<number>;
      return (async function* () {
        for await (const value of source) yield value * 10;
      })();
    });

    expect((await registry.execute("test.cached", {})).data).toBe("from cache");
    await expect(registry.execute("test.refused", {})).rejects.toMatchObject({ code: "CLOSED" });
    expect((await subscribe(registry, "test.ticks", {}).next()).value.data).toBe(10);
    expect(handler).not.toHaveBeenCalled();
  });

  describe("with a selection", () => {
    const all = ["a.read", "a.write", "b.read", "b.write", "b.ticks"];

    async function wrappedBy(selection: OperationSelection): Promise<string[]> {
      const registry = new OperationRegistry();
      const seen: string[] = [];
      registry.registerAll([
        operation({ namespace: "a", name: "read", tags: ["reads"] }),
        operation({ namespace: "a", name: "write", tags: ["writes", "admin"] }),
        operation({ namespace: "b", name: "read", tags: ["reads"] }),
        operation({ namespace: "b", name: "write" }),
        subscription(async function* () {}, { namespace: "b" }),
      ]);
      registry.use(({ operationId }, next) => {
        seen.push(operationId);
        return next();
      }, selection);
      for (const id of all.slice(0, 4)) await registry.execute(id, {});
      await subscribe(registry, "b.ticks", {}).next();
      return seen;
    }

    test.each<[OperationSelection, string[]]>([
      [{}, all],
      [{ include: undefined, exclude: undefined }, all],
      [{ include: [] }, []],
      [{ exclude: [] }, all],
      [{ include: ["b.*"] }, ["b.read", "b.write", "b.ticks"]],
      [{ include: ["a.read", "*.ticks"] }, ["a.read", "b.ticks"]],
      [{ include: ["tag:reads"] }, ["a.read", "b.read"]],
      [{ include: ["tag:*"] }, ["a.read", "a.write", "b.read"]],
      [{ exclude: ["a.*", "tag:reads"] }, ["b.write", "b.ticks"]],
      [{ include: ["a.*"], exclude: ["tag:admin"] }, ["a.read"]],
      [{ include: ["reads", "a"] }, []],
    ])("%j wraps %j", async (selection, expected) => {
      expect(await wrappedBy(selection)).toEqual(expected);
    });

    test("applies to operations that were called before and to those that are registered later", async () => {
      const registry = new OperationRegistry();
      registry.register(operation({ name: "early", tags: ["x"] }));
      await registry.execute("test.early", 1);

      const remove = registry.use(() => "wrapped", { include: ["tag:x"] });
      registry.register(operation({ name: "late", tags: ["x"] }));
      registry.register(operation({ name: "other" }));

      expect((await registry.execute("test.early", 1)).data).toBe("wrapped");
      expect((await registry.execute("test.late", 1)).data).toBe("wrapped");
      expect((await registry.execute("test.other", 1)).data).toBe(1);
      registry.replace(operation({ name: "late" }));
      expect((await registry.execute("test.late", 1)).data).toBe(1);
      remove();
      remove();
      expect((await registry.execute("test.early", 1)).data).toBe(1);
    });

    test("keeps the order in which middleware was added", async () => {
      const registry = new OperationRegistry();
      registry.register(operation({ handler: () => "h" }));
      const wrap = (name: string) => async (_call: unknown, next: () => Promise<unknown>) => `${name}(${await next()})`;
      registry.use(wrap("a"), { include: ["test.*"] });
      registry.use(wrap("b"), { exclude: ["test.*"] });
      registry.use(wrap("c"));

      expect((await registry.execute("test.echo", {})).data).toBe("a(c(h))");
    });

    test("refuses patterns that are not an array of strings", () => {
      const registry = new OperationRegistry();
      const pass = (_call: unknown, next: () => Promise<unknown>) => next();

      expect(() => registry.use(pass, { include: "task.*" as never })).toThrow(/"include" must be an array of strings/);
      expect(() => registry.use(pass, { exclude: [1] as never })).toThrow(/"exclude" must be an array of strings/);
    });
  });
});
