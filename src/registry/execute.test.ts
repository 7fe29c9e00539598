import { Type } from "typebox";
import { describe, expect, test, vi } from "vitest";
import {
  CallError,
  httpEnvelope,
  isResponseEnvelope,
  markToolHandler,
  mcpEnvelope,
  type OperationContext,
  OperationType,
} from "../operation/inside.ts";
import { OperationRegistry } from "./index.ts";
import { createEchoes, operation } from "./testing.ts";

const Task = Type.Object({ id: Type.String(), title: Type.String() });

describe("the result", () => {
  test("a plain result is wrapped in a local envelope", async () => {
    const registry = createEchoes({ handler: () => ({ id: "1", title: "Ship" }), outputSchema: Task });

    const before = Date.now();
    const envelope = await registry.execute("test.echo", {});

    expect(envelope).toEqual({
      data: { id: "1", title: "Ship" },
      meta: { source: "local", operationId: "test.echo", timestamp: expect.any(Number) },
    });
    expect((envelope.meta as { timestamp: number }).timestamp).toBeGreaterThanOrEqual(before);
  });

  test("valid data is passed by reference", async () => {
    const result = { id: "1", title: "Ship" };
    const registry = createEchoes({ handler: async () => result, outputSchema: Task });

    expect((await registry.execute("test.echo", {})).data).toBe(result);
  });

  test("excess properties are stripped from a copy and reported", async () => {
    const result = Object.freeze({ id: "1", title: "Ship", secret: true });
    const registry = createEchoes({ handler: async () => result, outputSchema: Task });

    const envelope = await registry.execute("test.echo", {});

    expect(envelope.data).toEqual({ id: "1", title: "Ship" });
    expect(envelope.meta.drift).toEqual([expect.objectContaining({ path: "/secret", kind: "stripped" })]);
    expect(result).toHaveProperty("secret", true);
  });

  test("an envelope that the handler returns is passed unchanged", async () => {
    const made = httpEnvelope(
      { id: "1", title: "Ship" },
      { statusCode: 200, headers: {}, contentType: "application/json" },
    );
    const registry = createEchoes({ handler: async () => made, outputSchema: Task });

    expect(await registry.execute("test.echo", {})).toBe(made);
  });

  test("a frozen envelope with drift is copied, not changed", async () => {
    const made = Object.freeze(
      httpEnvelope(Object.freeze({ id: "1", title: "Ship", extra: 1 }), {
        statusCode: 200,
        headers: {},
        contentType: "x",
      }),
    );
    Object.freeze(made.meta);
    const registry = createEchoes({ handler: async () => made, outputSchema: Task });

    const envelope = await registry.execute("test.echo", {});

    expect(envelope.data).toEqual({ id: "1", title: "Ship" });
    expect(envelope.meta).toMatchObject({ source: "http", statusCode: 200 });
    expect(envelope.meta.drift).toHaveLength(1);
    expect(made.meta.drift).toBeUndefined();
  });

  test("a value that only resembles an envelope is data", async () => {
    const lookalike = { data: 1, meta: { source: "http", statusCode: 200 } };
    const registry = createEchoes({ handler: async () => lookalike });

    const envelope = await registry.execute("test.echo", {});

    expect(envelope.data).toBe(lookalike);
    expect(envelope.meta.source).toBe("local");
  });

  test("foreign data may contain itself", async () => {
    const data: Record<string, unknown> = { id: 2 ** 60 };
    data["self"] = data;
    const registry = createEchoes({
      handler: () => httpEnvelope(data, { statusCode: 200, headers: {}, contentType: "" }),
    });

    expect((await registry.execute("test.echo", {})).data).toBe(data);
  });

  test("the data of a void handler is undefined", async () => {
    const registry = createEchoes({ handler: async () => {}, outputSchema: Type.Void() });

    const envelope = await registry.execute("test.echo", {});

    expect(envelope).toEqual({ data: undefined, meta: expect.objectContaining({ source: "local" }) });
    expect("data" in envelope && isResponseEnvelope(envelope)).toBe(true);
  });

  test("results of MCP tools with isError are unchanged", async () => {
    const made = mcpEnvelope({ message: "no", extra: 1 }, { isError: true, content: [], structuredContent: { a: 1 } });
    const registry = createEchoes({ handler: async () => made, outputSchema: Task });

    expect(await registry.execute("test.echo", {})).toBe(made);
  });

  test.each(["cast", "check"] as const)(
    "content blocks instead of structured content are unchanged and reported under %s",
    async (outputPolicy) => {
      const content = [{ type: "text" as const, text: "hello" }];
      const made = mcpEnvelope(content, { isError: false, content });
      const registry = createEchoes({ handler: async () => made, outputSchema: Task, outputPolicy });

      expect(await registry.execute("test.echo", {})).toEqual({
        data: content,
        meta: {
          ...made.meta,
          drift: [{ path: "", kind: "mismatch", message: "content blocks in place of structured content" }],
        },
      });
    },
  );

  test("content blocks instead of structured content are refused under strict", async () => {
    const content = [{ type: "text" as const, text: "hello" }];
    const handler = markToolHandler(async () => mcpEnvelope(content, { isError: false, content }));
    const registry = createEchoes({ handler, outputSchema: Task, outputPolicy: "strict" });

    await expect(registry.execute("test.echo", {})).rejects.toMatchObject({ code: "OUTPUT_INVALID" });
  });

  test("content blocks that match the schema pass", async () => {
    const content = [{ type: "text" as const, text: "hello" }];
    const made = mcpEnvelope(content, { isError: false, content });
    const outputSchema = Type.Array(Type.Object({ type: Type.String() }));
    const registry = createEchoes({ handler: async () => made, outputSchema });

    expect(await registry.execute("test.echo", {})).toBe(made);
  });

  test("data that looks like the error of an MCP tool is refused under strict, unless a tool reported it", async () => {
    const made = mcpEnvelope({ message: "no" }, { isError: true, content: [] });
    const local = createEchoes({ handler: async () => made, outputSchema: Task, outputPolicy: "strict" });
    const tool = createEchoes({
      handler: markToolHandler(async () => made),
      outputSchema: Task,
      outputPolicy: "strict",
    });

    await expect(local.execute("test.echo", {})).rejects.toMatchObject({ code: "OUTPUT_INVALID" });
    expect(await tool.execute("test.echo", {})).toBe(made);
  });

  test("an empty HTTP body is not checked", async () => {
    const made = httpEnvelope(undefined, { statusCode: 204, headers: {}, contentType: "" });
    const registry = createEchoes({ handler: async () => made, outputSchema: Task });

    expect(await registry.execute("test.echo", {})).toBe(made);
  });

  test("a result with none of the declared properties is unchanged", async () => {
    const unexpected = { error: "boom" };
    const registry = createEchoes({ handler: async () => unexpected, outputSchema: Task });

    const envelope = await registry.execute("test.echo", {});

    expect(envelope.data).toBe(unexpected);
    expect(envelope.meta.drift?.[0]).toMatchObject({ path: "", kind: "mismatch" });
  });

  test("a thenable is awaited", async () => {
    const registry = createEchoes({
      handler: () => ({ then: (resolve: (value: unknown) => void) => resolve({ id: "1", title: "t" }) }),
      outputSchema: Task,
    });

    expect((await registry.execute("test.echo", {})).data).toEqual({ id: "1", title: "t" });
  });

  test("a thenable whose then throws is one EXECUTION_ERROR", async () => {
    const registry = createEchoes({
      handler: () => ({
        get then() {
          throw new Error("unusual");
        },
      }),
    });

    await expect(registry.execute("test.echo", {})).rejects.toMatchObject({
      code: "EXECUTION_ERROR",
      message: "unusual",
    });
  });
});

