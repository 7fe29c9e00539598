import { Type } from "typebox";
import { describe, expect, test, vi } from "vitest";
import type { OperationSource, SourceChange, SourceReport } from "../from/source.ts";
import type { AccessControl, IOperationDefinition } from "../operation/index.ts";
import { OperationRegistry } from "./index.ts";
import { operation } from "./testing.ts";

type Part = Partial<IOperationDefinition>;

/** A source with these operations, whose changes the test emits. */
function createSource(operations: Part[], part: Partial<OperationSource> = {}) {
  let listener: ((change: SourceChange) => void) | undefined;
  const source: OperationSource = {
    name: "shop",
    load: async () => operations.map(define),
    onChange(next) {
      listener = next;
      return () => {
        listener = undefined;
      };
    },
    async close() {},
    ...part,
  };
  const change = (changes: Partial<SourceChange>) => listener?.({ added: [], changed: [], removed: [], ...changes });
  return { source, change };
}

function define(part: Part): IOperationDefinition {
  return operation({ namespace: "shop", outputSchema: Type.Unknown(), handler: () => part.name, ...part });
}

function idsOf(registry: OperationRegistry): string[] {
  return registry.list().map(({ namespace, name }) => `${namespace}.${name}`);
}

describe("include and exclude", () => {
  const operations = [
    { name: "items/list", tags: ["read"] },
    { name: "items/add", tags: ["write"] },
    { name: "orders/list", tags: ["read", "beta"] },
    { name: "stock" },
  ];

  test.each([
    [{ include: ["shop.items/*"] }, ["shop.items/list", "shop.items/add"]],
    [{ include: ["tag:read"] }, ["shop.items/list", "shop.orders/list"]],
    [{ exclude: ["tag:b*", "*.stock"] }, ["shop.items/list", "shop.items/add"]],
    [{ include: ["shop.*list"], exclude: ["tag:beta"] }, ["shop.items/list"]],
    [{ include: ["store.stock"], namespace: "store" }, ["store.stock"]],
    [{ include: ["shop.amount"], rename: { "shop.stock": "amount" } }, ["shop.amount"]],
    [
      { include: ["items/*", "amount"], rename: { "shop.stock": "amount" } },
      ["shop.items/list", "shop.items/add", "shop.amount"],
    ],
    [{ exclude: ["*list", "stock"] }, ["shop.items/add"]],
  ])("%j selects %j", async (options, expected) => {
    const registry = new OperationRegistry();

    await registry.follow(createSource(operations).source, { onReport: () => {}, ...options });

    expect(idsOf(registry)).toEqual(expected);
  });

  test("also apply to changes", async () => {
    const registry = new OperationRegistry();
    const { source, change } = createSource(operations);
    await registry.follow(source, { include: ["tag:read"] });

    change({
      added: [define({ name: "new", tags: ["read"] }), define({ name: "other" })],
      changed: [define({ name: "items/list", tags: [] }), define({ name: "stock", tags: ["read"] })],
    });

    expect(idsOf(registry)).toEqual(["shop.orders/list", "shop.stock", "shop.new"]);
  });

  test.each([undefined, () => false])("a pattern that matches nothing is reported", async (mayHave) => {
    const reports: SourceReport[] = [];
    const part = mayHave && { traits: { mayHave } }; // more peers may announce operations later

    await new OperationRegistry().follow(createSource([{ name: "a" }, { name: "b", tags: ["x"] }], part).source, {
      include: ["shpo.*", "shop.*", "a"],
      exclude: ["tag:y", "tag:x", "c"],
      onReport: (report) => reports.push(report),
    });

    const hint = 'Patterns match ids in the registry, names without namespace, and "tag:" with a tag.';
    const warn = (where: string, pattern: string) => ({
      where,
      reason: `No operation of the source matches "${pattern}". ${hint}`,
    });
    expect(reports).toEqual([
      {
        imported: ["shop.a"],
        skipped: [{ where: "shop.b", reason: "The configuration excludes it." }],
        warnings: mayHave ? [] : [warn("include", "shpo.*"), warn("exclude", "tag:y"), warn("exclude", "c")],
      },
    ]);
  });
});

