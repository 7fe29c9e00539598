import { describe, expect, test } from "vitest";
import type { Identity } from "../operation/index.ts";
import { coreOf, type OperationRegistry, type OperationSelection } from "../registry/inside.ts";
import { createEchoes, operation } from "../registry/testing.ts";
import { VisibleOperations } from "./visible.ts";

const rule = (...requiredScopes: string[]) => ({ accessControl: { requiredScopes } });
const any = (...requiredScopesAny: string[]) => ({ accessControl: { requiredScopes: [], requiredScopesAny } });
const identity = (...scopes: string[]): Identity => ({ id: "ada", scopes });

function visibleOf(registry: OperationRegistry, selection: OperationSelection = {}): VisibleOperations {
  return new VisibleOperations(coreOf(registry), selection);
}

function idsOf(visible: VisibleOperations, reader?: Identity): string[] {
  return visible.for(reader).operations.map(({ id }) => id);
}

describe("visible operations", () => {
  const registry = createEchoes(
    { name: "open" },
    { name: "read", ...rule("read") },
    { name: "both", ...rule("write", "read") },
    { name: "either", ...any("read", "write") },
    { name: "closed", ...any() },
    { name: "also-open", description: "Reads nothing." },
  );

  test("are those whose scopes the identity has, in the order of the registry", () => {
    const visible = visibleOf(registry);
    expect(idsOf(visible)).toEqual(["test.open", "test.also-open"]);
    expect(idsOf(visible, identity())).toEqual(["test.open", "test.also-open"]);
    expect(idsOf(visible, identity("read"))).toEqual(["test.open", "test.read", "test.either", "test.also-open"]);
    expect(idsOf(visible, identity("read", "write"))).toEqual([
      "test.open",
      "test.read",
      "test.both",
      "test.either",
      "test.also-open",
    ]);
    expect(idsOf(visible, { id: "ada" } as Identity)).toEqual(["test.open", "test.also-open"]);
  });

  test("are those that are selected and have a handler", () => {
    const { handler: _, ...spec } = operation({ name: "unfinished" });
    const unfinished = createEchoes({ name: "kept" }, { name: "left" }, { namespace: "other" });
    unfinished.registerSpec(spec);
    const visible = visibleOf(unfinished, { include: ["test.*"], exclude: ["test.left"] });
    expect(idsOf(visible)).toEqual(["test.kept"]);
    expect(visible.all.operations.map(({ id }) => id)).toEqual(["test.kept"]);
    expect(visible.all.get("test.left")).toBeUndefined();

    unfinished.registerHandler("test.unfinished", () => 1);
    expect(idsOf(visible)).toEqual(["test.kept", "test.unfinished"]);
  });

  test("share what is derived from them only among identities that see the same set", () => {
    const visible = visibleOf(registry);
    const list = (reader?: Identity) => visible.for(reader).derive("list", ({ operations }) => ({ operations }));
    expect(list(identity("read"))).toBe(list({ id: "bob", scopes: ["other", "read"] }));
    expect(list(identity("read"))).not.toBe(list(identity("write")));
    expect(list(identity("read"))).not.toBe(list());
    expect(list()).toBe(list(identity("other")));
    expect(visible.for(identity("read")).derive("names", () => 1)).toBe(1);
  });

  test("are computed again after a change of the registry", () => {
    const changing = createEchoes({ name: "first" });
    const visible = visibleOf(changing);
    const before = visible.for(undefined);
    expect(visible.for(undefined)).toBe(before);

    changing.register(operation({ name: "second" }));
    expect(idsOf(visible)).toEqual(["test.first", "test.second"]);
    expect(before.operations).toHaveLength(1);

    changing.replace(operation({ name: "first", ...rule("read") }));
    expect(idsOf(visible)).toEqual(["test.second"]);
    changing.unregister("test.second");
    expect(idsOf(visible)).toEqual([]);
  });

  test("are searched and suggested without revealing others", () => {
    const visible = visibleOf(registry, { exclude: ["test.also-open"] });
    const found = (query: string, reader?: Identity) => visible.search(query, reader).map(({ id }) => id);
    expect(found("read", identity("read"))).toEqual(["test.read"]);
    expect(found("read")).toEqual([]);
    expect(visible.search("", identity("read"), { limit: 2 }).map(({ id }) => id)).toEqual(["test.open", "test.read"]);
    expect(visible.for(identity("read")).nearest("test.eithr")).toBe("test.either");
    expect(visible.for(undefined).nearest("test.eithr")).toBeUndefined();
    expect(visible.for(identity("read")).get("test.read")?.spec.name).toBe("read");
    expect(visible.for(undefined).get("test.read")).toBeUndefined();
  });

  test("keep a bounded number of sets, and those in use", () => {
    const scopes = Array.from({ length: 100 }, (_, index) => `scope${index}`);
    const visible = visibleOf(createEchoes(...scopes.map((scope) => ({ name: scope, ...rule(scope) }))));
    const used = visible.for(identity("scope0"));
    const unused = visible.for(identity("scope1"));
    for (const scope of scopes.slice(2)) {
      expect(idsOf(visible, identity(scope))).toEqual([`test.${scope}`]);
      expect(visible.for(identity("scope0"))).toBe(used);
    }
    expect(visible.for(identity("scope1"))).not.toBe(unused);
  });

  test("no longer change after close", () => {
    const changing = createEchoes({ name: "first" });
    const visible = visibleOf(changing);
    const { all } = visible;
    visible.close();
    changing.register(operation({ name: "second" }));
    expect(visible.all).toBe(all);
  });
});
