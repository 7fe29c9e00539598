import { createHmac } from "node:crypto";
import { exportJWK, exportSPKI, generateKeyPair, generateSecret } from "jose";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Identity } from "../operation/index.ts";
import { createJWTAuthenticator, createJWTSigner, type JWTAuthenticatorOptions } from "./index.ts";
import { forge, inSeconds, requested, secret, write } from "./testing.ts";

const audience = "workers";
const ada: Identity = { id: "ada", scopes: ["task:write"], resources: { "task:1": ["read"] } };
const good = { aud: audience, sub: "ada", scopes: ["task:write"], exp: inSeconds(60) };

/** Returns the result of an authenticator for an identity. */
const proven = (identity: Identity) => ({ ...identity, expiresAt: expect.any(Number) });

const acceptIdentities = (options: Partial<JWTAuthenticatorOptions> = {}) =>
  createJWTAuthenticator({ key: secret, audience, ...options });

/** Returns the reason why a token is refused. No error may contain the token or its signature. */
async function refusalOf(token: string, options: Partial<JWTAuthenticatorOptions> = {}): Promise<string> {
  const authenticate = await acceptIdentities(options);
  const error = await authenticate(token, undefined, requested()).catch((problem) => problem);
  expect(error).toMatchObject({ code: "ACCESS_DENIED", mayHaveRun: false, details: { operationId: "task.create" } });
  const parts = token.split(".").filter((part) => part.length > 8);
  expect(parts.filter((part) => JSON.stringify([error, error.message, String(error.cause)]).includes(part))).toEqual(
    [],
  );
  return error.details.reason;
}

afterEach(() => {
  vi.useRealTimers();
});

