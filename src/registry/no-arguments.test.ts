import { Type } from "typebox";
import { expect, test } from "vitest";
import { OperationRegistry } from "./index.ts";
import { operation } from "./testing.ts";

test.each([
  [Type.Object({ a: Type.Optional(Type.String()) }), {}],
  [Type.Object({ a: Type.String({ default: "x" }) }), { a: "x" }],
  [{ type: "object" }, {}],
  [Type.Optional(Type.String()), undefined],
])("no input means an empty object where %j accepts one", async (inputSchema, expected) => {
  const registry = new OperationRegistry();
  registry.register(operation({ inputSchema }));

  const call = registry.execute("test.echo", undefined);

  if (expected === undefined) await expect(call).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
  else expect((await call).data).toEqual(expected);
});

test("no input names the properties that are missing", async () => {
  const registry = new OperationRegistry();
  registry.register(operation({ inputSchema: Type.Object({ a: Type.String() }) }));

  await expect(registry.execute("test.echo", undefined)).rejects.toThrow(
    'Invalid input of "test.echo": it must have the required property "a".',
  );
});

test("an unknown argument is reported once", async () => {
  const registry = new OperationRegistry();
  registry.register(operation({ inputSchema: Type.Object({ a: Type.String() }, { additionalProperties: false }) }));

  await expect(registry.execute("test.echo", { a: "x", b: 1 })).rejects.toMatchObject({
    details: { errors: [{ path: "/b", message: "is not expected" }], total: 1 },
  });
});
