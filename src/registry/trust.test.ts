import { Type } from "typebox";
import { describe, expect, test, vi } from "vitest";
import type { IOperationDefinition, OperationContext } from "../operation/index.ts";
import { buildEnv, OperationRegistry, subscribe } from "./index.ts";
import { deferred, never, operation, registryOf, subscription } from "./testing.ts";

const ada = { id: "ada", scopes: ["user"] };
const admin = operation({ name: "admin", accessControl: { requiredScopes: ["admin"] }, handler: async () => "secret" });

/** An operation whose handler runs `body`. */
function outer(body: (context: OperationContext) => unknown): IOperationDefinition {
  return operation({ name: "outer", handler: async (_: unknown, context: OperationContext) => body(context) });
}

describe("trusted calls", () => {
  test("a nested call through context.env skips access rules", async () => {
    const registry = registryOf(
      admin,
      outer(async ({ env }) => (await env["test"]!["admin"]!()).data),
    );

    expect((await registry.execute("test.outer", {}, { identity: ada })).data).toBe("secret");
  });

  test("a nested call after an await skips access rules", async () => {
    const registry = registryOf(
      admin,
      outer(async (context) => {
        await null;
        await null;
        return (await context.env["test"]!["admin"]!()).data;
      }),
    );

    expect((await registry.execute("test.outer", {})).data).toBe("secret");
  });

  test("a nested call through buildEnv with the context of a running handler skips access rules", async () => {
    const registry: OperationRegistry = registryOf(
      admin,
      outer(async (context) => (await buildEnv({ registry, context })["test"]!["admin"]!({})).data),
    );

    expect((await registry.execute("test.outer", {})).data).toBe("secret");
  });

  test("nested calls also skip resource rules and customAuth", async () => {
    const deny = vi.fn(() => false);
    const registry = new OperationRegistry({ customAuth: { deny } });
    registry.registerAll([
      operation({
        name: "guarded",
        accessControl: { requiredScopes: [], customAuth: "deny", resourceType: "task", resourceAction: "read" },
        handler: async () => "ok",
      }),
      outer(async ({ env }) => (await env["test"]!["guarded"]!()).data),
    ]);

    expect((await registry.execute("test.outer", {})).data).toBe("ok");
    expect(deny).not.toHaveBeenCalled();
    await expect(registry.execute("test.guarded", {})).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  });

  test("a subscription's handler is trusted while it runs", async () => {
    const registry = registryOf(
      admin,
      subscription(async function* (_: unknown, { env }: OperationContext) {
        yield (await env["test"]!["admin"]!()).data;
      }),
    );

    expect((await subscribe(registry, "test.ticks", {}).next()).value.data).toBe("secret");
  });
});

describe("calls that are not trusted", () => {
  test.each([
    { trusted: true },
    { trusted: true, context: { trusted: true } },
    { parentRequestId: "x", env: {}, metadata: { trusted: true } },
  ])("options %j from outside", async (options) => {
    const registry = registryOf(admin);

    await expect(registry.execute("test.admin", {}, { ...options, identity: ada } as never)).rejects.toMatchObject({
      code: "ACCESS_DENIED",
    });
  });

  test("buildEnv with a forged context is checked against its identity", async () => {
    const registry = registryOf(admin);
    const checked = buildEnv({ registry, context: { identity: ada } });
    const allowed = buildEnv({ registry, context: { identity: { id: "root", scopes: ["admin"] } } });

    await expect(checked["test"]!["admin"]!({})).rejects.toMatchObject({ code: "ACCESS_DENIED" });
    expect((await allowed["test"]!["admin"]!({})).data).toBe("secret");
  });

  test("an identity in the options of a call of such an env is ignored", async () => {
    const registry = registryOf(admin);
    const env = buildEnv({ registry, context: { identity: ada } });

    const options = { identity: { id: "root", scopes: ["admin"] } } as never;
    await expect(env["test"]!["admin"]!({}, options)).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  });

  test("an env kept from a handler that has finished", async () => {
    let stolen: OperationContext["env"] | undefined;
    const registry = registryOf(
      admin,
      outer(({ env }) => {
        stolen = env;
      }),
    );
    await registry.execute("test.outer", {}, { identity: ada });

    await expect(stolen!["test"]!["admin"]!()).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  });

  test.each(["async", "sync", "thenable"])(
    "a context stolen from a finished %s handler, read for the first time",
    async (kind) => {
      let stolen: OperationContext | undefined;
      const registry = registryOf(
        admin,
        operation({
          name: "outer",
          handler: (_: unknown, context: OperationContext) => {
            stolen = context;
            if (kind === "sync") return 1;
            return kind === "async" ? Promise.resolve(1) : { then: (resolve: (value: number) => void) => resolve(1) };
          },
        }),
      );
      await registry.execute("test.outer", {}, { identity: ada });

      await expect(stolen!.env["test"]!["admin"]!()).rejects.toMatchObject({ code: "ACCESS_DENIED" });
      await expect(buildEnv({ registry, context: stolen! })["test"]!["admin"]!({})).rejects.toMatchObject({
        code: "ACCESS_DENIED",
      });
    },
  );

  test("a context stolen from a subscription that has ended", async () => {
    let stolen: OperationContext | undefined;
    const registry = registryOf(
      admin,
      subscription(async function* (_: unknown, context: OperationContext) {
        stolen = context;
        yield 1;
      }),
    );
    for await (const _ of subscribe(registry, "test.ticks", {}, { identity: ada })) break;

    await expect(stolen!.env["test"]!["admin"]!()).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  });

  test("a context passed on as options, a copy of it, a proxy of it, an object that inherits from it", async () => {
    const registry: OperationRegistry = registryOf(
      admin,
      outer(async (context) => {
        const attempts = [context, { ...context }, new Proxy(context, {}), Object.create(context)];
        return Promise.all(
          attempts.map((options) =>
            registry.execute("test.admin", {}, options).then(
              () => "allowed",
              (error) => error.code,
            ),
          ),
        );
      }),
    );

    const answer = await registry.execute("test.outer", {}, { identity: ada });

    // The last two are not contexts, and reading their options fails.
    expect(answer.data).toEqual(["ACCESS_DENIED", "ACCESS_DENIED", "EXECUTION_ERROR", "EXECUTION_ERROR"]);
  });

  test("a context of another registry", async () => {
    const other = registryOf(admin);
    const registry = registryOf(
      outer(async (context) => (await buildEnv({ registry: other, context })["test"]!["admin"]!({})).data),
    );

    await expect(registry.execute("test.outer", {}, { identity: ada })).rejects.toMatchObject({
      code: "EXECUTION_ERROR",
      details: { nested: { operationId: "test.admin", code: "ACCESS_DENIED" } },
    });
  });

  test("nested calls that attenuate", async () => {
    const registry: OperationRegistry = registryOf(
      admin,
      outer(
        async (context) => (await buildEnv({ registry, context, nested: "attenuate" })["test"]!["admin"]!({})).data,
      ),
    );

    await expect(registry.execute("test.outer", {}, { identity: ada })).rejects.toMatchObject({
      code: "EXECUTION_ERROR",
      details: { nested: { operationId: "test.admin", code: "ACCESS_DENIED" } },
    });
    const root = { id: "root", scopes: ["admin"] };
    expect((await registry.execute("test.outer", {}, { identity: root })).data).toBe("secret");
  });
});