describe("rename and namespace", () => {
  test.each([undefined, () => false])(
    "a name for an operation that the source does not have is reported",
    async (mayHave) => {
      const reports: SourceReport[] = [];
      const part = mayHave && { traits: { mayHave } }; // more peers may announce operations later

      await new OperationRegistry().follow(createSource([{ name: "list" }, { name: "add" }], part).source, {
        rename: { add: "create", "shop.list": "all" },
        onReport: (report) => reports.push(report),
      });

      const reason = 'The source has no operation "add". Write the id in the source, such as "shop.list".';
      expect(reports.map(({ warnings }) => warnings)).toEqual([mayHave ? [] : [{ where: "rename", reason }]]);
    },
  );

  test("a name that is not a string is reported", async () => {
    const reports: SourceReport[] = [];

    await new OperationRegistry().follow(createSource([{ name: "list" }]).source, {
      rename: { "shop.list": 3 as never },
      onReport: (report) => reports.push(report),
    });

    expect(reports[0]?.skipped).toEqual([
      { where: "shop.list", reason: '"rename" must set a string for "shop.list", not 3.' },
    ]);
  });

  test("change the id, not the handler", async () => {
    const registry = new OperationRegistry();
    await registry.follow(createSource([{ name: "a" }, { name: "b" }]).source, {
      namespace: "store",
      rename: (id) => (id === "shop.a" ? "first" : undefined),
    });

    const data = await Promise.all(idsOf(registry).map(async (id) => [id, (await registry.execute(id, {})).data]));

    expect(data).toEqual([
      ["store.first", "a"],
      ["store.b", "b"],
    ]);
  });

  test("apply to changes and removals of the source", async () => {
    const registry = new OperationRegistry();
    const { source, change } = createSource([{ name: "a" }, { name: "b" }]);
    await registry.follow(source, { rename: { "shop.a": "first" } });

    change({ changed: [define({ name: "a", version: "2.0.0" })], removed: ["shop.b"] });
    const version = registry.getSpec("shop.first")?.version;
    change({ removed: ["shop.a"] });

    expect([version, idsOf(registry)]).toEqual(["2.0.0", []]);
  });

  test("lazy schemas are not read", async () => {
    const inputSchema = vi.fn(() => Type.Object({}));
    const lazy = Object.defineProperty(define({ name: "lazy" }), "inputSchema", { get: inputSchema, enumerable: true });
    const registry = new OperationRegistry();

    await registry.follow(createSource([], { load: async () => [lazy] }).source, { namespace: "store" });

    expect([idsOf(registry), inputSchema.mock.calls.length]).toEqual([["store.lazy"], 0]);
  });

  test("of two operations with the same id, the first is used and the second is reported", async () => {
    const reports: SourceReport[] = [];
    const registry = new OperationRegistry();

    await registry.follow(createSource([{ name: "a" }, { namespace: "depot", name: "a" }]).source, {
      namespace: "store",
      onReport: (report) => reports.push(report),
    });

    expect((await registry.execute("store.a", {})).data).toBe("a");
    expect(reports).toEqual([
      {
        imported: ["store.a"],
        skipped: [{ where: "depot.a", reason: '"shop.a" has the same id "store.a" in the registry.' }],
        warnings: [],
      },
    ]);
  });

  test.each([{ rename: "first" }, { namespace: "a.b" }, { include: "shop.*" }])(
    "an invalid option %j is refused before anything is loaded",
    async (options) => {
      const load = vi.fn(async () => []);
      const { source } = createSource([], { load });

      await expect(new OperationRegistry().follow(source, options as object)).rejects.toThrow(TypeError);
      expect(load).not.toHaveBeenCalled();
    },
  );
});

test("an operation whose id is taken by another one of the source is registered when that one is removed", async () => {
  const registry = new OperationRegistry();
  const { source, change } = createSource([{ name: "a" }, { name: "b" }, { name: "c" }]);
  await registry.follow(source, { rename: { "shop.a": "c", "shop.b": "c" }, onReport: () => {} });
  const called = async () => (await registry.execute("shop.c", {})).data;

  const first = await called();
  change({ removed: ["shop.a", "shop.b"] });
  const second = await called();
  change({ removed: ["shop.c"] });

  expect([first, second, idsOf(registry)]).toEqual(["a", "c", []]);
});

