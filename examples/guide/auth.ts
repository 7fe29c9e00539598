import assert from "node:assert/strict";

// #region tokens
import { createRegistry, defineNamespace, Type } from "@alkdev/operations";
import { bearerTokens, createToken } from "@alkdev/operations/auth";
import { listen } from "@alkdev/operations/node";
import { serveHTTP } from "@alkdev/operations/serve-http";
import { serveWebSocket } from "@alkdev/operations/transport-websocket";

const define = defineNamespace("door", { accessControl: { requiredScopes: ["door:enter"] } });
const open = define({
  name: "open",
  type: "mutation",
  inputSchema: Type.Object({}),
  outputSchema: Type.String(),
  handler: (_input, { identity }) => `Welcome, ${identity?.id}`,
});
const visitors = define({
  name: "visitors",
  type: "subscription",
  inputSchema: Type.Object({}),
  outputSchema: Type.String(),
  handler: async function* (_input, { signal }) {
    yield "grace";
    await new Promise((resolve) => signal.addEventListener("abort", resolve)); // no further visitor comes
  },
});
const registry = createRegistry({ operations: [open, visitors] });

const { token, hash } = createToken(); // send the token to the caller, store only the hash
const authenticate = bearerTokens([{ hash, identity: { id: "ada", scopes: ["door:enter"] } }]);

const listener = await listen({
  "/": serveHTTP(registry, { authenticate }),
  "/calls": serveWebSocket(registry, { authenticate }),
});
// #endregion tokens

// #region call
async function openDoor(headers: Record<string, string>): Promise<string> {
  const init = { method: "POST", body: "{}", headers: { "content-type": "application/json", ...headers } };
  const response = await fetch(`${listener.url}/door/open`, init);
  return `${response.status} ${response.ok ? await response.json() : response.headers.get("www-authenticate")}`;
}
console.log(await openDoor({ authorization: `Bearer ${token}` }));
console.log(await openDoor({}));
console.log(await openDoor({ authorization: "Bearer let-me-in" }));
// #endregion call
assert.equal(await openDoor({ authorization: `Bearer ${token}` }), "200 Welcome, ada");

// #region add
const guest = createToken();
const tomorrow = Date.now() + 24 * 3_600_000;
authenticate.add({ hash: guest.hash, identity: { id: "guest", scopes: ["door:enter"], expiresAt: tomorrow } });
// #endregion add
assert.equal(await openDoor({ authorization: `Bearer ${guest.token}` }), "200 Welcome, guest");

// #region remove
import { connect } from "@alkdev/operations/client";

await using client = connect<typeof registry>(listener.url, { token });
const stream = client.door.visitors();
console.log((await stream.next()).value);

authenticate.remove(hash);
const ended = await stream.next().catch((error) => error);
console.log(ended.message);
console.log(await openDoor({ authorization: `Bearer ${token}` }));
// #endregion remove
assert.equal(ended.code, "ACCESS_DENIED");
await client.close();
await listener.close();

// #region jwt
import { apiKeys, firstOf, jwt } from "@alkdev/operations/auth";
import { createJWTSigner } from "@alkdev/operations/jwt";

const key = crypto.getRandomValues(new Uint8Array(32));
const either = firstOf(
  jwt({ key, issuer: "https://login.example.com/", audience: "https://door.example.com" }),
  apiKeys([{ hash, identity: { id: "robot", scopes: ["door:enter"] } }], { header: "X-Door-Key" }),
);
await using server = serveHTTP(registry, { authenticate: either });
// #endregion jwt

// #region jwks
const provider = jwt({
  jwks: "https://login.example.com/.well-known/jwks.json",
  issuer: "https://login.example.com/",
  audience: "https://door.example.com",
});
// #endregion jwks
assert.deepEqual(provider.describe?.().authorizationServers, ["https://login.example.com/"]);

const sign = await createJWTSigner({
  key,
  issuer: "https://login.example.com/",
  audience: "https://door.example.com",
});
const signed = await sign({ id: "ada", scopes: ["door:enter"] });

/** Sends a request to the server without a listener. */
async function send(headers: Record<string, string>): Promise<string> {
  const init = { method: "POST", body: "{}", headers: { "content-type": "application/json", ...headers } };
  return (await server.fetch(new Request("http://localhost/door/open", init))).text();
}
console.log(await send({ authorization: `Bearer ${signed}` }));
console.log(await send({ "x-door-key": token }));
assert.equal(await send({ "x-door-key": token }), '"Welcome, robot"');

// #region own
import { CallError, type Identity } from "@alkdev/operations";
import type { Credentials } from "@alkdev/operations/auth";

const sessions = new Map<string, Identity>([["s-1", { id: "grace", scopes: ["door:enter"] }]]);

function bySession({ headers }: Credentials) {
  const session = headers.get("x-session");
  if (session === null) return undefined; // none of my credentials: anonymous, or the next authenticator
  const identity = sessions.get(session);
  if (identity === undefined) throw new CallError("ACCESS_DENIED", "The session has ended. Sign in again.");
  return { ...identity, expiresAt: Date.now() + 3_600_000 };
}
// #endregion own
await using own = serveHTTP(registry, { authenticate: bySession });
const request = (session: string) =>
  new Request("http://localhost/door/visitors", { headers: { "x-session": session } });
assert.equal((await own.fetch(request("s-1"))).status, 200);
assert.equal((await own.fetch(request("s-2"))).status, 401);
await own.close({ timeout: 0 });

// #region cors
const cors = { origins: ["https://app.example.com", "http://localhost:5173"] };
await using forPages = serveHTTP(registry, { authenticate, cors });
// #endregion cors
const preflight = { origin: "https://app.example.com", "access-control-request-method": "POST" };
const permission = await forPages.fetch(
  new Request("http://localhost/door/open", { method: "OPTIONS", headers: preflight }),
);
assert.equal(permission.status, 204);