describe("access rules", () => {
  test("check defaults and transformed values, not the raw input", async () => {
    const seen: unknown[] = [];
    const registry = new OperationRegistry({
      customAuth: {
        look: ({ input }) => {
          seen.push(input);
          return true;
        },
      },
    });
    registry.register(
      operation({
        inputSchema: Type.Object({ tenant: Type.String({ default: "public" }) }),
        accessControl: {
          requiredScopes: [],
          customAuth: "look",
          resourceType: "tenant",
          resourceAction: "read",
          resourceId: "/tenant",
        },
      }),
    );
    const reader = { id: "r", scopes: [], resources: { "tenant:public": ["read"] } };

    await registry.execute("test.echo", {}, { identity: reader });

    expect(seen).toEqual([{ tenant: "public" }]);
    await expect(registry.execute("test.echo", { tenant: "other" }, { identity: reader })).rejects.toMatchObject({
      code: "ACCESS_DENIED",
    });
  });

  test.each([[1], ["true"], [{}], [undefined], [Promise.resolve("yes")]])(
    "customAuth allows only with true, not with %s",
    async (answer) => {
      const handler = vi.fn();
      const registry = new OperationRegistry({ customAuth: { rule: () => answer as never } });
      registry.register(operation({ handler, accessControl: { requiredScopes: [], customAuth: "rule" } }));

      await expect(registry.execute("test.echo", {})).rejects.toMatchObject({ code: "ACCESS_DENIED" });
      expect(handler).not.toHaveBeenCalled();
    },
  );

  test.each(["missing", "constructor", "toString", "__proto__"])(
    "the unknown customAuth %s denies",
    async (customAuth) => {
      const registry = registryOf(operation({ accessControl: { requiredScopes: [], customAuth } }));

      await expect(registry.execute("test.echo", {})).rejects.toMatchObject({ code: "ACCESS_DENIED" });
    },
  );

  test("a customAuth that throws denies, and keeps the reason as cause", async () => {
    const cause = new Error("database down");
    const registry = new OperationRegistry({
      customAuth: {
        broken: () => {
          throw cause;
        },
      },
    });
    registry.register(operation({ accessControl: { requiredScopes: [], customAuth: "broken" } }));

    await expect(registry.execute("test.echo", {})).rejects.toMatchObject({ code: "ACCESS_DENIED", cause });
  });

  test("rules cannot be loosened after registration", async () => {
    const accessControl = { requiredScopes: ["admin"] };
    const registry = registryOf(operation({ accessControl }));

    accessControl.requiredScopes.length = 0;

    await expect(registry.execute("test.echo", {}, { identity: ada })).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  });
});