describe("output policies", () => {
  const drifting = { handler: async () => ({ id: "1", title: "Ship", extra: 1 }), outputSchema: Task };

  test("check leaves the data unchanged and reports what cast would do", async () => {
    const result = { id: "1", title: "Ship", extra: 1 };
    const registry = createEchoes({ handler: async () => result, outputSchema: Task, outputPolicy: "check" });

    const envelope = await registry.execute("test.echo", {});

    expect(envelope.data).toBe(result);
    expect(envelope.meta.drift).toEqual([expect.objectContaining({ path: "/extra", kind: "stripped" })]);
  });

  test("strict passes valid data unchanged, excess or not", async () => {
    const registry = createEchoes({ ...drifting, outputPolicy: "strict" });

    const envelope = await registry.execute("test.echo", {});

    expect(envelope.data).toEqual({ id: "1", title: "Ship", extra: 1 });
    expect(envelope.meta.drift).toBeUndefined();
  });

  test("strict refuses invalid data with OUTPUT_INVALID", async () => {
    const registry = createEchoes({ handler: async () => ({ id: 1 }), outputSchema: Task, outputPolicy: "strict" });

    await expect(registry.execute("test.echo", {})).rejects.toMatchObject({ code: "OUTPUT_INVALID", mayHaveRun: true });
  });

  test("the policy of the operation overrides that of the registry", async () => {
    const registry = new OperationRegistry({ outputPolicy: "strict" });
    registry.register(operation({ handler: async () => ({ id: 1 }), outputSchema: Task, outputPolicy: "check" }));
    registry.register(operation({ name: "other", handler: async () => ({ id: 1 }), outputSchema: Task }));

    expect((await registry.execute("test.echo", {})).data).toEqual({ id: 1 });
    await expect(registry.execute("test.other", {})).rejects.toMatchObject({ code: "OUTPUT_INVALID" });
  });
});

