import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { type IOperationDefinition, OperationRegistry, type OperationSource, type SourceChange } from "../index.ts";
import { operation } from "./testing.ts";

/** A source of operations `test.<name>` that return the name of the source. */
function source(name: string, ...names: string[]) {
  const answering = (operationName: string, version = "1.0.0") =>
    operation({ name: operationName, version, outputSchema: Type.Unknown(), handler: () => name });
  let listener: ((change: SourceChange) => void) | undefined;
  const followed: OperationSource = {
    name,
    load: async () => names.map((one) => answering(one)),
    onChange(next) {
      listener = next;
      return () => {
        listener = undefined;
      };
    },
    async close() {},
  };
  const change = (part: Partial<SourceChange>) => listener?.({ added: [], changed: [], removed: [], ...part });
  return { followed, change, answering };
}

const local = operation({ name: "a", outputSchema: Type.Unknown(), handler: () => "local" });

async function answer(registry: OperationRegistry): Promise<unknown> {
  return registry.execute("test.a", {}).then(
    ({ data }) => data,
    ({ code }) => code,
  );
}

test("a change is applied even if it removes an operation that the source does not have", async () => {
  const registry = new OperationRegistry();
  const { followed, change, answering } = source("far");
  await registry.follow(followed);

  change({ removed: ["test.z"], added: [answering("a")] });

  expect(await answer(registry)).toBe("far");
});

describe("an operation of the program has priority over that of a source", () => {
  test("when it is registered first, until it is removed", async () => {
    const registry = new OperationRegistry();
    registry.register(local);
    await registry.follow(source("far", "a").followed);

    const before = await answer(registry);
    registry.unregister("test.a");

    expect([before, await answer(registry)]).toEqual(["local", "far"]);
  });

  test.each([
    ["register", (registry: OperationRegistry) => registry.register(local)],
    ["registerAll", (registry: OperationRegistry) => registry.registerAll([local])],
    ["replace", (registry: OperationRegistry) => registry.replace(local)],
  ])("when it is registered later, by %s, until it is removed", async (_name, put) => {
    const registry = new OperationRegistry();
    await registry.follow(source("far", "a").followed);
    const answers = [await answer(registry)];

    put(registry);
    answers.push(await answer(registry));
    expect(() => registry.register(local)).toThrow("is registered already");
    registry.unregister("test.a");
    answers.push(await answer(registry));

    expect(answers).toEqual(["far", "local", "far"]);
  });

  test("after its removal, changes and removals of the source are applied", async () => {
    const registry = new OperationRegistry();
    const { followed, change, answering } = source("far", "a");
    await registry.follow(followed);
    registry.register(local);

    change({ changed: [answering("a", "2.0.0")] });
    const kept = await answer(registry);
    registry.unregister("test.a");
    const version = registry.getSpec("test.a")?.version;
    registry.register(local);
    change({ removed: ["test.a"] });
    registry.unregister("test.a");

    expect([kept, version, registry.has("test.a")]).toEqual(["local", "2.0.0", false]);
  });

  test("operations of a closed source are not registered again", async () => {
    const registry = new OperationRegistry();
    const following = await registry.follow(source("far", "a").followed);
    registry.register(local);

    await following.close();
    const kept = await answer(registry);
    registry.unregister("test.a");

    expect([kept, await answer(registry)]).toEqual(["local", "OPERATION_NOT_FOUND"]);
  });
});

test("an operation of a source that the program removes stays removed until the source changes it", async () => {
  const registry = new OperationRegistry();
  const { followed, change, answering } = source("far", "a");
  await registry.follow(followed);

  registry.unregister("test.a");
  const gone = await answer(registry);
  change({ changed: [answering("a", "2.0.0")] });

  expect([gone, await answer(registry)]).toEqual(["OPERATION_NOT_FOUND", "far"]);
});

test("of two sources the first has priority, and the second is used when the first is closed", async () => {
  const registry = new OperationRegistry();
  const first = await registry.follow(source("first", "a").followed);
  const second = await registry.follow(source("second", "a").followed);
  const answers = [await answer(registry)];

  await first.close();
  answers.push(await answer(registry));
  await second.close();
  answers.push(await answer(registry));

  expect(answers).toEqual(["first", "second", "OPERATION_NOT_FOUND"]);
});

test("a listener can remove an operation that a source adds", async () => {
  const registry = new OperationRegistry();
  registry.on("change", ({ kind, operationId }) => {
    if (kind === "added") registry.unregister(operationId);
  });

  await registry.follow(source("far", "a").followed);

  expect(registry.has("test.a")).toBe(false);
});

test("a spec of the program without a handler comes before the operation of a source, and receives its own", async () => {
  const { handler, ...spec } = local;
  const registry = new OperationRegistry();
  await registry.follow(source("far", "a").followed);
  const answers = [await answer(registry)];

  registry.registerSpec({ ...spec, version: "9.0.0" });
  answers.push(await answer(registry), registry.getSpec("test.a")?.version);
  registry.registerHandler("test.a", handler);
  answers.push(await answer(registry));
  expect(() => registry.registerHandler("test.a", handler)).toThrow("has a handler already");
  registry.unregister("test.a");
  answers.push(await answer(registry));

  expect(answers).toEqual(["far", "OPERATION_NOT_FOUND", "9.0.0", "local", "far"]);
  expect(() => registry.registerHandler("test.a", handler)).toThrow("has a handler already");
});

describe("an operation that waits for its id", () => {
  const other = { outputSchema: Type.Integer() };

  /** Follows a source with the given operation `test.a`, and returns the reasons why it is skipped. */
  async function follow(registry: OperationRegistry, part: Partial<IOperationDefinition>) {
    const reasons: string[] = [];
    const followed = { name: "far", load: async () => [operation({ ...local, ...part })], async close() {} };
    await registry.follow(followed, {
      onReport: ({ skipped }) => reasons.push(...skipped.map(({ reason }) => reason)),
    });
    return reasons;
  }

  const reason = "An operation with the same id and a different schema is already registered.";
  test.each([
    [other, [reason]],
    [{ version: "2.0.0" }, []],
  ])("is reported if it differs: %j", async (part, expected) => {
    const registry = new OperationRegistry();
    registry.register(local);

    expect(await follow(registry, part)).toEqual(expected);
  });

  test.each([
    [other, [reason]],
    [{ version: "2.0.0" }, []],
  ])("is reported if the program registers it later: %j", async (part, expected) => {
    const registry = new OperationRegistry();
    const reasons = await follow(registry, part);

    registry.register(local);
    await Promise.resolve();

    expect(reasons).toEqual(expected);
  });

  test("replaces the active one with one change event, in its position", async () => {
    const registry = new OperationRegistry();
    registry.register(local);
    registry.register(operation({ name: "z" }));
    await registry.follow(source("far", "a").followed);
    const events: unknown[] = [];
    registry.on("change", ({ kind, operationId }) => events.push([kind, operationId]));

    registry.unregister("test.a");

    expect(events).toEqual([["changed", "test.a"]]);
    expect(registry.list().map(({ name }) => name)).toEqual(["a", "z"]);
  });
});
