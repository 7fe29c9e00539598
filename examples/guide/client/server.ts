// #region server
import { createRegistry, defineOperation, Type } from "@alkdev/operations";
import { bearerTokens, createToken } from "@alkdev/operations/auth";
import { listen } from "@alkdev/operations/node";
import { serveHTTP } from "@alkdev/operations/serve-http";
import { serveWebSocket } from "@alkdev/operations/transport-websocket";

const titles: string[] = [];

const create = defineOperation({
  namespace: "task",
  name: "create",
  type: "mutation",
  inputSchema: Type.Object({ title: Type.String() }),
  outputSchema: Type.Object({ id: Type.Integer(), title: Type.String() }),
  errors: { TITLE_TAKEN: Type.Object({ title: Type.String() }) },
  accessControl: { requiredScopes: ["task:write"] },
  handler: ({ title }, { errors }) => {
    if (titles.includes(title)) throw errors.TITLE_TAKEN({ title }, "There is a task with this title.");
    return { id: titles.push(title), title };
  },
});

const changes = defineOperation({
  namespace: "task",
  name: "changes",
  type: "subscription",
  inputSchema: Type.Object({}),
  outputSchema: Type.Object({ title: Type.String() }),
  handler: async function* () {
    for (const title of titles) yield { title };
  },
});

export const registry = createRegistry({ operations: [create, changes] });

export const { token, hash } = createToken(); // send the token to the caller, and store only its hash
const authenticate = bearerTokens([{ hash, identity: { id: "ada", scopes: ["task:write"] } }]);
export const listener = await listen(
  { "/": serveHTTP(registry, { authenticate }), "/calls": serveWebSocket(registry, { authenticate }) },
  { port: Number(process.env["PORT"] ?? 8080) },
);
// #endregion server