describe("accessControl", () => {
  const own: AccessControl = { requiredScopes: ["shop"], customAuth: "isOpen" };

  async function follow(rule: AccessControl, accessControl: AccessControl, replacesAccess: boolean) {
    const reports: SourceReport[] = [];
    const registry = new OperationRegistry();
    const { source } = createSource([{ name: "a", accessControl: rule }], { traits: { replacesAccess } });
    await registry.follow(source, { accessControl, onReport: (report) => reports.push(report) });
    return { rule: registry.getSpec("shop.a")?.accessControl, reports };
  }

  test("replaces the rule of a source with replacesAccess", async () => {
    const { rule } = await follow(own, { requiredScopes: ["mine"] }, true);

    expect(rule).toEqual({ requiredScopes: ["mine"] });
  });

  test("is added to the rule of other sources: callers must satisfy both", async () => {
    const { rule } = await follow(own, { requiredScopes: ["mine", "shop"], requiredScopesAny: ["x"] }, false);

    expect(rule).toEqual({ requiredScopes: ["shop", "mine"], requiredScopesAny: ["x"], customAuth: "isOpen" });
  });

  test("a part that is undefined does not remove that part of the rule", async () => {
    const strict = { ...own, requiredScopesAny: ["x"], resourceType: "shop", resourceAction: "buy" };
    const empty = { requiredScopesAny: undefined, resourceType: undefined, customAuth: undefined };

    const { rule } = await follow(strict, { ...empty, requiredScopes: ["mine"] } as object as AccessControl, false);

    expect(rule).toEqual({ ...strict, requiredScopes: ["shop", "mine"] });
  });

  test("is read once: changing the object later does not change the rule of later operations", async () => {
    const accessControl = { requiredScopes: ["mine"] };
    const { source, change } = createSource([], { traits: { replacesAccess: true } });
    const registry = new OperationRegistry();
    await registry.follow(source, { accessControl });

    accessControl.requiredScopes.pop();
    change({ added: [define({ name: "a" })] });

    expect(registry.getSpec("shop.a")?.accessControl).toEqual({ requiredScopes: ["mine"] });
  });

  test.each([
    [null, "/accessControl must be an object; use { requiredScopes: [] } to allow every caller"],
    [{ requiredScopes: "admin" }, "/accessControl/requiredScopes must be a list of strings; use [] to require none"],
    [
      { requiredScopesAny: ["a"] },
      "/accessControl/requiredScopes is missing and must be a list of strings; use [] to require none",
    ],
  ])("an invalid rule %j is refused before anything is loaded", async (accessControl, problem) => {
    const load = vi.fn(async () => []);
    const { source } = createSource([], { load });

    const following = new OperationRegistry().follow(source, { accessControl } as object);

    await expect(following).rejects.toMatchObject({
      code: "VALIDATION_ERROR",
      message: `Invalid options: ${problem}.`,
    });
    expect(load).not.toHaveBeenCalled();
  });

  test.each<[AccessControl, AccessControl, string]>([
    [own, { requiredScopes: [], customAuth: "isMine" }, "customAuth"],
    [
      { requiredScopes: [], requiredScopesAny: ["a"] },
      { requiredScopes: [], requiredScopesAny: ["b"] },
      "requiredScopesAny",
    ],
    [
      { requiredScopes: [], resourceType: "shop", resourceAction: "buy" },
      { requiredScopes: [], resourceType: "shop", resourceAction: "buy", resourceId: "/id" },
      "resourceType",
    ],
  ])("an operation whose rule %j cannot be combined with %j is skipped and reported", async (rule, added, part) => {
    const { rule: combined, reports } = await follow(rule, added, false);

    const reason = `Its access rule cannot be combined with "accessControl" of follow(): both have "${part}".`;
    expect(combined).toBeUndefined();
    expect(reports[0]?.skipped).toEqual([{ where: "shop.a", reason }]);
  });
});

describe("the order of operations", () => {
  test("is that of the source; changed ones keep their position, and new ones are last", async () => {
    const registry = new OperationRegistry();
    const { source, change } = createSource([{ name: "c" }, { name: "a" }, { name: "b" }]);
    await registry.follow(source);
    registry.register(define({ name: "local" }));
    const first = idsOf(registry);

    change({
      added: [define({ name: "z" }), define({ name: "0" })],
      changed: [define({ name: "b", version: "2.0.0" }), define({ name: "c", version: "2.0.0" })],
      removed: ["shop.a"],
    });

    expect(first).toEqual(["shop.c", "shop.a", "shop.b", "shop.local"]);
    expect(idsOf(registry)).toEqual(["shop.c", "shop.b", "shop.local", "shop.z", "shop.0"]);
  });
});

