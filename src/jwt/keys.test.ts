import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, exportPKCS8, exportSPKI, generateKeyPair } from "jose";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createJWTAuthenticator, createJWTSigner, type JWTKey } from "./index.ts";
import { forge, inSeconds, requested, secret } from "./testing.ts";

const audience = "workers";
const ada = { id: "ada", scopes: ["admin"] };
/** The result of an authenticator for the identity. */
const proven = { ...ada, expiresAt: expect.any(Number) };

describe("keys of every type, in every form", () => {
  const algorithms = ["EdDSA", "ES256", "ES384", "ES512", "RS256", "PS256"];

  test.each(algorithms)("%s", async (alg) => {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    const choice = alg === "PS256" ? { alg } : {};
    const forms: Array<[JWTKey, JWTKey]> = [
      [privateKey, publicKey],
      [await exportPKCS8(privateKey), `\n${await exportSPKI(publicKey)}`],
      [
        { ...(await exportJWK(privateKey)), kid: "1" },
        { ...(await exportJWK(publicKey)), kid: "1" },
      ],
    ];

    const known = await Promise.all(
      forms.map(async ([own, shared]) => {
        const sign = await createJWTSigner({ key: own, audience, ...choice });
        const authenticate = await createJWTAuthenticator({
          key: shared,
          audience,
          ...(alg === "PS256" ? { algorithms: [alg] } : {}),
        });
        return authenticate(await sign(ada), undefined, requested());
      }),
    );

    expect(known).toEqual([proven, proven, proven]);
  });

  test("secrets as bytes and as a JWK, of the length that the algorithm needs", async () => {
    const bytes = new Uint8Array(64).fill(3);
    const jwk = { kty: "oct", k: Buffer.from(bytes).toString("base64url"), alg: "HS512" };
    const sign = await createJWTSigner({ key: bytes, alg: "HS512", audience });
    const authenticate = await createJWTAuthenticator({ key: jwk, audience });

    expect(await authenticate(await sign(ada), undefined, requested())).toEqual(proven);
  });

  test("an RSA JWK supports only the algorithm that it names", async () => {
    const { privateKey, publicKey } = await generateKeyPair("PS384", { extractable: true });
    const sign = await createJWTSigner({ key: { ...(await exportJWK(privateKey)), alg: "PS384" }, audience });
    const token = await sign(ada);
    const wide = await createJWTAuthenticator({ key: { ...(await exportJWK(publicKey)), alg: "PS384" }, audience });
    const narrow = await createJWTAuthenticator({ key: await exportJWK(publicKey), audience });

    expect(await wide(token, undefined, requested())).toEqual(proven);
    await expect(narrow(token, undefined, requested())).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  });
});

describe("invalid keys", () => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const pem = publicKey.export({ type: "spki", format: "pem" }) as string;
  const privatePem = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
  const { publicKey: rsaKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const bytes = (text: string) => new TextEncoder().encode(text);
  const wrong: Record<string, [unknown, RegExp]> = {
    undefined: [undefined, /The key is missing/],
    null: [null, /The key is missing/],
    "an empty string": ["", /The key is missing/],
    "no bytes": [new Uint8Array(), /The secret has 0 bytes; HS256 needs at least 32/],
    "31 bytes": [new Uint8Array(31), /The secret has 31 bytes/],
    "a password": ["correct horse battery staple", /Pass a secret as bytes/],
    "a number": [5, /Unsupported key/],
    "an object": [{}, /Unsupported key/],
    "a PEM as bytes": [bytes(pem), /a serialised key, not a secret/],
    "a PEM as a Buffer with a blank line before": [Buffer.from(`\n${pem}`), /a serialised key, not a secret/],
    "a JWK as bytes": [bytes(JSON.stringify(publicKey.export({ format: "jwk" }))), /a serialised key, not a secret/],
    "Ed25519 in DER": [publicKey.export({ type: "spki", format: "der" }), /a serialised key, not a secret/],
    "RSA in DER": [rsaKey.export({ type: "spki", format: "der" }), /a serialised key, not a secret/],
    "an SSH key": [bytes(`ssh-ed25519 ${"A".repeat(60)}`), /a serialised key, not a secret/],
    "a JWK with an empty secret": [{ kty: "oct", k: "" }, /The secret has 0 bytes/],
    "a JWK without its secret": [{ kty: "oct" }, /The secret has 0 bytes/],
    "a JWK of an unknown curve": [{ kty: "OKP", crv: "X25519", x: "AA" }, /type of the JWK is not supported/],
    "a certificate": ["-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----", /a PEM with the label CERTIFICATE/],
    "a broken PEM": ["-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", /does not contain a supported key/],
    "a private PEM": [privatePem, /label PRIVATE KEY. To verify tokens, pass a PEM with the label PUBLIC KEY/],
    "a private JWK": [privateKey.export({ format: "jwk" }), /Pass the public key/],
  };

  test.each(Object.entries(wrong))("%s", async (_name, [key, message]) => {
    await expect(createJWTAuthenticator({ key: key as JWTKey, audience })).rejects.toThrow(message);
  });

  test("a CryptoKey for another use", async () => {
    const aes = await crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, false, ["encrypt"]);
    const short = await crypto.subtle.importKey("raw", new Uint8Array(16), { name: "HMAC", hash: "SHA-256" }, false, [
      "sign",
      "verify",
    ]);
    const pair = await generateKeyPair("EdDSA");

    await expect(createJWTAuthenticator({ key: aes, audience })).rejects.toThrow(/AES-GCM/);
    await expect(createJWTAuthenticator({ key: short, audience })).rejects.toThrow(/16 bytes/);
    await expect(createJWTAuthenticator({ key: pair.privateKey, audience })).rejects.toThrow(/Pass the public key/);
    await expect(createJWTSigner({ key: pair.publicKey, audience })).rejects.toThrow(/Pass the private key/);
    await expect(createJWTSigner({ key: pem, audience })).rejects.toThrow(
      /To sign tokens, pass a PEM with the label PRIVATE KEY/,
    );
    await expect(createJWTSigner({ key: new Uint8Array(32), alg: "HS512", audience })).rejects.toThrow(/32 bytes/);
  });
});

