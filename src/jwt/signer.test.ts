import { decodeJwt, decodeProtectedHeader } from "jose";
import { afterEach, expect, test, vi } from "vitest";
import { createJWTSigner, type JWTSignerOptions } from "./index.ts";
import { inSeconds, secret } from "./testing.ts";

const audience = "workers";
const ada = { id: "ada", scopes: ["task:write"], resources: { "task:1": ["read"] } };

afterEach(() => {
  vi.useRealTimers();
});

test("a token has the claims of the identity and its expiry", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_700_000_000_000 });
  const sign = await createJWTSigner({ key: secret, audience, issuer: "hub" });

  const token = await sign(ada);

  expect(decodeProtectedHeader(token)).toEqual({ alg: "HS256", typ: "JWT" });
  expect(decodeJwt(token)).toEqual({
    iss: "hub",
    aud: "workers",
    sub: "ada",
    scopes: ["task:write"],
    resources: { "task:1": ["read"] },
    iat: 1_700_000_000,
    exp: 1_700_000_300,
  });
});

test("a token for an identity is cached for equal identities, and renewed after half its lifetime", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_700_000_000_000 });
  const sign = await createJWTSigner({ key: secret, audience, lifetime: 100_000 });
  const eve = { id: "eve", scopes: ["task:write"] };

  const first = await sign(ada);
  const again = sign(structuredClone(ada));
  const other = await sign({ ...ada, scopes: [] });
  const [forEve, forEveAgain] = await Promise.all([sign(eve), sign(eve)]);
  vi.setSystemTime(Date.now() + 60_000);
  const renewed = await sign(ada);

  expect(again).toBe(first);
  expect(other).not.toBe(first);
  expect(decodeJwt(forEve).sub).toBe("eve");
  expect(forEveAgain).toBe(forEve);
  expect(decodeJwt(renewed).exp).toBe(inSeconds(100));
  expect(decodeProtectedHeader(first).typ).toBe("JWT");
});

test("a mutated identity object receives another token", async () => {
  const sign = await createJWTSigner({ key: secret, audience });
  const identity = { id: "ada", scopes: ["admin"] };
  await sign(identity);
  identity.scopes.pop();

  expect(decodeJwt(await sign(identity))).toMatchObject({ sub: "ada", scopes: [] });
});

const malformed: Record<string, unknown> = {
  "no id": { scopes: [] },
  "an empty id": { id: "", scopes: [] },
  "no scopes": { id: "ada" },
  "scopes as text": { id: "ada", scopes: "admin" },
  "resources as text": { id: "ada", scopes: [], resources: "all" },
  "a prototype as resources": { id: "ada", scopes: [], resources: JSON.parse('{"__proto__":["read"]}') },
};

test.each(Object.entries(malformed))("an identity with %s is not signed", async (_name, identity) => {
  const sign = await createJWTSigner({ key: secret, audience });
  const signing = (async () => sign(identity as never))();

  await expect(signing).rejects.toMatchObject({ code: "VALIDATION_ERROR", mayHaveRun: false });
});

test("an identity that is too large for a token is refused by the signer", async () => {
  const sign = await createJWTSigner({ key: secret, audience });
  const scopes = Array.from({ length: 2_000 }, (_, n) => `scope:${n}`);

  await expect(sign({ id: "ada", scopes })).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
});

const wrong: Record<string, [Partial<JWTSignerOptions>, RegExp]> = {
  "no key": [{ key: undefined }, /The key is missing/],
  "no audience": [{ audience: undefined }, /audience/],
  "a lifetime of 0": [{ lifetime: 0 }, /lifetime/],
  "an endless lifetime": [{ lifetime: Number.POSITIVE_INFINITY }, /lifetime/],
  "alg none": [{ alg: "none" }, /not none/],
};

test.each(Object.entries(wrong))("createJWTSigner refuses %s", async (_name, [options, message]) => {
  await expect(createJWTSigner({ key: secret, audience, ...options })).rejects.toThrow(message);
});
