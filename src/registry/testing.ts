import { Type } from "typebox";
import { type IOperationDefinition, OperationType } from "../operation/index.ts";

/** A query `test.echo` that gives back its input; overrides make it what a test needs. */
export function operation(overrides: Partial<IOperationDefinition> = {}): IOperationDefinition {
  return {
    namespace: "test",
    name: "echo",
    version: "1.0.0",
    type: OperationType.QUERY,
    description: "Gives back its input.",
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

export { deferred } from "../internal/testing.ts";

/** Something that never settles. */
export const never = new Promise<never>(() => {});