describe("published keys", () => {
  const servers: Array<ReturnType<typeof createServer>> = [];
  afterEach(async () => {
    vi.useRealTimers();
    for (const server of servers.splice(0)) {
      server.close();
      await once(server, "close");
    }
  });

  async function publish(answer: () => { status?: number; body: unknown }): Promise<string> {
    const server = createServer((_request, response) => {
      const { status = 200, body } = answer();
      response.writeHead(status, { connection: "close" }).end(JSON.stringify(body));
    }).listen(0, "127.0.0.1");
    servers.push(server);
    await once(server, "listening");
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
  }

  const claims = { aud: audience, sub: "ada", scopes: ["admin"], exp: inSeconds(60) };

  test("are fetched when a token needs one", async () => {
    const { publicKey, privateKey } = await generateKeyPair("RS256", { extractable: true });
    const body = {
      keys: [
        { ...(await exportJWK(publicKey)), kid: "k1" },
        { kty: "oct", k: Buffer.from(secret).toString("base64url"), kid: "s1" },
      ],
    };
    const jwks = await publish(() => ({ body }));
    const authenticate = await createJWTAuthenticator({ jwks, audience });

    expect(await authenticate(await forge(claims, { alg: "RS256", kid: "k1" }, privateKey))).toEqual(proven);
    const trusting = await createJWTAuthenticator({ jwks, audience, algorithms: ["HS256"] });
    for (const verify of [authenticate, trusting]) {
      const published = await forge(claims, { kid: "s1" }, secret);
      await expect(verify(published)).rejects.toMatchObject({ code: "ACCESS_DENIED" });
    }
    await expect(authenticate(await forge(claims, { alg: "RS256", kid: "k2" }, privateKey))).rejects.toMatchObject({
      code: "ACCESS_DENIED",
    });
  });

  test("that are revoked are refused after twenty minutes, also for tokens that were verified before", async () => {
    const { publicKey, privateKey } = await generateKeyPair("RS256", { extractable: true });
    let keys = [{ ...(await exportJWK(publicKey)), kid: "k1" }];
    const jwks = await publish(() => ({ body: { keys } }));
    const authenticate = await createJWTAuthenticator({ jwks, audience });
    const token = await forge({ ...claims, exp: inSeconds(7_200) }, { alg: "RS256", kid: "k1" }, privateKey);
    const before = await authenticate(token);

    keys = [];
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 20 * 60_000 });
    const after = authenticate(token);

    expect(before).toEqual(proven);
    await expect(after).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  });

  test("that cannot be loaded reject every token, and the error is retryable", async () => {
    const { privateKey } = await generateKeyPair("RS256");
    const token = await forge(claims, { alg: "RS256" }, privateKey);
    const tooLarge = { body: { keys: [], note: "x".repeat(2 ** 20) } };
    const answers = [{ status: 500, body: {} }, { body: { keys: "none" } }, { body: [] }, tooLarge];

    for (const answer of answers) {
      const authenticate = await createJWTAuthenticator({
        jwks: await publish(() => answer),
        audience,
      });
      await expect(authenticate(token)).rejects.toMatchObject({
        code: "UNAVAILABLE",
        retryable: true,
        mayHaveRun: false,
      });
    }
  });
});