describe("tokens for an identity", () => {
  test("a signed identity is returned unchanged, and its rights cannot be changed", async () => {
    const sign = await createJWTSigner({ key: secret, audience });
    const authenticate = await acceptIdentities();
    const token = await sign(ada);

    const first = await authenticate(token);
    expect(() => first!.scopes.push("admin")).toThrow(TypeError);
    expect(() => first!.resources!["task:1"]!.push("delete")).toThrow(TypeError);
    const second = await authenticate(token);

    expect(second).toEqual(proven(ada));
  });

  test("the identity has the expiry of the token, including the clock tolerance", async () => {
    const authenticate = await acceptIdentities({ clockTolerance: 30_000 });
    const exp = inSeconds(60);
    const past = inSeconds(-10);

    const valid = await forge({ ...good, exp });
    const answers = [
      await authenticate(valid),
      await authenticate(valid),
      await authenticate(await forge({ ...good, exp: past })),
    ];

    expect(answers.map((answer) => answer?.expiresAt)).toEqual([exp * 1_000, exp * 1_000, past * 1_000 + 30_000]);
  });

  test("a call without a token has no identity, even if it contains one", async () => {
    const authenticate = await acceptIdentities();

    expect(await authenticate(undefined, ada, requested())).toBe(undefined);
  });

  test("scopes of OAuth are read, and a token without scopes has none", async () => {
    const authenticate = await acceptIdentities();
    const { scopes: _scopes, ...bare } = good;

    const oauth = await authenticate(await forge({ ...bare, scope: "task:read  task:write" }));
    const list = await authenticate(await forge({ ...bare, scp: ["task:read", "task:write"] }));
    const joined = await authenticate(await forge({ ...bare, scp: "task:read task:write" }));
    const none = await authenticate(await forge(bare));

    expect([oauth, list, joined, none]).toEqual([
      ...Array(3).fill(proven({ id: "ada", scopes: ["task:read", "task:write"] })),
      proven({ id: "ada", scopes: [] }),
    ]);
  });

  test("a cached token is refused after it has expired", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const authenticate = await acceptIdentities();
    const token = await forge({ ...good, exp: inSeconds(60) });

    await authenticate(token);
    vi.setSystemTime(Date.now() + 75_000);

    await expect(authenticate(token)).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  });

  const noJWT = /^the token is not a signed JWT/;
  const wrongKey = /^the token was not signed with a key of the server/;
  const badScopes = /^the scopes of the token are malformed/;
  const badResources = /^the resources of the token are malformed/;
  const noExpiry = /^the token has no expiration time/;
  const noSubject = /^the token has no subject/;
  const tooLong = /^the token is valid for more than 86400 s/;
  const hostile: Record<string, [() => string | Promise<string>, RegExp]> = {
    "an empty token": [() => "", noJWT],
    "a string that is not a JWT": [() => "let me in", noJWT],
    "empty parts": [() => "..", noJWT],
    "a header that is not JSON": [() => `${btoa("nonsense")}.e30.x`, noJWT],
    "an encrypted token": [() => write({ alg: "dir", enc: "A256GCM" }, {}, "a.b.c"), /./],
    "alg none": [() => write({ alg: "none" }, good), wrongKey],
    "alg None": [() => write({ alg: "None" }, good, "x"), wrongKey],
    "no alg": [() => write({}, good, "x"), wrongKey],
    "an alg that is a list": [() => write({ alg: ["HS256"] }, good, "x"), wrongKey],
    "another key": [() => forge(good, {}, new Uint8Array(32)), wrongKey],
    "another algorithm with the same key": [() => forge(good, { alg: "HS512" }, new Uint8Array(64)), wrongKey],
    "an empty signature": [async () => `${(await forge(good)).split(".").slice(0, 2).join(".")}.`, wrongKey],
    "claims that were changed": [
      async () => {
        const [header, , signature] = (await forge(good)).split(".");
        return write({}, { ...good, scopes: ["admin"] }).replace(/^[^.]*/, header!) + signature;
      },
      wrongKey,
    ],
    "a key in the header": [() => forgeWithOwnKey("jwk"), wrongKey],
    "a URL of keys in the header": [() => forgeWithOwnKey("jku"), wrongKey],
    "an unknown critical extension": [() => forge(good, { crit: ["exp2"], exp2: 1 }).catch(() => critical()), /./],
    "claims that are a list": [() => forge([good]), noJWT],
    "claims that are not JSON": [() => forge("{"), noJWT],
    "no exp": [() => forge({ ...good, exp: undefined }), noExpiry],
    "exp as a string": [() => forge({ ...good, exp: String(inSeconds(60)) }), noExpiry],
    "exp as null": [() => forge({ ...good, exp: null }), noExpiry],
    "exp as a list": [() => forge({ ...good, exp: [inSeconds(60)] }), noExpiry],
    "a negative exp": [() => forge({ ...good, exp: -1 }), /^the token has expired/],
    "exp in the past": [() => forge({ ...good, exp: inSeconds(-20) }), /^the token has expired/],
    "exp in the year 9999": [() => forge({ ...good, exp: 253_402_300_799 }), tooLong],
    "an infinite exp": [() => forge(JSON.stringify(good).replace(/"exp":\d+/, '"exp":1e999')), tooLong],
    "exp in milliseconds": [() => forge({ ...good, exp: Date.now() + 60_000 }), tooLong],
    "a later nbf": [() => forge({ ...good, nbf: inSeconds(60) }), /^the token is not valid yet/],
    "no audience": [() => forge({ ...good, aud: undefined }), /another audience/],
    "another audience": [() => forge({ ...good, aud: "others" }), /another audience/],
    "an audience that contains ours": [() => forge({ ...good, aud: "workers.evil.test" }), /another audience/],
    "no sub": [() => forge({ ...good, sub: undefined }), noSubject],
    "an empty sub": [() => forge({ ...good, sub: "" }), noSubject],
    "sub as a number": [() => forge({ ...good, sub: 1 }), noSubject],
    "scopes as a string": [() => forge({ ...good, scopes: "admin" }), badScopes],
    "scopes as an object": [() => forge({ ...good, scopes: { 0: "admin", length: 1 } }), badScopes],
    "scopes with a number": [() => forge({ ...good, scopes: ["admin", 1] }), badScopes],
    "scopes as null beside a scope": [() => forge({ ...good, scopes: null, scope: "admin" }), badScopes],
    "scp as an object": [() => forge({ ...good, scopes: undefined, scp: { 0: "admin" } }), badScopes],
    "scope as a list": [() => forge({ ...good, scopes: undefined, scope: ["admin"] }), badScopes],
    "resources as a list": [() => forge({ ...good, resources: [["task:1"]] }), badResources],
    "resources as null": [() => forge({ ...good, resources: null }), badResources],
    "actions as a string": [() => forge({ ...good, resources: { "task:1": "read" } }), badResources],
    "a prototype as resources": [
      () => forge(JSON.stringify(good).replace(/}$/, ',"resources":{"__proto__":{"task:1":["read"]}}}')),
      badResources,
    ],
    "a list as __proto__ of resources": [
      () => forge(JSON.stringify(good).replace(/}$/, ',"resources":{"__proto__":["read"]}}')),
      badResources,
    ],
    "a token that is too long": [() => forge({ ...good, note: "x".repeat(20_000) }), /more than 16384 characters/],
  };

  test.each(Object.entries(hostile))("%s is refused", async (_name, [make, reason]) => {
    expect(await refusalOf(await make())).toMatch(reason);
    expect(({} as Record<string, unknown>)["task:1"]).toBe(undefined);
  });

  test("another issuer is refused", async () => {
    expect(await refusalOf(await forge({ ...good, iss: "evil" }), { issuer: "hub" })).toMatch(/another issuer/);
    expect(await refusalOf(await forge(good), { issuer: "hub" })).toMatch(/another issuer/);
  });

  test("a token signed with the public key as a secret is refused", async () => {
    const { publicKey } = await generateKeyPair("RS256", { extractable: true });
    const pem = await exportSPKI(publicKey);
    const [header, claims] = write({ alg: "HS256", typ: "JWT" }, good).split(".");
    const signature = createHmac("sha256", pem).update(`${header}.${claims}`).digest("base64url");

    for (const key of [publicKey, pem, await exportJWK(publicKey)]) {
      expect(await refusalOf(`${header}.${claims}.${signature}`, { key })).toMatch(wrongKey);
    }
  });
});

