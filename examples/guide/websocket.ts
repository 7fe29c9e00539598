import assert from "node:assert/strict";

// #region server
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createRegistry, defineOperation, PendingRequestMap, serveCalls, Type } from "@alkdev/operations";
import { createWebSocketServer } from "@alkdev/operations/transport-websocket";

const greet = defineOperation({
  namespace: "door",
  name: "greet",
  type: "query",
  description: "Greets the caller",
  inputSchema: Type.Object({ at: Type.Unsafe<Date>({}) }),
  outputSchema: Type.Object({ text: Type.String() }),
  accessControl: { requiredScopes: ["door:enter"] },
  handler: ({ at }, { identity }) => ({ text: `Hello ${identity?.id}, it is ${at.toISOString()}` }),
});

const countdown = defineOperation({
  namespace: "door",
  name: "countdown",
  type: "subscription",
  description: "Counts down to zero",
  inputSchema: Type.Object({ from: Type.Integer() }),
  outputSchema: Type.Integer(),
  handler: async function* ({ from }) {
    for (let left = from; left >= 0; left--) yield left;
  },
});

const registry = createRegistry({ operations: [greet, countdown] });

// #region serve
const http = createServer();
const transport = await createWebSocketServer({
  server: http,
  path: "/operations",
  authenticate: ({ token }) => (token === "let-me-in" ? { id: "ada", scopes: ["door:enter"] } : undefined),
});
const served = await serveCalls(registry, transport);
http.listen(0, "127.0.0.1");
// #endregion serve
// #endregion server
await new Promise((resolve) => http.once("listening", resolve));
const url = `ws://127.0.0.1:${(http.address() as AddressInfo).port}/operations`;

// #region client
import { createWebSocketTransport } from "@alkdev/operations/transport-websocket";

const calls = new PendingRequestMap(await createWebSocketTransport(url, { token: "let-me-in" }));

const { data } = await calls.call<{ text: string }>("door.greet", { at: new Date(0) });
console.log(data.text);
for await (const { data: left } of calls.subscribe("door.countdown", { from: 3 })) console.log(left);
// #endregion client
assert.equal(data.text, "Hello ada, it is 1970-01-01T00:00:00.000Z");

// #region refused
const refused = await createWebSocketTransport(url, { token: "wrong" }).catch((error) => error);
console.log(refused.code);
// #endregion refused
assert.equal(refused.code, "UPSTREAM_DENIED");

// #region lost
const endless = calls.subscribe("door.countdown", { from: 1_000_000_000 });
await endless.next();
await served.close();
const lost = await drain(endless).catch((error) => error);
console.log(lost.code, { retryable: lost.retryable, mayHaveRun: lost.mayHaveRun });

await calls.close();
http.close();
// #endregion lost
assert.equal(lost.code, "UNAVAILABLE");

async function drain(values: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of values);
}

// #region listen
import { bearerTokens, createToken } from "@alkdev/operations/auth";
import { connect } from "@alkdev/operations/client";
import { listen } from "@alkdev/operations/node";
import { serveWebSocket } from "@alkdev/operations/transport-websocket";

const { token, hash } = createToken();
const authenticate = bearerTokens([{ hash, identity: { id: "ada", scopes: ["door:enter"] } }]);
const listener = await listen({ "/calls": serveWebSocket(registry, { authenticate }) });

const client = connect<typeof registry>(`${listener.url.replace("http", "ws")}/calls`, { token });
console.log((await client.door.greet({ at: new Date(0) })).text);
// #endregion listen
await client.close();
await listener.close();