describe("onReport", () => {
  test("receives the operations that the source skipped, after loading and after changes", async () => {
    let onReport: ((report: SourceReport) => void) | undefined;
    const { source, change } = createSource([{ name: "a" }], {
      async load(options) {
        onReport = options?.onReport;
        onReport?.({ imported: ["shop.a"], skipped: [{ where: "tool b", reason: "no schema" }], warnings: [] });
        return [define({ name: "a" })];
      },
    });
    const reports: SourceReport[] = [];
    const registry = new OperationRegistry();

    await registry.follow(source, { namespace: "store", onReport: (report) => reports.push(report) });
    change({ added: [define({ name: "c" })] });
    onReport?.({ imported: [], skipped: [], warnings: [{ where: "tool d", reason: "no description" }] });
    await Promise.resolve();

    expect(reports).toEqual([
      { imported: ["store.a"], skipped: [{ where: "tool b", reason: "no schema" }], warnings: [] },
      { imported: ["store.c"], skipped: [], warnings: [{ where: "tool d", reason: "no description" }] },
    ]);
  });

  test("receives one report for loading and the changes during loading", async () => {
    const { source, change } = createSource([{ name: "a" }]);
    const { load } = source;
    source.load = async (options) => {
      change({ added: [define({ name: "early" })] });
      return load(options);
    };
    const reports: SourceReport[] = [];

    await new OperationRegistry().follow(source, { onReport: (report) => reports.push(report) });
    await Promise.resolve();

    expect(reports).toEqual([{ imported: ["shop.a", "shop.early"], skipped: [], warnings: [] }]);
  });

  test("that throws does not stop following", async () => {
    const registry = new OperationRegistry();

    await registry.follow(createSource([{ name: "a" }]).source, {
      onReport() {
        throw new Error("full disk");
      },
    });

    expect(idsOf(registry)).toEqual(["shop.a"]);
  });
});

describe("waitFor", () => {
  test("resolves immediately for a registered operation, and when one is registered", async () => {
    const registry = new OperationRegistry();
    registry.register(define({ name: "here" }));
    const waiting = registry.waitFor("shop.later", { timeout: Number.POSITIVE_INFINITY });
    registry.registerSpec(define({ name: "later" }));
    const order: string[] = [];
    const observed = waiting.then(() => order.push("there"));

    await registry.waitFor("shop.here", { timeout: 1 });
    order.push("before");
    registry.registerHandler("shop.later", () => 1);
    await observed;

    expect(order).toEqual(["before", "there"]);
  });

  test("fails with TIMEOUT and the nearest id", async () => {
    const registry = new OperationRegistry();
    registry.register(define({ name: "create" }));

    await expect(registry.waitFor("shop.crate", { timeout: 5 })).rejects.toMatchObject({
      code: "TIMEOUT",
      message: 'No operation "shop.crate" was registered within 5 ms. Did you mean "shop.create"?',
      details: { operationId: "shop.crate", nearest: "shop.create" },
      mayHaveRun: false,
    });
    await expect(new OperationRegistry().waitFor("a.b", { timeout: 5 })).rejects.toMatchObject({
      message: 'No operation "a.b" was registered within 5 ms. Check that its source is followed and running.',
    });
  });

  test("fails when its signal fires or the registry is closed", async () => {
    const registry = new OperationRegistry();
    const controller = new AbortController();
    const aborted = registry.waitFor("a.b", { signal: controller.signal }).catch(({ code }) => code);
    const closed = registry.waitFor("a.b").catch(({ code }) => code);

    controller.abort();
    await registry.close();
    const late = registry.waitFor("a.b").catch(({ code }) => code);

    expect(await Promise.all([aborted, closed, late])).toEqual(["ABORTED", "UNAVAILABLE", "UNAVAILABLE"]);
  });

  test("refuses a timeout that is not a duration", async () => {
    await expect(new OperationRegistry().waitFor("a.b", { timeout: -1 })).rejects.toMatchObject({
      code: "VALIDATION_ERROR",
    });
  });
});