async function forgeWithOwnKey(field: "jwk" | "jku"): Promise<string> {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const jwk = await exportJWK(publicKey);
  return forge(good, { alg: "ES256", [field]: field === "jwk" ? jwk : "http://127.0.0.1:1/keys" }, privateKey);
}

/** Signs a token that jose refuses to create. */
async function critical(): Promise<string> {
  const [header, claims] = write({ alg: "HS256", crit: ["exp2"], exp2: 1 }, good).split(".");
  return `${header}.${claims}.${createHmac("sha256", secret).update(`${header}.${claims}`).digest("base64url")}`;
}

describe("key rotation", () => {
  test("several keys are tried, or the one with the kid of the token", async () => {
    const [old, fresh] = await Promise.all([generateKeyPair("EdDSA"), generateKeyPair("EdDSA", { extractable: true })]);
    const named = { ...(await exportJWK(fresh.publicKey)), kid: "2" };
    const authenticate = await acceptIdentities({ key: [old.publicKey, named] });

    const tokens = [
      await forge(good, { alg: "EdDSA" }, old.privateKey),
      await forge(good, { alg: "EdDSA" }, fresh.privateKey),
      await forge(good, { alg: "Ed25519", kid: "2" }, fresh.privateKey),
      await forge(good, { alg: "EdDSA", kid: "unknown" }, old.privateKey),
    ];
    const misnamed = await forge(good, { alg: "EdDSA", kid: "2" }, old.privateKey);

    expect(await Promise.all(tokens.map(async (token) => (await authenticate(token))?.id))).toEqual(
      Array(4).fill("ada"),
    );
    await expect(authenticate(misnamed)).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  });
});

describe("createJWTAuthenticator refuses", () => {
  const wrong: Record<string, [Partial<JWTAuthenticatorOptions>, RegExp]> = {
    "no key": [{ key: undefined }, /The key is missing/],
    "an empty list of keys": [{ key: [] }, /The list of keys is empty/],
    "a list with a missing key": [{ key: [secret, undefined as never] }, /The key is missing/],
    "a key and published keys": [{ jwks: "https://keys.test" }, /Both key and jwks are set/],
    "keys published without TLS": [{ key: undefined, jwks: "http://keys.test/jwks" }, /https:/],
    "an algorithm that the key does not support": [{ algorithms: ["RS256"] }, /The key supports HS256/],
    "alg none": [{ algorithms: ["none"] }, /not none/],
    "no audience": [{ audience: "" }, /audience/],
    "no list of audiences": [{ audience: [] }, /audience/],
    "a tolerance that is not a number": [{ clockTolerance: Number.NaN }, /milliseconds/],
  };

  test.each(Object.entries(wrong))("%s", async (_name, [options, message]) => {
    await expect(acceptIdentities(options)).rejects.toThrow(message);
  });
});

test("a CryptoKey with a secret can sign and verify", async () => {
  const key = (await generateSecret("HS256")) as CryptoKey;
  const sign = await createJWTSigner({ key, audience, issuer: "hub" });
  const authenticate = await createJWTAuthenticator({ key, audience, issuer: ["hub", "other"] });

  expect(await authenticate(await sign(ada), undefined, requested())).toEqual(proven(ada));
});
