import { listen } from "@alkdev/operations/node";
import { serveWebSocket } from "@alkdev/operations/transport-websocket";
import { registry } from "./operations.ts";

const identities = new Map([
  ["token-of-ada", { id: "ada", scopes: ["chat:write"] }],
  ["token-of-bob", { id: "bob", scopes: [] }],
]);

export const listener = await listen(
  { "/": serveWebSocket(registry, { authenticate: ({ token = "" }) => identities.get(token) }) },
  { port: Number(process.env["PORT"] ?? 8080), closeOnSignals: true },
);
