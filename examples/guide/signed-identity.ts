/** Needs a Redis server, at `REDIS_URL` or on 127.0.0.1:6379. `npm run examples -- signed-identity` starts one. */
import assert from "node:assert/strict";

const url = process.env["REDIS_URL"];

// #region keys
import { generateKeyPair } from "jose";

const { privateKey, publicKey } = await generateKeyPair("EdDSA"); // or a PEM, a JWK, a secret of 32 bytes

// #endregion keys

// #region worker
import { createRegistry, defineOperation, serveCalls, Type } from "@alkdev/operations";
import { createJWTAuthenticator } from "@alkdev/operations/jwt";
import { createRedisTransport } from "@alkdev/operations/transport-redis";

const raise = defineOperation({
  namespace: "salary",
  name: "raise",
  type: "mutation",
  description: "Raises a salary",
  inputSchema: Type.Object({ person: Type.String(), percent: Type.Number() }),
  outputSchema: Type.String(),
  accessControl: { requiredScopes: ["salary:write"] },
  handler: ({ person, percent }, { identity }) => `${identity?.id} raised ${person} by ${percent} %`,
});

const registry = createRegistry({ operations: [raise] });
const authenticate = await createJWTAuthenticator({ key: publicKey, audience: "salary" });
const worker = await serveCalls(registry, await createRedisTransport({ url }), { authenticate });

// #endregion worker

// #region hub
import { OperationRegistry, PendingRequestMap, peerSource } from "@alkdev/operations";
import { createJWTSigner } from "@alkdev/operations/jwt";

const sign = await createJWTSigner({ key: privateKey, audience: "salary" });
const calls = new PendingRequestMap(await createRedisTransport({ url }), { sign });
const hub = new OperationRegistry();
const announced = new Promise<void>((resolve) => hub.on("change", () => resolve()));
await hub.follow(peerSource(calls));
await announced;

const ada = { id: "ada", scopes: ["salary:write"] }; // the caller that the hub has authenticated
const { data } = await hub.execute("salary.raise", { person: "Grace", percent: 10 }, { identity: ada });
console.log(data);
// #endregion hub
assert.equal(data, "ada raised Grace by 10 %");

// #region stranger
const eve = new PendingRequestMap(await createRedisTransport({ url })); // a client of the broker without the key
const input = { person: "Eve", percent: 900 };
for (const token of [undefined, "made-up", await sign({ id: "eve", scopes: [] })]) {
  const error = await eve.call("salary.raise", input, { token }).catch((problem) => problem);
  console.log(error.message);
}
// #endregion stranger
const claimed = eve.call("salary.raise", input, { identity: ada });
await assert.rejects(claimed, { code: "ACCESS_DENIED" });
assert.equal(await sign({ ...ada }), await sign(ada));

await eve.close();
await worker.close();
await calls.close();
