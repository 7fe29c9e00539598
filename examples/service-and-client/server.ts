// #region server
import { createServer } from "node:http";
import { serveCalls } from "@alkdev/operations";
import { createWebSocketServer } from "@alkdev/operations/transport-websocket";
import { registry } from "./operations.ts";

const identities = new Map([
  ["token-of-ada", { id: "ada", scopes: ["chat:write"] }],
  ["token-of-bob", { id: "bob", scopes: [] }],
]);

const http = createServer();
const authenticate = (token = "") => identities.get(token);
const served = await serveCalls(registry, await createWebSocketServer({ server: http, authenticate }));
http.listen(Number(process.env["PORT"] ?? 8080), "127.0.0.1");

/** Ends subscriptions, lets running calls finish for up to ten seconds, and closes the connections. */
export async function stop(): Promise<void> {
  await served.close();
  http.close();
}
process.once("SIGTERM", stop);

// #endregion server

export { http };
