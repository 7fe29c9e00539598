import assert from "node:assert/strict";
import { createRegistry, defineOperation, Type } from "@alkdev/operations";

process.env["PORT"] = "0"; // any free port

const greet = defineOperation({
  namespace: "text",
  name: "greet",
  type: "query",
  inputSchema: Type.Object({ name: Type.String() }),
  outputSchema: Type.String(),
  handler: ({ name }) => `Hello, ${name}!`,
});
const registry = createRegistry({ operations: [greet] });
const authenticate = ({ token }: { token?: string | undefined }) =>
  token === "let-me-in" ? { id: "ada", scopes: [] } : undefined;

// #region listen
import { listen } from "@alkdev/operations/node";
import { serveHTTP } from "@alkdev/operations/serve-http";
import { serveWebSocket } from "@alkdev/operations/transport-websocket";

const listener = await listen(
  {
    "/": serveHTTP(registry, { authenticate }),
    "/calls": serveWebSocket(registry, { authenticate }),
  },
  { port: Number(process.env["PORT"] ?? 8_080), closeOnSignals: true },
);
console.log(`Listening on ${listener.url}`);

// #endregion listen

import { connect } from "@alkdev/operations/client";

for (const url of [listener.url, `ws://127.0.0.1:${listener.port}/calls`]) {
  await using client = connect<typeof registry>(url, { token: "let-me-in" });
  assert.equal(await client.text.greet({ name: "Ada" }), "Hello, Ada!");
}
assert.equal((await fetch(`${listener.url}/healthz`)).status, 200);
process.kill(process.pid, "SIGINT");

// #region closed
await listener.closed;
await registry.close();
// #endregion closed
