import { inspect } from "node:util";
import { Type } from "typebox";
import { expect, test } from "vitest";
import { CallError, type OperationContext } from "../operation/index.ts";
import { OperationRegistry } from "./functions.ts";
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
