import { defineOperation, Type } from "@alkdev/operations";

export default defineOperation({
  namespace: "greeting",
  name: "hello",
  type: "query",
  description: "Greets a person.",
  inputSchema: Type.Object({ name: Type.String({ description: "Name of the person." }) }),
  outputSchema: Type.Object({ message: Type.String() }),
  handler: ({ name }) => ({ message: `Hello, ${name}!` }),
});