describe("find", () => {
  test("the error for an unknown id names the nearest one", async () => {
    const registry = createEchoes({ namespace: "task", name: "create" });

    await expect(registry.execute("task.crate", {})).rejects.toMatchObject({
      code: "OPERATION_NOT_FOUND",
      message: expect.stringContaining('Did you mean "task.create"?'),
      mayHaveRun: false,
    });
  });

  test.each(["__proto__", "constructor", "toString", "hasOwnProperty", "test.__proto__", "test.constructor"])(
    "the id %s is not found",
    async (id) => {
      const registry = createEchoes({});

      await expect(registry.execute(id, {})).rejects.toMatchObject({ code: "OPERATION_NOT_FOUND" });
    },
  );

  test.each(["__proto__", "constructor", "toString", "("])(
    "an operation with the name %s can be called",
    async (name) => {
      const registry = createEchoes({ namespace: name, name, handler: async () => name });

      expect((await registry.execute(`${name}.${name}`, {})).data).toBe(name);
      expect(registry.getByName(name, name)?.name).toBe(name);
    },
  );

  test("the error for a spec without handler names registerHandler", async () => {
    const registry = new OperationRegistry();
    const { handler: _, ...spec } = operation();
    registry.registerSpec(spec);

    await expect(registry.execute("test.echo", {})).rejects.toMatchObject({
      code: "OPERATION_NOT_FOUND",
      message: expect.stringContaining("registerHandler"),
    });
  });

  test("executing a subscription is WRONG_OPERATION_TYPE", async () => {
    const registry = createEchoes({ type: OperationType.SUBSCRIPTION, handler: async function* () {} });

    await expect(registry.execute("test.echo", {})).rejects.toMatchObject({ code: "WRONG_OPERATION_TYPE" });
  });
});

describe("validate", () => {
  const input = Type.Object({ title: Type.String(), priority: Type.Number({ default: 3 }) });

  test("invalid input is refused with path and message, and the handler never starts", async () => {
    const handler = vi.fn();
    const registry = createEchoes({ handler, inputSchema: input });

    const failure = registry.execute("test.echo", { title: 7, priority: 1 });

    await expect(failure).rejects.toMatchObject({
      code: "VALIDATION_ERROR",
      mayHaveRun: false,
      details: { errors: [{ path: "/title", message: expect.any(String) }], total: 1 },
    });
    expect(handler).not.toHaveBeenCalled();
  });

  test("defaults are filled into a copy", async () => {
    const registry = createEchoes({ inputSchema: input });
    const given = Object.freeze({ title: "a" });

    expect((await registry.execute("test.echo", given)).data).toEqual({ title: "a", priority: 3 });
    expect(given).toEqual({ title: "a" });
  });

  test("defaults are not filled with fillDefaults: false", async () => {
    const registry = createEchoes({ inputSchema: input, fillDefaults: false });

    await expect(registry.execute("test.echo", { title: "a" })).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
  });

  test("50,000 invalid items result in 20 errors, a count and a short message", async () => {
    const registry = createEchoes({ inputSchema: Type.Array(Type.Number()) });

    const error = await registry.execute("test.echo", Array(50_000).fill("x")).catch((reason: CallError) => reason);

    const { errors, total } = (error as CallError).details as { errors: unknown[]; total: number };
    expect(errors).toHaveLength(20);
    expect(total).toBeGreaterThan(20);
    expect(JSON.stringify(error).length).toBeLessThan(16_384);
  });

  test("values nested 20,000 levels deep are refused or returned without a crash", async () => {
    const Node = Type.Cyclic({ Node: Type.Object({ next: Type.Optional(Type.Ref("Node")) }) }, "Node");
    let deep: object = {};
    for (let level = 0; level < 20_000; level += 1) deep = { next: deep };
    const registry = createEchoes(
      { inputSchema: Node },
      { name: "out", handler: async () => deep, outputSchema: Node },
    );

    await expect(registry.execute("test.echo", deep)).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
    const answer = await registry.execute("test.out", {});
    expect(answer.data).toBe(deep);
    expect(answer.meta.drift?.[0]?.kind).toBe("mismatch");
  });
});

