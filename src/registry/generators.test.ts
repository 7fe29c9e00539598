import { Readable } from "node:stream";
import { type TSchema, Type } from "typebox";
import { describe, expect, test } from "vitest";
import { localEnvelope, type OperationHandler, OperationType } from "../operation/index.ts";
import { OperationRegistry } from "./index.ts";
import { operation } from "./testing.ts";

async function* generate() {
  yield 1;
}

function* count() {
  yield 1;
}

const asHandler = (handler: unknown) => handler as OperationHandler;

describe("a generator function as the handler of a query or mutation", () => {
  const message =
    'The handler of "test.echo" is a generator function, which only subscriptions can have. Set its type to "subscription", or return the values in a list.';

  test.each([
    ["async", OperationType.QUERY, generate],
    ["async", OperationType.MUTATION, generate],
    ["synchronous", OperationType.QUERY, count],
  ])("is refused when it is registered: %s, %s", (_, type, handler) => {
    const registry = new OperationRegistry();
    const refusal = expect.objectContaining({ code: "VALIDATION_ERROR", message });
    const definition = operation({ type, handler: asHandler(handler) });
    const { handler: _none, ...spec } = operation({ type });

    expect(() => registry.register(definition)).toThrow(refusal);
    expect(() => registry.registerAll([definition])).toThrow(refusal);
    expect(() => registry.replace(definition)).toThrow(refusal);
    registry.registerSpec(spec);
    expect(() => registry.registerHandler("test.echo", asHandler(handler))).toThrow(refusal);
  });

  test("is accepted for a subscription", () => {
    const registry = new OperationRegistry();

    registry.register(operation({ type: OperationType.SUBSCRIPTION, handler: generate }));

    expect(registry.has("test.echo")).toBe(true);
  });
});

describe("the result of such a handler", () => {
  const custom = { [Symbol.asyncIterator]: generate };

  test.each<[string, () => unknown, TSchema]>([
    ["an async generator", generate, Type.Unknown()],
    ["an async generator where an object is described", generate, Type.Object({})],
    ["an async generator where a list is described", generate, Type.Array(Type.Number())],
    ["a generator", count, Type.Unknown()],
    ["an async iterable", () => custom, Type.Unknown()],
    ["an async iterable in an envelope", () => localEnvelope(generate(), "test.echo"), Type.Unknown()],
  ])("is refused when it is %s", async (_, make, outputSchema) => {
    const registry = new OperationRegistry();
    registry.register(operation({ outputSchema, handler: async () => make() }));

    await expect(registry.execute("test.echo", {})).rejects.toMatchObject({
      code: "EXECUTION_ERROR",
      message:
        'The handler of "test.echo" returned an iterator, which is not data. Set its type to "subscription", or return the values in a list.',
    });
  });

  test.each<[string, unknown]>([
    ["a list", [1]],
    ["a map", new Map([[1, 2]])],
    ["a stream of bytes", new ReadableStream()],
    ["a stream of Node", Readable.from(["x"])],
    ["an object with a property named next", { next: { next: null } }],
  ])("may be %s", async (_, value) => {
    const registry = new OperationRegistry();
    registry.register(operation({ handler: () => value }));

    expect((await registry.execute("test.echo", {})).data).toBe(value);
  });
});
