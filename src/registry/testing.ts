import { Type } from "typebox";
import { afterEach, beforeEach, expect } from "vitest";
import { type IOperationDefinition, OperationType } from "../operation/index.ts";
import { OperationRegistry } from "./index.ts";

/** A query `test.echo` that returns its input. Tests override its fields. */
export function operation(overrides: Partial<IOperationDefinition> = {}): IOperationDefinition {
  return {
    namespace: "test",
    name: "echo",
    version: "1.0.0",
    type: OperationType.QUERY,
    description: "Returns its input.",
    inputSchema: Type.Unknown(),
    outputSchema: Type.Unknown(),
    accessControl: { requiredScopes: [] },
    handler: (input: unknown) => input,
    ...overrides,
  };
}

/** A subscription `test.ticks` with the given handler. */
export function subscription(
  handler: IOperationDefinition["handler"],
  overrides: Partial<IOperationDefinition> = {},
): IOperationDefinition {
  return operation({ name: "ticks", type: OperationType.SUBSCRIPTION, handler, ...overrides });
}

/** A registry with these operations. */
export function registryOf(...definitions: IOperationDefinition[]): OperationRegistry {
  const registry = new OperationRegistry();
  registry.registerAll(definitions);
  return registry;
}

/** A registry with an operation for each of these overrides. */
export function createEchoes(...overrides: Array<Partial<IOperationDefinition>>): OperationRegistry {
  return registryOf(...overrides.map(operation));
}

/** Unhandled rejections are reported after all microtasks. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Makes every test of the file fail that leaves a rejection unhandled. Returns the list of unhandled rejections. */
export function failOnUnhandledRejections(): readonly unknown[] {
  const unhandled: unknown[] = [];
  const noteUnhandled = (reason: unknown) => unhandled.push(reason);
  beforeEach(() => {
    unhandled.length = 0;
    process.on("unhandledRejection", noteUnhandled);
  });
  afterEach(async () => {
    await nextTurn();
    process.off("unhandledRejection", noteUnhandled);
    expect(unhandled).toEqual([]);
  });
  return unhandled;
}

export { deferred } from "../internal/testing.ts";

/** A promise that never settles. */
export const never = new Promise<never>(() => {});
