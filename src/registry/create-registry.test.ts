import { Type } from "typebox";
import { expect, test } from "vitest";
import { defineOperation, isCallError } from "../operation/index.ts";
import { createRegistry, OperationRegistry, subscribe } from "./index.ts";

const add = defineOperation({
  namespace: "math",
  name: "add",
  version: "1.0.0",
  type: "query",
  description: "Adds two numbers",
  inputSchema: Type.Object({ left: Type.Number(), right: Type.Number() }),
  outputSchema: Type.Object({ sum: Type.Number() }),
  accessControl: { requiredScopes: [] },
  handler: ({ left, right }) => ({ sum: left + right }),
});
const count = defineOperation({
  namespace: "math",
  name: "count",
  version: "1.0.0",
  type: "subscription",
  description: "Counts up",
  inputSchema: Type.Object({ to: Type.Integer() }),
  outputSchema: Type.Integer(),
  accessControl: { requiredScopes: [] },
  async *handler({ to }) {
    for (let value = 1; value <= to; value++) yield value;
  },
});

test("a created registry is an OperationRegistry with its operations in the order given", () => {
  const registry = createRegistry({ operations: [count, add] });

  expect(registry).toBeInstanceOf(OperationRegistry);
  expect(registry.list().map(({ name }) => name)).toEqual(["count", "add"]);
});

test("a created registry runs its operations by execute, client and subscribe", async () => {
  const registry = createRegistry({ operations: [add, count] });
  const counted: number[] = [];

  const { data } = await registry.execute("math.add", { left: 1, right: 2 });
  const byClient = await registry.client().math.add({ left: 3, right: 4 });
  for await (const envelope of subscribe(registry, "math.count", { to: 3 })) counted.push(envelope.data);

  expect({ data, byClient, counted }).toEqual({ data: { sum: 3 }, byClient: { sum: 7 }, counted: [1, 2, 3] });
});

test("two operations with one id are refused", () => {
  let error: unknown;

  try {
    createRegistry({ operations: [add, { ...add }] });
  } catch (thrown) {
    error = thrown;
  }

  expect(isCallError(error) && error.message).toContain('"math.add" is registered already');
});

test("the other options are passed to the registry", async () => {
  const wrong = { ...add, handler: () => ({ sum: "three" }) as never };
  const registry = createRegistry({ operations: [wrong], outputPolicy: "strict" });

  await expect(registry.execute("math.add", { left: 1, right: 2 })).rejects.toMatchObject({ code: "OUTPUT_INVALID" });
});

test("without operations, the registry is empty", () => {
  expect([createRegistry().list(), createRegistry({}).list()]).toEqual([[], []]);
});

test.each([
  ["a list instead of options", [add]],
  ["a definition instead of options", add],
  ["a definition instead of a list", { operations: add }],
])("%s is an error that shows what to write", (_name, options) => {
  expect(() => createRegistry(options as never)).toThrow(
    new TypeError(
      "createRegistry() takes an object with a list of operations: createRegistry({ operations: [create] }).",
    ),
  );
});

test.each<[name: string, operation: unknown, message: string]>([
  ["a definition", add, "The id of an operation must be a string, not an object."],
  ["nothing", undefined, "The id of an operation must be a string, not undefined."],
  ["a number", 7, "The id of an operation must be a string, not 7."],
])("%s in place of an id is an error that shows what to write", async (_name, operation, message) => {
  const registry = createRegistry({ operations: [add] });

  const error: unknown = await registry.execute(operation as "math.add", { left: 1, right: 2 }).catch((it) => it);

  expect(error).toMatchObject({ code: "OPERATION_NOT_FOUND", message, mayHaveRun: false });
});

test("a nested call of nothing is an error that shows what to write", async () => {
  const missing = new Map<string, string>().get("math.none");
  const broken = defineOperation({
    ...add,
    name: "broken",
    handler: (_input, { call }) => call(missing!, {}),
  });
  const registry = createRegistry({ operations: [broken] });

  const error: unknown = await registry.execute("math.broken", { left: 1, right: 2 }).catch((it) => it);

  expect(error).toMatchObject({
    code: "EXECUTION_ERROR",
    message: "call() takes a definition or the id of an operation, not undefined.",
  });
});

test.each([undefined, {}, add])("%j is not a source", async (source) => {
  const registry = createRegistry();

  await expect(registry.follow(source as never)).rejects.toThrow(
    new TypeError("follow() takes a source, such as openAPISource(…), mcpSource(…) or moduleSource(…)."),
  );
});
