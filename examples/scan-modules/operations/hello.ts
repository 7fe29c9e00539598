import { defineOperation, OperationType, Type } from "@alkdev/operations";

export default defineOperation({
  namespace: "text",
  name: "hello",
  version: "1.0.0",
  type: OperationType.QUERY,
  description: "Returns a greeting",
  inputSchema: Type.Object({ name: Type.String() }),
  outputSchema: Type.String(),
  accessControl: { requiredScopes: [] },
  handler: ({ name }) => `Hello, ${name}!`,
});
