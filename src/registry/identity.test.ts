import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import type { Identity, OperationContext } from "../operation/index.ts";
import { buildEnv, OperationRegistry, subscribe } from "./index.ts";
import { operation, subscription } from "./testing.ts";

function createRegistry(onCall: (context: OperationContext) => unknown = () => "secret") {
  const registry = new OperationRegistry();
  registry.register(operation({ name: "open", handler: (_input, context) => onCall(context) }));
  registry.register(
    operation({ name: "secret", accessControl: { requiredScopes: ["admin"] }, handler: () => "secret" }),
  );
  return registry;
}

describe("the identity of a call", () => {
  test("cannot be changed by a handler, and the caller's object stays unchanged", async () => {
    const identity = { id: "ann", scopes: ["read"] };
    const attempts: unknown[] = [];
    const registry = createRegistry(async (context) => {
      try {
        context.identity?.scopes.push("admin");
      } catch (error) {
        attempts.push((error as Error).name);
      }
      await buildEnv({ registry, context, nested: "attenuate" })["test"]?.["secret"]?.({});
    });

    await expect(registry.execute("test.open", {}, { identity })).rejects.toMatchObject({
      code: "EXECUTION_ERROR",
      details: { nested: { operationId: "test.secret", code: "ACCESS_DENIED" } },
    });
    expect(attempts).toEqual(["TypeError"]);
    expect(identity).toEqual({ id: "ann", scopes: ["read"] });
  });

  test("is a snapshot from the start of the call", async () => {
    const identity = { id: "ann", scopes: ["read"] };
    const registry = createRegistry(async (context) => {
      identity.scopes.push("admin");
      return [context.identity, await Promise.resolve().then(() => context.identity)];
    });

    const { data } = await registry.execute("test.open", {}, { identity });

    const before = { id: "ann", scopes: ["read"] };
    expect(data).toEqual([before, before]);
  });

  test("is not read from inherited properties", async () => {
    const identity: Identity = Object.create({ id: "ann", scopes: ["admin"] });
    const registry = createRegistry((context) => context.identity === undefined);
    registry.register(
      subscription(
        async function* () {
          yield 1;
        },
        { accessControl: { requiredScopes: ["admin"] } },
      ),
    );
    const denied = { code: "ACCESS_DENIED" };

    expect((await registry.execute("test.open", {}, { identity })).data).toBe(true);
    await expect(registry.execute("test.secret", {}, { identity })).rejects.toMatchObject(denied);
    await expect(registry.client({ identity })["test"]?.["secret"]?.({})).rejects.toMatchObject(denied);
    await expect(buildEnv({ registry, context: { identity } })["test"]?.["secret"]?.({})).rejects.toMatchObject(denied);
    await expect(subscribe(registry, "test.ticks", {}, { identity }).next()).rejects.toMatchObject(denied);
  });

  test("is the same snapshot for customAuth and listeners", async () => {
    const seen: unknown[] = [];
    const registry = new OperationRegistry({
      customAuth: {
        check: ({ identity }) => {
          seen.push(identity);
          return true;
        },
      },
    });
    registry.on("call", ({ identity }) => seen.push(identity));
    registry.register(
      operation({ inputSchema: Type.Unknown(), accessControl: { requiredScopes: ["read"], customAuth: "check" } }),
    );
    const identity = { id: "ann", scopes: ["read"] };

    await registry.execute("test.echo", {}, { identity });

    expect(seen).toEqual([identity, identity, identity]);
    expect(seen.every((one) => Object.isFrozen(one) && one === seen[0])).toBe(true);
  });
});
