import { inspect } from "node:util";
import { Type } from "typebox";
import { expect, onTestFinished, test, vi } from "vitest";
import { CallError, mcpEnvelope, type OperationContext } from "../operation/index.ts";
import { OperationRegistry } from "./index.ts";
import { operation } from "./testing.ts";

test("progress can be destructured from the context like its other members", async () => {
  const heard: unknown[] = [];
  const registry = new OperationRegistry();
  registry.register(
    operation({
      handler: (_: unknown, { progress, requestId, signal, env, metadata }: OperationContext) => {
        progress({ progress: 1 });
        return [typeof requestId, signal.aborted, typeof env, metadata];
      },
    }),
  );

  await registry.execute("test.echo", {}, { onProgress: (progress) => heard.push(progress) });

  expect(heard).toEqual([{ progress: 1 }]);
});

test("a deadline that is a duration is refused with a correct example", async () => {
  const registry = new OperationRegistry();
  registry.register(operation());

  await expect(registry.execute("test.echo", {}, { deadline: 5_000 })).rejects.toMatchObject({
    code: "VALIDATION_ERROR",
    message: expect.stringContaining("Date.now() + 5_000"),
    mayHaveRun: false,
  });
});

test.each([0, 99])("the deadline %j is not taken for a duration", async (deadline) => {
  const registry = new OperationRegistry();
  registry.register(operation());

  await expect(registry.execute("test.echo", {}, { deadline })).rejects.toMatchObject({ code: "TIMEOUT" });
});

test.each(["inputSchema", "outputSchema"])(
  "a malformed %s is reported when the operation is first called",
  async (which) => {
    const registry = new OperationRegistry();
    registry.register(operation({ [which]: { type: "object", properties: { a: { type: "strnig" } } } }));

    await expect(registry.execute("test.echo", {})).rejects.toMatchObject({
      code: "EXECUTION_ERROR",
      message: expect.stringMatching(new RegExp(`^"test.echo" cannot be called: its ${which}.*/properties/a/type`)),
      mayHaveRun: false,
    });
  },
);

test("an error without details prints without them", () => {
  expect(inspect(new CallError("GONE", "Gone"))).not.toContain("details");
});

test("a failure of a nested call prints the operation that failed, and is otherwise the same error", async () => {
  const thrown = new CallError("HTTP_404", "HTTP 404: Not Found", { status: 404 });
  const registry = new OperationRegistry();
  registry.registerAll([
    operation({ name: "get", handler: () => Promise.reject(thrown) }),
    operation({ name: "throw", handler: () => Promise.reject(new Error("disk full")) }),
    operation({
      name: "tool",
      handler: () => mcpEnvelope(undefined, { isError: true, content: [{ type: "text", text: "quota" }] }),
    }),
    operation({ name: "outer", handler: (id: string, { call }: OperationContext) => call(id, {}) }),
  ]);
  const fail = (id: string) => registry.execute("test.outer", id).catch((error: unknown) => error);

  const failure = await fail("test.get");
  expect(failure).toBe(thrown);
  expect(failure).toEqual(new CallError("HTTP_404", "HTTP 404: Not Found", { status: 404 }));
  expect(inspect(failure)).toMatch(
    /^CallError: HTTP 404: Not Found\n {4}at [\s\S]*status: 404 \}\n\} in operation "test\.get"$/,
  );
  expect(inspect({ failure: await fail("test.throw") })).toMatch(/disk full[\s\S]*\} in operation "test\.throw"/);
  expect(inspect(await fail("test.tool"))).toMatch(/quota[\s\S]*\} in operation "test\.tool"$/);
  const client: Promise<unknown> = registry.client()["test"]!["tool"]!({});
  expect(inspect(await client.catch((error: unknown) => error))).toMatch(/ in operation "test\.tool"$/);
});

test("an envelope prints its drift", async () => {
  const outputSchema = Type.Object({ id: Type.String() });
  const registry = new OperationRegistry();
  registry.register(operation({ outputSchema, handler: () => ({ id: "a", excess: 1 }) }));
  const envelope = await registry.execute("test.echo");

  expect(inspect(envelope)).toContain("drift: [ { path: '/excess', kind: 'stripped', message: 'not in the schema' } ]");
  expect(envelope.meta.drift).toEqual([{ path: "/excess", kind: "stripped", message: "not in the schema" }]);
});

test("each registry warns once per operation and kind of drift", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  onTestFinished(() => warn.mockRestore());
  const drifting = operation({
    outputSchema: Type.Object({ id: Type.String() }),
    handler: () => ({ id: "a", excess: 1 }),
  });
  for (const log of [true, true, false]) {
    const registry = new OperationRegistry({ log });
    registry.register(drifting);
    for (let count = 0; count < 3; count++) await registry.execute("test.echo", {});
  }

  const line =
    "[alkdev.operations.registry] test.echo returned /excess, which is not part of its outputSchema. It was removed.";
  expect(warn.mock.calls).toEqual([[line], [line]]);
});

test("middleware that is not a function is refused immediately", () => {
  expect(() => new OperationRegistry().use(undefined as never)).toThrow(/use\(\) requires a function/);
});

test("registerAll accepts specs whose handlers are registered later", async () => {
  const { handler, ...spec } = operation({ name: "later", inputSchema: Type.String() });
  const registry = new OperationRegistry();
  registry.registerAll([operation(), spec]);
  registry.registerHandler("test.later", handler);

  expect((await registry.execute("test.later", "x")).data).toBe("x");
});