describe("nesting", () => {
  test("a nested call has a new id, its parent's id, identity and metadata, and the smaller deadline", async () => {
    const deadline = Date.now() + 60_000;
    const registry = registryOf(
      operation({
        name: "inner",
        handler: (_: unknown, context: OperationContext) => ({ ...context, id: context.requestId }),
      }),
      outer(async (context) => {
        const nested = await context.env["test"]!["inner"]!({}, { deadline: deadline + 60_000 });
        return { id: context.requestId, nested: nested.data };
      }),
    );

    const { data } = await registry.execute<{ id: string; nested: Record<string, unknown> }>(
      "test.outer",
      {},
      {
        identity: ada,
        deadline,
        metadata: { trace: 1 },
      },
    );

    expect(data.nested).toEqual({
      id: expect.any(String),
      parentRequestId: data.id,
      identity: ada,
      deadline,
      metadata: { trace: 1 },
    });
    expect(data.nested["id"]).not.toBe(data.id);
  });

  test("an abort ends nested calls at every depth", async () => {
    const controller = new AbortController();
    const running = deferred();
    let innermost: AbortSignal | undefined;
    const registry = registryOf(
      operation({
        name: "c",
        handler: (_: unknown, { signal }: OperationContext) => {
          innermost = signal;
          running.resolve();
          return never;
        },
      }),
      operation({ name: "b", handler: async (_: unknown, { env }: OperationContext) => env["test"]!["c"]!() }),
      operation({ name: "a", handler: async (_: unknown, { env }: OperationContext) => env["test"]!["b"]!() }),
    );

    const answer = registry.execute("test.a", {}, { signal: controller.signal });
    await running.promise;
    controller.abort();

    await expect(answer).rejects.toMatchObject({ code: "ABORTED" });
    expect(innermost?.aborted).toBe(true);
  });

  test("a nested call whose parent was aborted does not start", async () => {
    const controller = new AbortController();
    const inner = vi.fn();
    const nested = deferred<unknown>();
    const registry = registryOf(
      operation({ name: "inner", handler: inner }),
      outer(async (context) => {
        controller.abort();
        nested.resolve(await context.env["test"]!["inner"]!().catch((error: unknown) => error));
      }),
    );

    await expect(registry.execute("test.outer", {}, { signal: controller.signal })).rejects.toMatchObject({
      code: "ABORTED",
    });
    expect(await nested.promise).toMatchObject({ code: "ABORTED", mayHaveRun: false });
    expect(inner).not.toHaveBeenCalled();
  });

  test.each(["test.outer", "test.a"])("endless recursion from %s ends with LIMIT_EXCEEDED", async (id) => {
    const call =
      (name: string) =>
      async (_: unknown, { env }: OperationContext) =>
        env["test"]![name]!();
    const registry = registryOf(
      outer(async ({ env }) => env["test"]!["outer"]!()),
      operation({ name: "a", handler: call("b") }),
      operation({ name: "b", handler: call("a") }),
    );

    await expect(registry.execute(id, {})).rejects.toMatchObject({ code: "LIMIT_EXCEEDED", details: { allowed: 64 } });
  });

  test.each([
    ["OPERATION_NOT_FOUND", { name: "other" }],
    ["VALIDATION_ERROR", { inputSchema: Type.String() }],
    ["OUTPUT_INVALID", { outputSchema: Type.String(), outputPolicy: "strict" as const, handler: async () => 1 }],
  ])("%s of a nested call reaches the outer caller as EXECUTION_ERROR", async (code, overrides) => {
    const registry: OperationRegistry = registryOf(
      operation({ name: "inner", ...overrides }),
      outer(async (context) => registry.execute("test.inner", {}, context)),
    );

    await expect(registry.execute("test.outer", {})).rejects.toMatchObject({
      code: "EXECUTION_ERROR",
      details: { nested: { operationId: "test.inner", code } },
      cause: { code },
    });
  });

  test("inside the outer handler the nested error keeps its code", async () => {
    const registry = registryOf(
      operation({ name: "inner", inputSchema: Type.String() }),
      outer(async ({ env }) => env["test"]!["inner"]!(1).catch((error: { code: string }) => error.code)),
    );

    expect((await registry.execute("test.outer", {})).data).toBe("VALIDATION_ERROR");
  });
});

describe("the env", () => {
  test("has no subscriptions, no prototype, and only the allowed namespaces", async () => {
    const registry: OperationRegistry = registryOf(
      admin,
      operation({ namespace: "other" }),
      subscription(async function* () {}),
    );
    const env = buildEnv({ registry, context: {}, allowedNamespaces: ["test"] });

    expect(Object.keys(env)).toEqual(["test"]);
    expect(Object.keys(env["test"]!)).toEqual(["admin"]);
    expect(Object.getPrototypeOf(env)).toBeNull();
    expect(Object.getPrototypeOf(env["test"])).toBeNull();
    for (const name of ["other", "constructor", "__proto__"]) {
      expect(env[name]).toBeUndefined();
      expect(env["test"]![name]).toBeUndefined();
    }
    expect(() => {
      (env as Record<string, unknown>)["test"] = {};
    }).toThrow(TypeError);
  });
});
