import { defineOperation, Type } from "@alkdev/operations";

export default defineOperation({
  namespace: "text",
  name: "hello",
  type: "query",
  description: "Returns a greeting",
  inputSchema: Type.Object({ name: Type.String() }),
  outputSchema: Type.String(),
  handler: ({ name }) => `Hello, ${name}!`,
});
