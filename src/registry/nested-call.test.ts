import { Type } from "typebox";
import { describe, expect, test, vi } from "vitest";
import { defineNamespace, markToolHandler, mcpEnvelope, type OperationContext } from "../operation/inside.ts";
import { createRegistry } from "./index.ts";
import { operation, subscription } from "./testing.ts";

const define = defineNamespace("task", { accessControl: { requiredScopes: ["task"] } });
const find = define({
  name: "find",
  type: "query",
  inputSchema: Type.Object({ id: Type.String() }),
  outputSchema: Type.Object({ id: Type.String(), by: Type.Optional(Type.String()) }),
  handler: ({ id }, { identity }) => ({ id, by: identity?.id ?? "" }),
});
const tool = operation({
  name: "tool",
  handler: markToolHandler(async () =>
    mcpEnvelope(undefined, { isError: true, content: [{ type: "text", text: "The disk is full." }] }),
  ),
});
const ticks = subscription(async function* () {
  yield 1;
});

/** Runs a handler inside an operation of a registry that has the operations above. */
function runInside(handler: (context: OperationContext) => unknown) {
  const outer = operation({ name: "outer", handler: (_: unknown, context: OperationContext) => handler(context) });
  const registry = createRegistry({ operations: [find, tool, ticks, outer] });
  return registry.execute("test.outer", {}, { identity: { id: "ada", scopes: [] }, metadata: { trace: 1 } });
}

test.each([[[null]], [[{ type: "text" }]], [[{ type: "text", text: 5 }]]])(
  "a client throws a CallError for an MCP result with isError whose content is %j",
  async (content) => {
    const envelope = mcpEnvelope(undefined, { isError: true, content: content as never });
    const failing = operation({ name: "failing", handler: markToolHandler(async () => envelope) });

    const called = createRegistry({ operations: [failing] })
      .client()
      ["test"]?.["failing"]?.({});

    await expect(called).rejects.toMatchObject({ code: "EXECUTION_ERROR", message: "The tool reported an error." });
  },
);

test("a handler reads the fields of its request, of which a nested call inherits the metadata only", async () => {
  const read = operation({
    name: "read",
    handler: (_: unknown, { metadata, lastEventId = "none" }: OperationContext) => ({ metadata, lastEventId }),
  });
  const outer = operation({
    name: "outer",
    handler: async ({ own }: { own?: object }, { call, lastEventId }: OperationContext) => [
      lastEventId,
      await call("test.read", {}, own),
    ],
  });
  const registry = createRegistry({ operations: [read, outer] });
  const options = { metadata: { trace: 1 }, lastEventId: "7" };
  const run = async (own: object) => (await registry.execute("test.outer", { own }, options)).data;

  expect(await run({})).toEqual(["7", { metadata: { trace: 1 }, lastEventId: "none" }]);
  expect(await run({ lastEventId: "8" })).toEqual(["7", { metadata: { trace: 1 }, lastEventId: "8" }]);
});

describe("context.call", () => {
  test("returns the data of an operation by definition or by id, and is trusted", async () => {
    const byDefinition = await runInside(({ call }) => call(find, { id: "1" }));
    const byId = await runInside(({ call }) => call("task.find", { id: "2" }));

    expect(byDefinition.data).toEqual({ id: "1", by: "ada" });
    expect(byId.data).toEqual({ id: "2", by: "ada" });
  });

  test("throws on an MCP result with isError, which env returns", async () => {
    const outcome = runInside(({ call }) => call("test.tool"));
    const returned = await runInside(({ env }) => env["test"]!["tool"]!());

    await expect(outcome).rejects.toMatchObject({ code: "EXECUTION_ERROR", message: "The disk is full." });
    expect(returned.meta).toMatchObject({ source: "mcp", isError: true });
  });

  test("fails like env: not found and invalid input are errors of the outer operation", async () => {
    const missing = runInside(({ call }) => call("task.fnd", { id: "1" }));
    const invalid = runInside(({ call }) => call(find, { id: 1 as never }));

    await expect(missing).rejects.toMatchObject({
      code: "EXECUTION_ERROR",
      details: { nested: { operationId: "task.fnd", code: "OPERATION_NOT_FOUND" } },
    });
    await expect(invalid).rejects.toMatchObject({
      details: { nested: { operationId: "task.find", code: "VALIDATION_ERROR" } },
    });
  });

  test("refuses a subscription, and names the correct function", async () => {
    const caught = vi.fn();
    await runInside(({ call }) => call("test.ticks").catch(caught));

    expect(caught).toHaveBeenCalledWith(
      expect.objectContaining({
        code: "WRONG_OPERATION_TYPE",
        message:
          '"test.ticks" is a subscription, which call() cannot run. Use subscribe(registry, id, input, context).',
      }),
    );
  });

  test.each([null, undefined, 5, {}, Symbol.iterator])("refuses %j instead of an operation", async (invalid) => {
    await expect(runInside(({ call }) => call(invalid as unknown as string))).rejects.toMatchObject({
      code: "EXECUTION_ERROR",
    });
  });

  test("accepts the options of a nested call", async () => {
    const outcome = runInside(({ call }) => call(find, { id: "1" }, { signal: AbortSignal.abort() }));
    const late = runInside(({ call }) => call(find, { id: "1" }, { deadline: Date.now() - 1_000 }));

    await expect(outcome).rejects.toMatchObject({ code: "ABORTED" });
    await expect(late).rejects.toMatchObject({ code: "TIMEOUT" });
  });

  test("is not trusted when the handler has ended", async () => {
    let kept: OperationContext["call"] | undefined;
    await runInside(({ call }) => {
      kept = call;
    });

    await expect(kept!(find, { id: "1" })).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  });
});
