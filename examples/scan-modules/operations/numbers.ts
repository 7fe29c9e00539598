import { Type } from "@alkdev/operations";

const common = {
  namespace: "number",
  version: "1.0.0",
  type: "query",
  inputSchema: Type.Object({ a: Type.Number(), b: Type.Number() }),
  outputSchema: Type.Number(),
  accessControl: { requiredScopes: [] },
};

export default [
  { ...common, name: "add", description: "Adds", handler: ({ a, b }: { a: number; b: number }) => a + b },
  { ...common, name: "multiply", description: "Multiplies; its handler is registered later" },
  { ...common, name: "divide", description: "Has no version", version: undefined },
];
