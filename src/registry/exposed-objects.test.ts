import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import type { OperationContext } from "../operation/index.ts";
import { OperationRegistry } from "./index.ts";
import { operation, registryOf } from "./testing.ts";

describe("objects that the registry returns cannot be used to change it", () => {
  const secured = () =>
    operation({
      name: "secured",
      tags: ["a"],
      accessControl: { requiredScopes: ["admin"], requiredScopesAny: ["x"] },
      errorSchemas: [{ code: "FULL", schema: Type.Unknown() }],
      _meta: { from: "here" },
    });

  test("lists, rules and meta are frozen copies", () => {
    const definition = secured();
    const registry = registryOf(definition);
    const before = JSON.stringify(registry.getSpec("test.secured"));

    for (const shown of [
      registry.get("test.secured")!,
      registry.getSpec("test.secured")!,
      registry.list()[0]!,
      registry.getAllSpecs()[0]!,
      registry.search("secured")[0]!,
      definition,
    ]) {
      for (const change of [
        () => shown.tags!.push("b"),
        () => shown.accessControl.requiredScopes.pop(),
        () => shown.accessControl.requiredScopesAny!.push("y"),
        () => shown.errorSchemas!.pop(),
        () => Object.assign(shown._meta!, { from: "there" }),
        () => Object.assign(shown, { accessControl: { requiredScopes: [] } }),
      ]) {
        try {
          change();
        } catch (error) {
          expect(error).toBeInstanceOf(TypeError);
        }
      }
    }

    expect(JSON.stringify(registry.getSpec("test.secured"))).toBe(before);
  });

  test("a spec that is changed before its handler is registered keeps its registered rules", async () => {
    const { handler, ...spec } = secured();
    const registry = new OperationRegistry();
    registry.registerSpec(spec);
    spec.accessControl = { requiredScopes: [] };
    spec.namespace = "other";

    registry.registerHandler("test.secured", handler!);

    await expect(registry.execute("test.secured", {})).rejects.toMatchObject({ code: "ACCESS_DENIED" });
    expect(registry.getByName("test", "secured")?.handler).toBe(handler);
    expect(registry.getByName("other", "secured")).toBeUndefined();
    expect(registry.unregister("test.secured")).toBe(true);
    expect(registry.getByName("test", "secured")).toBeUndefined();
  });

  test("limits that are undefined have their defaults", async () => {
    const registry = new OperationRegistry({ limits: { callDepth: undefined as never } });
    registry.register(
      operation({
        name: "loop",
        handler: async (_: unknown, { env }: OperationContext) => env["test"]!["loop"]!({}),
      }),
    );

    await expect(registry.execute("test.loop", {})).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
  });
});

test("a context has no names beside those of OperationContext", async () => {
  const names = new Set<string>();
  const registry = registryOf(
    operation({
      handler: (_: unknown, context: OperationContext) => {
        for (let object: object = context; object !== Object.prototype; object = Object.getPrototypeOf(object)) {
          for (const name of Object.getOwnPropertyNames(object)) names.add(name);
        }
      },
    }),
  );

  await registry.execute("test.echo", {});

  const context: Record<keyof OperationContext, true> = {
    requestId: true,
    parentRequestId: true,
    identity: true,
    deadline: true,
    signal: true,
    abortable: true,
    remote: true,
    metadata: true,
    lastEventId: true,
    env: true,
    call: true,
    errors: true,
    progress: true,
  };
  expect([...names].sort()).toEqual(["constructor", ...Object.keys(context)].sort());
});
