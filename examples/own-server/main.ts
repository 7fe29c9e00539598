import assert from "node:assert/strict";
// #region use
import { createRegistry, defineOperation, Type } from "@alkdev/operations";
import { bearerTokens, createToken } from "@alkdev/operations/auth";
import { listen } from "@alkdev/operations/node";
import { serveJSONRPC } from "./json-rpc-server.ts";

const add = defineOperation({
  namespace: "math",
  name: "add",
  type: "query",
  inputSchema: Type.Object({ left: Type.Number(), right: Type.Number() }),
  outputSchema: Type.Number(),
  accessControl: { requiredScopes: ["math"] },
  handler: ({ left, right }) => left + right,
});
const { token, hash } = createToken();
const { authenticate } = bearerTokens([{ hash, identity: { id: "ada", scopes: ["math"] } }]);

const registry = createRegistry({ operations: [add] });
const listener = await listen({ "/rpc": serveJSONRPC(registry, authenticate) });
// #endregion use

async function send(method: string, params: object): Promise<unknown> {
  const response = await fetch(`${listener.url}/rpc`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const reply = await response.text();
  console.log(reply);
  return JSON.parse(reply);
}

assert.deepEqual(await send("math.add", { left: 2, right: 3 }), { jsonrpc: "2.0", id: 1, result: 5 });
const unknown = (await send("math.ad", {})) as { error: { code: number } };
assert.equal(unknown.error.code, -32601);
const json = { "content-type": "application/json" };
assert.equal((await fetch(`${listener.url}/rpc`, { method: "POST", headers: json, body: "{}" })).status, 401);
await listener.close();
