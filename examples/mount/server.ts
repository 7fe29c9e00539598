// #region server
import { createRegistry, defineOperation, Type } from "@alkdev/operations";
import { serveHTTP } from "@alkdev/operations/serve-http";

const greet = defineOperation({
  namespace: "text",
  name: "greet",
  type: "query",
  inputSchema: Type.Object({ name: Type.String() }),
  outputSchema: Type.String(),
  handler: ({ name }, { identity }) => `Hello ${name}, from ${identity?.id}`,
});

export const registry = createRegistry({ operations: [greet] });
export const server = serveHTTP(registry, {
  authenticate: ({ token }) => (token === "let-me-in" ? { id: "ada", scopes: [] } : undefined),
});
// #endregion server
