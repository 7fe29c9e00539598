import { createRegistry, defineOperation, OperationType, Type } from "@alkdev/operations";

/** The input of every call. */
export const input = { text: "hello" };

const text = Type.Object({ text: Type.String() });

/** The operation that most walks call. */
export const echo = defineOperation({
  namespace: "walk",
  name: "echo",
  version: "1.0.0",
  type: OperationType.QUERY,
  description: "Returns its input",
  inputSchema: text,
  outputSchema: text,
  accessControl: { requiredScopes: [] },
  handler: async (value) => value,
});

/** An operation whose handler makes one nested call. */
const outer = defineOperation({
  namespace: "walk",
  name: "outer",
  version: "1.0.0",
  type: OperationType.QUERY,
  description: "Calls `walk.echo`",
  inputSchema: text,
  outputSchema: text,
  accessControl: { requiredScopes: [] },
  handler: (value, context) => context.call("walk.echo", value),
});

export const registry = createRegistry({ operations: [echo, outer] });
