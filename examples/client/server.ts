// #region server
import { createServer } from "node:http";
import { createRegistry, defineOperation, serveCalls, Type } from "@alkdev/operations";
import { createWebSocketServer } from "@alkdev/operations/transport-websocket";

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

const http = createServer();
const authenticate = (token: string) => (token === "let-me-in" ? { id: "ada", scopes: ["task:write"] } : undefined);
const served = await serveCalls(registry, await createWebSocketServer({ server: http, path: "/calls", authenticate }));
http.listen(Number(process.env["PORT"] ?? 8080), "127.0.0.1");
// #endregion server

/** For the program beside it: waits until the server listens, and returns its port and the function that ends it. */
export async function whenListening(): Promise<{ port: number; close(): Promise<void> }> {
  if (!http.listening) await new Promise((resolve) => http.once("listening", resolve));
  const { port } = http.address() as { port: number };
  return {
    port,
    close: async () => {
      await served.close();
      http.close();
    },
  };
}
