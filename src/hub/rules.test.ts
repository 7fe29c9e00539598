import { expect, test } from "vitest";
import type { OperationSource, SourceChange } from "../from/source.ts";
import { type AccessControl, defineOperation, type IOperationDefinition, Type } from "../operation/index.ts";
import { coreOf, OperationRegistry } from "../registry/inside.ts";
import type { HubRule, SourceOptions } from "./config.ts";
import { compileRules } from "./rules.ts";

function operation(name: string, init: { type?: "query" | "mutation"; requiredScopes?: string[] } = {}) {
  const { type = "mutation", requiredScopes = [] } = init;
  const schemas = { inputSchema: Type.Object({}), outputSchema: Type.String() };
  const accessControl = { requiredScopes };
  return defineOperation({ namespace: "fs", name, type, ...schemas, accessControl, handler: () => name });
}

/** A source that can change. The trait `replacesAccess` is what distinguishes OpenAPI and MCP from modules and peers. */
function createSource(operations: IOperationDefinition[], replacesAccess = false) {
  const listeners = new Set<(change: SourceChange) => void>();
  const source: OperationSource = {
    name: "test",
    traits: { replacesAccess },
    load: async () => operations,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: async () => {},
  };
  const change = (part: Partial<SourceChange>) => {
    for (const listener of listeners) listener({ added: [], changed: [], removed: [], ...part });
  };
  return { source, change };
}

/** Follows a source and returns a function that returns the access rules of the registered operations by id. */
async function follow({ source }: { source: OperationSource }, rules: readonly HubRule[], options: SourceOptions = {}) {
  const registry = new OperationRegistry({ log: false });
  let restrict = compileRules(rules);
  const following = await coreOf(registry).follow(
    source,
    { accessControl: { requiredScopes: ["files"] }, ...options },
    {
      restrict: (spec, ids) => restrict(spec, ids),
    },
  );
  const setRules = (changed: readonly HubRule[]) => {
    restrict = compileRules(changed);
    following.refresh();
  };
  const access = (): Record<string, AccessControl> =>
    Object.fromEntries(
      registry.getAllSpecs().map(({ namespace, name, accessControl }) => [`${namespace}.${name}`, accessControl]),
    );
  return { registry, access, setRules };
}

test.each([true, false])("operations require the scope of their source (replacesAccess: %s)", async (replaces) => {
  const own = operation("write", { requiredScopes: ["own"] });
  const { access } = await follow(createSource([own], replaces), []);
  expect(access()).toEqual({ "fs.write": { requiredScopes: replaces ? ["files"] : ["own", "files"] } });
});

test.each([true, false])(
  "accessControl is used instead, and rules add to it (replacesAccess: %s)",
  async (replaces) => {
    const accessControl = { requiredScopes: ["a"], requiredScopesAny: ["b", "c"] };
    const rules = [{ match: "fs.*", requiredScopes: ["d", "a"] }];
    const { access } = await follow(createSource([operation("write")], replaces), rules, { accessControl });
    const scopes = access()["fs.write"]!.requiredScopes;
    expect({ ...access()["fs.write"], requiredScopes: scopes.toSorted() }).toEqual({
      requiredScopes: ["a", "d"],
      requiredScopesAny: ["b", "c"],
    });
  },
);

test("all matching rules apply, in any order", async () => {
  const rules: HubRule[] = [
    { match: "*", requiredScopes: ["all"] },
    { match: "fs.write", requiredScopes: ["write"] },
    { match: "fs.*", type: "mutation", requiredScopes: ["change"] },
    { match: "fs.*", type: "query", requiredScopes: ["read"] },
    { match: "other.*", requiredScopes: ["other"], deny: true },
  ];
  const operations = [operation("write"), operation("list", { type: "query" })];
  const expected = {
    "fs.write": ["all", "change", "files", "write"],
    "fs.list": ["all", "files", "read"],
  };
  for (const order of [rules, rules.toReversed()]) {
    const { access } = await follow(createSource(operations), order);
    const scopes = Object.entries(access()).map(([id, { requiredScopes }]) => [id, requiredScopes.toSorted()]);
    expect(Object.fromEntries(scopes)).toEqual(expected);
  }
});

test("deny removes an operation, for nested calls too", async () => {
  const outer = defineOperation({
    namespace: "app",
    name: "clean",
    type: "mutation",
    inputSchema: Type.Object({}),
    outputSchema: Type.String(),
    handler: (_, { call }) => call("fs.delete", {}) as Promise<string>,
  });
  const rules = [{ match: "fs.delete*", deny: true, requiredScopes: ["files"] }];
  const { registry } = await follow(createSource([operation("delete"), operation("list")]), rules);
  registry.register(outer);
  expect(registry.getAllSpecs().map(({ name }) => name)).toEqual(["list", "clean"]);
  await expect(registry.execute("fs.delete", {}, { identity: { id: "a", scopes: ["files"] } })).rejects.toMatchObject({
    code: "OPERATION_NOT_FOUND",
  });
  await expect(registry.execute("app.clean", {})).rejects.toMatchObject({
    code: "EXECUTION_ERROR",
    details: { nested: { operationId: "fs.delete", code: "OPERATION_NOT_FOUND" } },
  });
});

test.each(["fs.delete", "fs.tidy", "disk.delete", "disk.tidy"])(
  "an operation with another name and namespace does not escape the rule for %s",
  async (match) => {
    const options = { rename: { "fs.delete": "tidy" }, namespace: "disk" };
    const denied = await follow(createSource([operation("delete")]), [{ match, deny: true }], options);
    expect(denied.access()).toEqual({});
    const tightened = await follow(createSource([operation("delete")]), [{ match, requiredScopes: ["x"] }], options);
    expect(tightened.access()).toEqual({ "disk.tidy": { requiredScopes: ["files", "x"] } });
  },
);

test("operations that the source adds or changes later are restricted as well", async () => {
  const { source, change } = createSource([operation("list")]);
  const rules: HubRule[] = [
    { match: "fs.delete", deny: true },
    { match: "fs.list", type: "mutation", requiredScopes: ["x"] },
    { match: "fs.move", type: "mutation", deny: true },
  ];
  const { access } = await follow({ source }, rules);
  change({ added: [operation("delete"), operation("move", { type: "query" })] });
  expect(access()).toEqual({
    "fs.list": { requiredScopes: ["files", "x"] },
    "fs.move": { requiredScopes: ["files"] },
  });
  change({ changed: [operation("move"), operation("list", { type: "query" })] });
  expect(access()).toEqual({ "fs.list": { requiredScopes: ["files"] } });
});

test("other rules apply to loaded operations, and to those that were denied before", async () => {
  const { source, change } = createSource([operation("list"), operation("delete"), operation("move")]);
  const { access, setRules } = await follow({ source }, [{ match: "fs.delete", deny: true }]);
  change({ removed: ["fs.move"] });
  setRules([{ match: "fs.list", deny: true }]);
  expect(access()).toEqual({ "fs.delete": { requiredScopes: ["files"] } });
  setRules([]);
  expect(access()).toEqual({ "fs.delete": { requiredScopes: ["files"] }, "fs.list": { requiredScopes: ["files"] } });
});

test("include and exclude select operations by their new ids", async () => {
  const options = { exclude: ["fs.b"], rename: { "fs.delete": "b" } };
  const { access } = await follow(createSource([operation("delete"), operation("a")]), [], options);
  expect(access()).toEqual({ "fs.a": { requiredScopes: ["files"] } });
});
