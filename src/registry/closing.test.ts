import { describe, expect, test, vi } from "vitest";
import type { OperationSource, SourceChange } from "../from/source.ts";
import type { IOperationDefinition } from "../operation/index.ts";
import { OperationRegistry } from "./index.ts";
import { deferred, operation } from "./testing.ts";

/** A source with the given operations, whose changes a test can emit and whose closing it can observe. */
function sourceOf(load: () => Promise<IOperationDefinition[]>, close: () => Promise<void> = async () => {}) {
  let listener: ((change: SourceChange) => void) | undefined;
  const source: OperationSource = {
    name: "test",
    load,
    onChange(added) {
      listener = added;
      return () => {};
    },
    close: vi.fn(close),
  };
  const tell = (change: Partial<SourceChange>) => listener!({ added: [], changed: [], removed: [], ...change });
  return { source, tell };
}

describe("closing a registry", () => {
  test("while a source is loading closes that source too", async () => {
    const loading = deferred<IOperationDefinition[]>();
    const { source } = sourceOf(() => loading.promise);
    const registry = new OperationRegistry();
    const following = registry.follow(source);

    const closing = registry.close();
    loading.resolve([operation()]);

    await expect(following).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await closing;
    expect(source.close).toHaveBeenCalledTimes(1);
    expect(registry.list()).toEqual([]);
  });

  test("while a source is loading stops the loading", async () => {
    const { source } = sourceOf(async () => []);
    source.load = (options) =>
      new Promise((_, reject) => options!.signal!.addEventListener("abort", () => reject(options!.signal!.reason)));
    const registry = new OperationRegistry();
    const following = registry.follow(source);

    await Promise.all([registry.close(), expect(following).rejects.toMatchObject({ code: "UNAVAILABLE" })]);

    expect(source.close).toHaveBeenCalledTimes(1);
  });

  test("refuses to follow another source, without loading it", async () => {
    const load = vi.fn(async () => [operation()]);
    const registry = new OperationRegistry();
    await registry.close();

    await expect(registry.follow(sourceOf(load).source)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(load).not.toHaveBeenCalled();
  });

  test("twice closes each source once, and both calls wait for it", async () => {
    const closed = deferred();
    const { source } = sourceOf(
      async () => [],
      () => closed.promise,
    );
    const registry = new OperationRegistry();
    await registry.follow(source);
    const order: string[] = [];

    const both = Promise.all([
      registry.close().then(() => order.push("first")),
      registry.close().then(() => order.push("second")),
    ]);
    await new Promise((resolve) => setImmediate(resolve));
    order.push("closed");
    closed.resolve();
    await both;

    expect(order[0]).toBe("closed");
    expect(source.close).toHaveBeenCalledTimes(1);
  });

  test("waits for all sources when one fails, and rejects with its error", async () => {
    const slow = deferred();
    const failing = sourceOf(
      async () => [],
      async () => {
        throw new Error("stuck");
      },
    );
    const closedLate = vi.fn();
    const late = sourceOf(
      async () => [],
      () => slow.promise.then(closedLate),
    );
    const registry = new OperationRegistry();
    await registry.follow(failing.source);
    await registry.follow(late.source);

    const closing = registry.close();
    setImmediate(slow.resolve);

    await expect(closing).rejects.toThrow("stuck");
    expect(closedLate).toHaveBeenCalledTimes(1);
  });
});

describe("following a source", () => {
  test("a value that is not an operation does not affect the others", async () => {
    const registry = new OperationRegistry();

    await registry.follow(sourceOf(async () => [null as never, 5 as never, operation()]).source);

    expect(registry.list().map(({ name }) => name)).toEqual(["echo"]);
  });

  test("an operation that the application registered instead is neither replaced nor removed", async () => {
    const registry = new OperationRegistry();
    const { source, tell } = sourceOf(async () => [operation()]);
    const following = await registry.follow(source);
    const handler = async () => "mine";
    registry.replace(operation({ handler }));

    tell({ changed: [operation({ handler: async () => "theirs" })] });
    expect(registry.getHandler("test.echo")).toBe(handler);
    tell({ removed: ["test.echo"] });
    await following.close();

    expect(registry.getHandler("test.echo")).toBe(handler);
  });

  test("ends running subscriptions of its operations when it is closed, and lets calls continue", async () => {
    const registry = new OperationRegistry();
    const [release, ended] = [deferred(), deferred()];
    async function* ticks() {
      try {
        yield 1;
        await new Promise(() => {});
      } finally {
        ended.resolve();
      }
    }
    const echo = operation({ handler: () => release.promise.then(() => "done") });
    const { source } = sourceOf(async () => [echo, operation({ name: "ticks", type: "subscription", handler: ticks })]);
    registry.register(operation({ name: "own", type: "subscription", handler: ticks }));
    const following = await registry.follow(source);
    const [theirs, own] = ["test.ticks", "test.own"].map((id) => registry.subscribe(id));
    await Promise.all([theirs!.next(), own!.next()]);
    const call = registry.execute("test.echo");

    await following.close();
    release.resolve();

    await expect(theirs!.next()).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: true });
    await ended.promise;
    expect(await theirs!.next()).toEqual({ done: true, value: undefined });
    expect((await call).data).toBe("done");
    expect(await Promise.race([own!.next(), new Promise((resolve) => setImmediate(resolve, "open"))])).toBe("open");
    await own!.return?.();
  });

  test("a change after the end is ignored", async () => {
    const registry = new OperationRegistry();
    const { source, tell } = sourceOf(async () => []);
    const following = await registry.follow(source);
    await following.close();

    tell({ added: [operation()] });

    expect(registry.list()).toEqual([]);
  });

  test("changes while loading are applied in order, also two changes of one operation", async () => {
    const registry = new OperationRegistry();
    const { source, tell } = sourceOf(async () => {
      tell({ removed: ["test.echo"] });
      tell({ added: [operation({ description: "newer" })] });
      return [operation()];
    });

    await registry.follow(source);

    expect(registry.list().map(({ description }) => description)).toEqual(["newer"]);
  });
});