describe("errors of handlers", () => {
  test("a CallError keeps code, details and flags, declared or not", async () => {
    const thrown = new CallError("TASK_LOCKED", "Locked", { by: "ada" }, { retryable: true });
    const registry = createEchoes({
      handler: () => {
        throw thrown;
      },
    });

    await expect(registry.execute("test.echo", {})).rejects.toBe(thrown);
  });

  test("an Error becomes EXECUTION_ERROR with its message and is kept as cause", async () => {
    const cause = new TypeError("x is not a function");
    const registry = createEchoes({ handler: async () => Promise.reject(cause) });

    await expect(registry.execute("test.echo", {})).rejects.toMatchObject({
      code: "EXECUTION_ERROR",
      message: "x is not a function",
      cause,
    });
  });

  test.each([[null], ["text"], [undefined], [{ code: "ACCESS_DENIED" }]])(
    "%j becomes UNKNOWN_ERROR",
    async (thrown) => {
      const registry = createEchoes({ handler: () => Promise.reject(thrown) });

      await expect(registry.execute("test.echo", {})).rejects.toMatchObject({ code: "UNKNOWN_ERROR" });
    },
  );

  test("undefined becomes UNKNOWN_ERROR in a call with middleware, too", async () => {
    const registry = createEchoes({ handler: () => Promise.reject(undefined) });
    registry.use((_, next) => next());
    registry.register(operation({ name: "skipped", handler: () => {} }));
    registry.use(() => Promise.reject(undefined), { include: ["test.skipped"] });

    await expect(registry.execute("test.echo", {})).rejects.toMatchObject({ code: "UNKNOWN_ERROR" });
    await expect(registry.execute("test.skipped", {})).rejects.toMatchObject({ code: "UNKNOWN_ERROR" });
  });

  test("a message does not affect the code", async () => {
    const registry = createEchoes({
      handler: () => {
        throw new Error("ACCESS_DENIED: Operation not found, timeout, aborted");
      },
    });

    await expect(registry.execute("test.echo", {})).rejects.toMatchObject({ code: "EXECUTION_ERROR" });
  });
});

describe("the context", () => {
  test("creates request id, signal and env when they are first read, and keeps them", async () => {
    let seen: OperationContext | undefined;
    const registry = createEchoes({
      handler: (_: unknown, context: OperationContext) => {
        seen = context;
        const { requestId, env, signal } = context;
        return [context.requestId === requestId, context.env === env, context.signal === signal];
      },
    });

    expect((await registry.execute("test.echo", {})).data).toEqual([true, true, true]);
    expect(Object.keys(seen!)).toEqual(["identity", "deadline", "metadata", "parentRequestId"]);
  });

  test("request ids differ between calls, and a given one is used", async () => {
    const registry = createEchoes({ handler: (_: unknown, { requestId }: OperationContext) => requestId });

    const ids = await Promise.all([registry.execute("test.echo", {}), registry.execute("test.echo", {})]);
    const given = await registry.execute("test.echo", {}, { requestId: "mine" });

    expect(new Set(ids.map(({ data }) => data)).size).toBe(2);
    expect(given.data).toBe("mine");
  });

  test("reports progress to the caller", async () => {
    const onProgress = vi.fn();
    const registry = createEchoes({
      handler: async (_: unknown, context: OperationContext) => {
        context.progress({ progress: 1, total: 2 });
        context.progress({ progress: 2, total: 2, message: "done" });
      },
    });

    await registry.execute("test.echo", {}, { onProgress });

    expect(onProgress.mock.calls).toEqual([[{ progress: 1, total: 2 }], [{ progress: 2, total: 2, message: "done" }]]);
  });

  test("has the metadata of the caller", async () => {
    const registry = createEchoes({ handler: (_: unknown, { metadata }: OperationContext) => metadata });

    expect((await registry.execute("test.echo", {}, { metadata: { trace: "t1" } })).data).toEqual({ trace: "t1" });
  });
});
