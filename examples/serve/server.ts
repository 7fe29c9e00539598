// #region server
import { createRegistry, defineNamespace, Type } from "@alkdev/operations";
import { bearerTokens, createToken } from "@alkdev/operations/auth";
import { listen } from "@alkdev/operations/node";
import { serveHTTP } from "@alkdev/operations/serve-http";
import { serveWebSocket } from "@alkdev/operations/transport-websocket";

const Task = Type.Object({ id: Type.Integer(), title: Type.String() });
const tasks: Array<{ id: number; title: string }> = [];
const define = defineNamespace("task", { accessControl: { requiredScopes: ["task"] } });

const create = define({
  name: "create",
  type: "mutation",
  inputSchema: Type.Object({ title: Type.String({ minLength: 1 }) }),
  outputSchema: Task,
  handler: ({ title }) => tasks[tasks.push({ id: tasks.length + 1, title }) - 1]!,
});
const find = define({
  name: "find",
  type: "query",
  inputSchema: Type.Object({ text: Type.String({ default: "" }), limit: Type.Integer({ default: 10 }) }),
  outputSchema: Type.Array(Task),
  handler: ({ text, limit }) => tasks.filter(({ title }) => title.includes(text)).slice(0, limit),
});
export const registry = createRegistry({ operations: [create, find] });

const { token, hash } = createToken();
const authenticate = bearerTokens([{ hash, identity: { id: "ada", scopes: ["task"] } }]);
const servers = { "/": serveHTTP(registry, { authenticate }), "/calls": serveWebSocket(registry, { authenticate }) };
const listener = await listen(servers, { port: Number(process.env["PORT"] ?? 8080), closeOnSignals: true });
console.log(`Listening on ${listener.url}\nToken: ${token}`);

// #endregion server

export { listener, token };
