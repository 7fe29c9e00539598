import { createHmac } from "node:crypto";
import { exportSPKI, generateKeyPair } from "jose";
import { describe, expect, test, vi } from "vitest";
import { forge, inSeconds, secret, write } from "../jwt/testing.ts";
import { Gate } from "../serve/gate.ts";
import { bearerTokens, createToken, firstOf, type JWTOptions, jwt } from "./index.ts";

const issuer = "https://login.example.com/";
const audience = "https://api.example.com";
const good = { iss: issuer, aud: audience, sub: "ada", scope: "task:read task:write", exp: inSeconds(60) };
const options: JWTOptions = { key: secret, issuer, audience };

/** Returns the id of the caller, or the status of the refusal. */
async function outcome(token: string, authenticate = jwt(options)): Promise<unknown> {
  const headers = new Headers({ authorization: `Bearer ${token}` });
  const admission = await new Gate({ authenticate }).check({ method: "GET", url: "http://localhost/", headers });
  if (admission.kind === "caller") return admission.identity?.id;
  return admission.kind === "refusal" ? admission.status : admission.kind;
}

test("the identity consists of issuer and subject, scopes and expiry", async () => {
  const token = await forge(good);
  expect(await jwt(options).authenticate({ headers: new Headers(), token })).toEqual({
    id: "https://login.example.com/#ada",
    scopes: ["task:read", "task:write"],
    expiresAt: good.exp * 1_000,
  });
});

test("equal subjects of two issuers are two callers", async () => {
  const other = "https://other.example.com/";
  const authenticate = jwt({ ...options, issuer: [issuer, other] });
  const tokens = [await forge(good), await forge({ ...good, iss: other })];
  expect(await Promise.all(tokens.map((token) => outcome(token, authenticate)))).toEqual([
    "https://login.example.com/#ada",
    "https://other.example.com/#ada",
  ]);
});

describe("a token is refused with 401", () => {
  const hostile: Record<string, () => string | Promise<string>> = {
    "with alg none": () => write({ alg: "none" }, good),
    "with alg none and a signature": () => write({ alg: "none" }, good, "AAAA"),
    "of another key": () => forge(good, {}, new Uint8Array(32)),
    "with another issuer": () => forge({ ...good, iss: "https://evil.example/" }),
    "with a list of issuers": () => forge({ ...good, iss: [issuer] }),
    "without an issuer": () => forge({ ...good, iss: undefined }),
    "with another audience": () => forge({ ...good, aud: "https://other.example.com" }),
    "without an audience": () => forge({ ...good, aud: undefined }),
    "without a subject": () => forge({ ...good, sub: undefined }),
    "without an expiry": () => forge({ ...good, exp: undefined }),
    "that has expired": () => forge({ ...good, exp: inSeconds(-20) }),
    "with an expiry as a string": () => forge({ ...good, exp: String(inSeconds(60)) }),
    "with an infinite expiry": () => forge(JSON.stringify(good).replace(/"exp":\d+/, '"exp":1e999')),
    "with a negative expiry": () => forge({ ...good, exp: -1 }),
    "that is not valid yet": () => forge({ ...good, nbf: inSeconds(60) }),
    "that is not a token": () => "abc",
    "with empty parts": () => "..",
    "with claims that are not JSON": () => forge("{"),
  };
  test.each(Object.entries(hostile))("%s", async (_name, make) => {
    expect(await outcome(await make())).toBe(401);
  });

  test("that was signed with the public key as a secret", async () => {
    const { publicKey } = await generateKeyPair("RS256", { extractable: true });
    const key = await exportSPKI(publicKey);
    const [header, claims] = write({ alg: "HS256", typ: "JWT" }, good).split(".");
    const signature = createHmac("sha256", key).update(`${header}.${claims}`).digest("base64url");
    expect(await outcome(`${header}.${claims}.${signature}`, jwt({ ...options, key }))).toBe(401);
  });
});

test("the reason of a refusal names the token, because the operation is not known yet", async () => {
  const token = await forge({ ...good, aud: "other" });
  await expect(jwt(options).authenticate({ headers: new Headers(), token })).rejects.toMatchObject({
    code: "ACCESS_DENIED",
    message: expect.stringMatching(/^The token is not accepted: /),
    details: { reason: expect.any(String) },
  });
});

test("firstOf distinguishes the tokens of its authenticators", async () => {
  const stored = createToken();
  const other = jwt({ ...options, issuer: "https://other.example.com/", key: new Uint8Array(32) });
  const tokens = bearerTokens([{ hash: stored.hash, identity: { id: "bob", scopes: [] } }]);
  const all = firstOf(other, tokens, jwt(options));
  expect(await outcome(stored.token, all)).toBe("bob");
  expect(await outcome(await forge(good), all)).toBe("https://login.example.com/#ada");
  expect(await outcome(await forge({ ...good, iss: "https://evil.example/" }), all)).toBe(401);
});

test("the description names the issuers, for clients that obtain tokens with OAuth", () => {
  expect(jwt(options).describe?.()).toEqual({
    securitySchemes: { jwt: { type: "http", scheme: "bearer", bearerFormat: "JWT" } },
    headers: ["authorization"],
    authorizationServers: [issuer],
  });
  expect(jwt({ ...options, issuer: "hub" }).describe?.()).not.toHaveProperty("authorizationServers");
});

test("issuer and audience are required", () => {
  for (const invalid of [undefined, "", [], [""], "https://a.test/#b"]) {
    expect(() => jwt({ ...options, issuer: invalid as string })).toThrow(/^The issuer is missing or invalid/);
  }
  for (const invalid of [undefined, "", []]) {
    expect(() => jwt({ ...options, audience: invalid as string })).toThrow(/^The audience is missing/);
  }
});

describe("a key that cannot be used", () => {
  const invalid = { ...options, key: new Uint8Array(8) };

  test("fails the start of the server", async () => {
    const tooShort = new TypeError(
      "The secret has 8 bytes; HS256 needs at least 32. Create one: crypto.getRandomValues(new Uint8Array(32)).",
    );
    await expect(jwt(invalid).ready!()).rejects.toThrow(tooShort);
    await expect(firstOf(jwt(options), jwt(invalid)).ready!()).rejects.toThrow(tooShort);
    await expect(firstOf(jwt(options), () => undefined).ready!()).resolves.toBeUndefined();
    await expect(new Gate({ authenticate: jwt(invalid) }).ready()).rejects.toThrow(tooShort);
  });

  test("is reported once in a server that was not waited for, and no token is accepted", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    try {
      const authenticate = jwt(invalid);
      expect(await outcome(await forge(good), authenticate)).toBe(503);
      expect(await outcome(await forge(good), authenticate)).toBe(503);
      expect(warn.mock.calls).toEqual([
        [
          expect.stringMatching(
            /^\[alkdev.operations.auth\] jwt: every token is refused: TypeError: The secret has 8 bytes/,
          ),
        ],
      ]);
    } finally {
      warn.mockRestore();
    }
  });
});
