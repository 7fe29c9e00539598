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
import type { CallRequested, ReplyFrame } from "@alkdev/operations/transport";

/** A client of the broker that reads the requests of others and sends its own. */
async function send(frame: CallRequested): Promise<ReplyFrame> {
  const stranger = await createRedisTransport({ url });
  const reply = await new Promise<ReplyFrame>((resolve) => stranger.request(frame.operationId, frame, resolve));
  await stranger.close();
  return reply;
}

const caught: CallRequested = {
  type: "call.requested",
  requestId: crypto.randomUUID(),
  operationId: "salary.raise",
  input: { person: "Grace", percent: 10 },
};
caught.token = await sign(ada, caught); // signed for this call, and read by the stranger on the bus

for (const frame of [{ ...caught, input: { person: "Eve", percent: 900 } }, caught, caught]) {
  const reply = await send(frame);
  console.log(reply.type === "call.error" ? reply.message : reply.type);
}
// #endregion stranger
const replies = await Promise.all([send(caught), send({ ...caught, token: undefined, identity: ada } as never)]);
assert.deepEqual(new Set(replies.map(({ type }) => type)), new Set(["call.error"]));
await worker.close();

// #region shared
import { createClient } from "@redis/client";

const redis = await createClient({ url }).connect();
const takeOnce = async (requestId: string, expiresAt: number) => {
  const expiration = { type: "PXAT", value: expiresAt } as const;
  return (await redis.set(`taken:${requestId}`, "", { condition: "NX", expiration })) === "OK";
};

const strict = await createJWTAuthenticator({ key: publicKey, audience: "salary", takeOnce });
// #endregion shared
const another = await createJWTAuthenticator({ key: publicKey, audience: "salary", takeOnce });
const later = { ...caught, requestId: crypto.randomUUID() };
const token = await sign(ada, later);
assert.equal((await strict(token, undefined, later))?.id, ada.id);
await assert.rejects(another(token, undefined, later), { code: "ACCESS_DENIED" });

// #region fast
const signOnce = await createJWTSigner({ key: privateKey, audience: "salary", bind: "identity" });
const authenticateFast = await createJWTAuthenticator({ key: publicKey, audience: "salary", bind: "identity" });
// #endregion fast
assert.equal((await authenticateFast(await signOnce(ada)))?.id, ada.id);
assert.equal(await signOnce({ ...ada }), await signOnce(ada));

await redis.close();
await calls.close();
